#include "safetensors/header_write.h"

#include <algorithm>

#include "base/json_writer.h"

namespace wb {

bool written_before(Dtype a_dtype, std::string_view a_name, Dtype b_dtype, std::string_view b_name) {
  return a_dtype != b_dtype ? a_dtype > b_dtype : a_name < b_name;
}

// Close to the final length: growing by doubling would for a moment need three times as much.
static size_t expected_bytes(const std::vector<WrittenTensor>& tensors, const Metadata& metadata) {
  constexpr size_t kFieldsBytes = 80;  // of an entry, without name and shape
  constexpr size_t kDimBytes = 6;
  size_t bytes = 64;
  for (const WrittenTensor& tensor : tensors)
    bytes += tensor.name.size() + kFieldsBytes + tensor.shape->size() * kDimBytes;
  for (const auto& [key, text] : metadata) bytes += key.size() + text.size() + 6;
  return bytes;
}

Result<std::string> write_header(const std::vector<WrittenTensor>& tensors, Metadata metadata) {
  std::string out(8, '\0');
  out.reserve(expected_bytes(tensors, metadata));
  JsonWriter json(out);
  json.begin_object();
  if (!metadata.empty()) {
    std::sort(metadata.begin(), metadata.end());
    json.key("__metadata__").begin_object();
    for (const auto& [key, text] : metadata) json.field(key, std::string_view(text));
    json.end_object();
  }
  for (const WrittenTensor& tensor : tensors) {
    json.key(tensor.name).begin_object().field("dtype", dtype_info(tensor.dtype).name);
    json.key("shape").begin_array();
    for (const uint64_t dim : *tensor.shape) json.value(dim);
    json.end_array().key("data_offsets").begin_array().value(tensor.begin).value(tensor.end).end_array().end_object();
  }
  json.end_object();
  out.append((8 - out.size() % 8) % 8, ' ');
  const uint64_t header_bytes = out.size() - 8;
  if (header_bytes > kHeaderBytesMax) {
    return fail(Errc::header_too_large, {},
                "the output header would have " + std::to_string(header_bytes) + " bytes, the limit is " +
                    std::to_string(kHeaderBytesMax));
  }
  store_le<uint64_t>(out.data(), header_bytes);
  return out;
}

}  // namespace wb
