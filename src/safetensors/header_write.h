// Writing a header: the bytes that the reference writer would produce for the same tensors and
// metadata, except that metadata keys are sorted (the reference writes them in hash order).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "safetensors/header.h"

namespace wb {

/// Write order: dtype descending in the enum order, then name ascending by UTF-8 bytes. Every tensor
/// is then naturally aligned relative to the data section, without holes.
bool written_before(Dtype a_dtype, std::string_view a_name, Dtype b_dtype, std::string_view b_name);

/// One entry to be written; refers to names and shapes that others keep, since there may be 500,000.
struct WrittenTensor {
  std::string_view name;
  Dtype dtype = Dtype::U8;
  const Shape* shape = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// The 8 length bytes and the header text, padded with spaces to a multiple of 8. `tensors` must be
/// in write order with contiguous ranges from 0. Errc: header_too_large.
Result<std::string> write_header(const std::vector<WrittenTensor>& tensors, Metadata metadata);

}  // namespace wb
