// Markers: what a checkpoint says about its own layers. The strongest evidence there is, but the
// weight's own dtype still decides how its codes are read (ComfyUI labels e5m2 files e4m3fn).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace wb {

struct LayerMarker {
  std::string format;  ///< "float8_e4m3fn", "nvfp4", ...
  std::optional<uint64_t> group_size;
  bool rotated = false;              ///< convrot: the stored matrix is rotated
  uint64_t rotation_group = 256;     ///< convrot_groupsize, in columns
  std::vector<uint64_t> orig_shape;  ///< of the weight before padding, when stated
  bool from_metadata = false;        ///< _quantization_metadata, which overrides comfy_quant
};

/// By layer name: the weight's name without its last ".weight".
using LayerMarkers = std::unordered_map<std::string, LayerMarker>;

/// The JSON text of one `.comfy_quant` tensor, with trailing NULs or doubled braces tolerated.
/// Errc: marker_unreadable.
Result<LayerMarker> parse_comfy_quant(const std::string& tensor_name, ByteView text);

/// `__metadata__["_quantization_metadata"]`: {"layers": {name: {"format": ...}}}. Its layers replace
/// those already in `markers`. Errc: marker_unreadable.
Status parse_quantization_metadata(std::string_view text, LayerMarkers& markers);

}  // namespace wb
