// Resolving: from a payload and its companions to codec, grid and output shape, one function per family
// of schemes. A function adds issues to the pair; what it cannot decide becomes a question.
#pragma once

#include "quant/pairs.h"

namespace wb {

struct ResolveContext {
  const Inventory& inventory;
  const QuantConfig& config;
  const SmallValues& values;
  const LayerMarker* marker;  ///< of this layer, or null

  const Tensor& tensor(uint32_t index) const { return inventory.tensors[index]; }
  /// The companion of the pair whose name ends with `suffix`, or kNoTensor.
  uint32_t companion(const Pair& pair, std::string_view suffix) const;
};

/// "`name` U8 [2, 3]"
std::string described(const Tensor& tensor);

/// Fits the scale pair.scales[0] to a weight of shape pair.shape by match_grid, with the hints of
/// config and marker, and adds what it says to the pair.
void resolve_grid(const ResolveContext& context, Pair& pair);

void resolve_int8(const ResolveContext& context, Pair& pair);
void resolve_bnb_int8(const ResolveContext& context, Pair& pair);
void resolve_quanto(const ResolveContext& context, Pair& pair);
void resolve_compressed_int(const ResolveContext& context, Pair& pair);
/// Whether `scale` holds exponents by 32 columns of a one-byte payload, padded to tiles of 128 rows x 4: the shape
/// in which ComfyUI and LightX2V store MXFP8.
bool has_tiled_exponents(const Tensor& payload, const Tensor& scale);

void resolve_mxfp8(const ResolveContext& context, Pair& pair);
void resolve_mxfp4(const ResolveContext& context, Pair& pair);
void resolve_nvfp4(const ResolveContext& context, Pair& pair);
void resolve_fp4_native(const ResolveContext& context, Pair& pair);

}  // namespace wb
