// Any bytes as a safetensors file: sniffing, parsing and layout checks must neither crash nor disagree with
// themselves. A header that is accepted is written again and must read back the same.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/bytes.h"
#include "safetensors/header.h"
#include "safetensors/sniff.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

// What the rest of the core relies on once a header has no error.
void check_sound(const wb::Header& header, uint64_t data_bytes) {
  uint64_t position = 0;
  for (const wb::TensorEntry& tensor : header.tensors) {
    check(tensor.dtype.has_value());
    check(tensor.begin == position && tensor.end >= tensor.begin);
    const wb::SizeResult size = wb::tensor_bytes(*tensor.dtype, tensor.elements);
    check(!size.error && size.bytes == tensor.end - tensor.begin);
    position = tensor.end;
  }
  check(position == data_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const wb::ByteView file{data, size};
  wb::sniff(file.first(size < wb::kSniffBytes ? size : static_cast<size_t>(wb::kSniffBytes)), size);
  if (size < 8) return 0;
  const uint64_t length = wb::load_le<uint64_t>(data);
  // A length that does not fit: the rest is taken as header text, so that the parser is reached often.
  const uint64_t text_bytes = length <= size - 8 ? length : size - 8;
  wb::Header header = wb::parse_header(file.subspan(8, static_cast<size_t>(text_bytes)));
  const uint64_t data_bytes = size - 8 - text_bytes;
  wb::validate_layout(header, text_bytes, data_bytes);
  if (!header.error) check_sound(header, data_bytes);
  return 0;
}
