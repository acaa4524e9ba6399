// Inventory: all tensors of a checkpoint, from one file or several, under one index of names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_table.h"
#include "safetensors/header.h"

namespace wb {

struct Source {
  std::string name;
  uint64_t size_bytes = 0;
  uint64_t header_bytes = 0;  ///< N; the data section starts at 8 + N
  uint64_t data_bytes = 0;    ///< size - 8 - N
  uint32_t tensors = 0;
};

struct Tensor {
  std::string name;
  Dtype dtype = Dtype::U8;
  std::string unknown_dtype;  ///< non-empty: `dtype` means nothing, the input is refused
  Shape shape;
  uint64_t elements = 0;  ///< as the header counts them
  uint32_t source = 0;    ///< index into Inventory::sources
  uint64_t begin = 0;     ///< in the source file, absolute
  uint64_t end = 0;
  uint64_t missing_bytes = 0;  ///< cut off at the end of a truncated file

  uint64_t bytes() const { return end - begin; }
};

class Inventory {
 public:
  std::vector<Source> sources;
  std::vector<Tensor> tensors;  ///< by source, then by offset
  Metadata metadata;            ///< of all sources; the first value of a key stays

  /// Appends a parsed header, in data order, with its offsets made absolute. O(tensors).
  void add(Source source, Header&& header);

  /// Builds the index of names; call once after the last add. The first name that stands in two
  /// sources, or an empty view.
  std::string_view build_index();

  /// The tensor of this exact name, or null. Needs build_index.
  const Tensor* find(std::string_view name) const;
  /// The same as an index into `tensors`, or -1.
  int64_t find_index(std::string_view name) const;

  const std::string* metadata_value(std::string_view key) const;

 private:
  void merge_metadata(Metadata&& more);

  NameTable by_name_;
};

}  // namespace wb
