#include "safetensors/inventory.h"

#include <algorithm>
#include <iterator>

namespace wb {

void Inventory::add(Source source, Header&& header) {
  const uint64_t data_begin = 8 + source.header_bytes;
  const auto source_index = static_cast<uint32_t>(sources.size());
  source.tensors = static_cast<uint32_t>(header.tensors.size());
  tensors.reserve(tensors.size() + header.tensors.size());
  for (TensorEntry& entry : header.tensors) {
    Tensor tensor;
    tensor.name = std::move(entry.name);
    tensor.dtype = entry.dtype.value_or(Dtype::U8);
    tensor.unknown_dtype = std::move(entry.unknown_dtype);
    tensor.shape = std::move(entry.shape);
    tensor.elements = entry.elements;
    tensor.source = source_index;
    // In a refused header offsets can be anything; shown as they are, clamped so that sums stay sane.
    constexpr uint64_t kOffsetMax = uint64_t{1} << 62;
    tensor.begin = data_begin + std::min(entry.begin, kOffsetMax);
    tensor.end = std::max(tensor.begin, data_begin + std::min(entry.end, kOffsetMax));
    tensor.missing_bytes = tensor.end <= source.size_bytes ? 0 : tensor.end - std::max(tensor.begin, source.size_bytes);
    tensors.push_back(std::move(tensor));
  }
  merge_metadata(std::move(header.metadata));
  sources.push_back(std::move(source));
}

// A shard repeats the metadata of its set; a header can hold a million keys, so no search per key.
void Inventory::merge_metadata(Metadata&& more) {
  metadata.insert(metadata.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  if (sources.empty()) return;
  const auto key_less = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto key_equal = [](const auto& a, const auto& b) { return a.first == b.first; };
  std::stable_sort(metadata.begin(), metadata.end(), key_less);
  metadata.erase(std::unique(metadata.begin(), metadata.end(), key_equal), metadata.end());
}

std::string_view Inventory::build_index() {
  const auto name_of = [this](uint32_t index) -> std::string_view { return tensors[index].name; };
  const auto twice = by_name_.build(static_cast<uint32_t>(tensors.size()), name_of);
  return twice ? name_of(twice->first) : std::string_view();
}

int64_t Inventory::find_index(std::string_view name) const {
  return by_name_.find(name, [this](uint32_t index) -> std::string_view { return tensors[index].name; });
}

const Tensor* Inventory::find(std::string_view name) const {
  const int64_t index = find_index(name);
  return index < 0 ? nullptr : &tensors[static_cast<size_t>(index)];
}

const std::string* Inventory::metadata_value(std::string_view key) const {
  for (const auto& [name, value] : metadata) {
    if (name == key) return &value;
  }
  return nullptr;
}

}  // namespace wb
