// Header: what a safetensors file says about itself, parsed strictly. Rule numbers in this layer are
// those of reference/safetensors.md section 1.
//
// Parsing and layout are two steps: parse_header() reads the text (rules 8..19), validate_layout()
// checks the ranges (rules 20..25). Both keep going where they can, because a refused file is still
// shown: the first error stands beside everything that could be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "dtype/dtype.h"

namespace wb {

/// The format's own limit on N (decimal, not MiB; rule 3). N = 100,000,000 is legal.
inline constexpr uint64_t kHeaderBytesMax = 100'000'000;
/// Containers open at once in the header text, the root included (rule 11).
inline constexpr int kHeaderDepthMax = 127;
/// Tensors in one checkpoint, all shards together. The largest known index has 497,000.
inline constexpr uint64_t kTensorsMax = 500'000;
/// Warnings kept of one header; a hostile one could make millions.
inline constexpr size_t kHeaderWarningsMax = 1000;
/// Above this the Hub's own viewers give up; worth a note.
inline constexpr uint64_t kHeaderBytesNote = 25'000'000;

using Shape = std::vector<uint64_t>;

/// "[2, 3]", as every message writes a shape; of more than 16 dimensions only the first and their number.
std::string shape_text(const Shape& shape);

struct TensorEntry {
  std::string name;
  std::optional<Dtype> dtype;  ///< nothing when the name is unknown to this version
  std::string unknown_dtype;   ///< the name as written, only when unknown
  Shape shape;
  uint64_t elements = 0;  ///< product of the shape; set by validate_layout
  uint64_t begin = 0;     ///< relative to the data section, which starts at byte 8 + N
  uint64_t end = 0;       ///< exclusive
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

struct Header {
  std::vector<TensorEntry> tensors;  ///< in the order of the text; by offset after validate_layout
  Metadata metadata;                 ///< in the order of the text
  bool has_metadata = false;         ///< __metadata__ was there and not null
  std::vector<Error> warnings;
  std::optional<Error> error;  ///< the first reason to refuse
};

/// Parses the N bytes of header text. Never fails as a whole: see Header::error.
/// Errc: header_not_utf8, header_not_json, header_too_deep, invalid_entry, invalid_metadata,
/// duplicate_tensor, duplicate_key, unknown_dtype, too_many_tensors.
Header parse_header(ByteView text);

/// Sorts the tensors by offset, computes their element counts and checks that the ranges cover
/// `data_bytes` (file size - 8 - N) exactly once. Sets header.error when it was not set before.
/// Errc: offsets_reversed, tensors_overlap, hole_in_data, shape_overflow, misaligned_sub_byte,
/// size_mismatch, truncated_data, trailing_bytes.
void validate_layout(Header& header, uint64_t header_bytes, uint64_t data_bytes);

/// Bytes of `elements` elements, or why there is no such number.
struct SizeResult {
  uint64_t bytes = 0;
  std::optional<Errc> error;  ///< shape_overflow or misaligned_sub_byte
};
SizeResult tensor_bytes(Dtype dtype, uint64_t elements);

}  // namespace wb
