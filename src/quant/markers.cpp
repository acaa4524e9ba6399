#include "quant/markers.h"
#include "base/json.h"

namespace wb {
namespace {

// Newer writers put group_size at the top, older ones nest it in "params"; ComfyUI reads both.
std::optional<LayerMarker> marker_of(const Json& json) {
  if (!json.is_object() || !json.contains("format") || !json["format"].is_string()) return std::nullopt;
  LayerMarker marker;
  marker.format = json["format"].get<std::string>();
  for (const Json* owner : {&json, json.contains("params") ? &json["params"] : nullptr}) {
    if (!owner || !owner->is_object()) continue;
    const auto size = owner->find("group_size");
    if (size != owner->end() && size->is_number_unsigned() && size->get<uint64_t>() > 0)
      marker.group_size = size->get<uint64_t>();
    const auto rotated = owner->find("convrot");
    if (rotated != owner->end() && rotated->is_boolean()) marker.rotated = rotated->get<bool>();
    const auto group = owner->find("convrot_groupsize");
    if (group != owner->end() && group->is_number_unsigned()) marker.rotation_group = group->get<uint64_t>();
    const auto shape = owner->find("orig_shape");
    if (shape == owner->end() || !shape->is_array()) continue;
    for (const Json& dim : *shape) {
      if (dim.is_number_unsigned()) marker.orig_shape.push_back(dim.get<uint64_t>());
    }
  }
  return marker;
}

}  // namespace

Result<LayerMarker> parse_comfy_quant(const std::string& tensor_name, ByteView text) {
  std::string_view content(reinterpret_cast<const char*>(text.data()), text.size());
  while (!content.empty() && content.back() == '\0') content.remove_suffix(1);
  if (content.substr(0, 2) == "{{" && content.size() >= 4) content = content.substr(1, content.size() - 2);
  const Json json = parse_json(content);
  const auto marker = marker_of(json);
  if (!marker) return fail(Errc::marker_unreadable, tensor_name, "`" + tensor_name + "` holds no JSON with a format");
  return *marker;
}

Status parse_quantization_metadata(std::string_view text, LayerMarkers& markers) {
  const Json json = parse_json(text);
  if (!json.is_object() || !json.contains("layers") || !json["layers"].is_object()) {
    return fail(Errc::marker_unreadable, "_quantization_metadata",
                "the metadata key _quantization_metadata holds no JSON with layers");
  }
  for (const auto& [layer, description] : json["layers"].items()) {
    if (auto marker = marker_of(description)) {
      marker->from_metadata = true;
      markers[layer] = *marker;
    }
  }
  return {};
}

}  // namespace wb
