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
  /// The one value of a small integer companion, or nothing.
  std::optional<uint64_t> integer(const Pair& pair, std::string_view suffix) const;
};

/// "`name` U8 [2, 3]"
std::string described(const Tensor& tensor);

/// Adds an issue about the pair's payload: "`name` U8 [2, 3] " and `why`.
void refuse(Pair& pair, const ResolveContext& context, Errc code, const std::string& why);

/// Fits the scale pair.scales[0] to a weight of shape pair.shape by match_grid, with the hints of
/// config and marker, and adds what it says to the pair.
void resolve_grid(const ResolveContext& context, Pair& pair);

// ---- resolve_tiled.cpp: weights that are put together from planes

/// A plane of fields of 1..8 bits, or of numbers in the tensor's own dtype; `rows` x `cols` as stored.
Plane fields_of(PlaneRole role, uint32_t tensor, uint64_t rows, uint64_t cols, uint32_t bits, kernels::Packing packing,
                bool transposed);
Plane numbers_of(const ResolveContext& context, PlaneRole role, uint32_t tensor, uint64_t rows, uint64_t cols,
                 bool transposed);

/// Makes the pair a tiled one, when every plane has exactly the bytes that it needs; else the pair is refused and the
/// answer false. Sets grid, granularity, codec and the order of pair.scales; shape and name stay the caller's.
bool set_tiling(const ResolveContext& context, Tiling tiling, Pair& pair);

/// The same for a pair whose grid was resolved already; grid and granularity stay what they are.
bool set_tiling_within_grid(const ResolveContext& context, Tiling tiling, Pair& pair);

/// The same weight as planes, of a pair that was resolved to a grid with one scale tensor.
Tiling tiling_of_grid(const ResolveContext& context, const Pair& pair);

/// Makes the pair one whose codes have an I8 zero point beside every scale; `zero` has as many values as the scale.
void subtract_zero_points(const ResolveContext& context, uint32_t zero, Pair& pair);

/// Where a layer has a .pre_quant_scale, multiplies the columns by it.
void fold_smoothing(const ResolveContext& context, Pair& pair);

// ---- one function per scheme

void resolve_int8(const ResolveContext& context, Pair& pair);
void resolve_bnb_int8(const ResolveContext& context, Pair& pair);
void resolve_quanto(const ResolveContext& context, Pair& pair);
void resolve_compressed_int(const ResolveContext& context, Pair& pair);
void resolve_gptq_or_awq(const ResolveContext& context, Pair& pair);
void resolve_output_packed_int4(const ResolveContext& context, Pair& pair);
void resolve_comfy_int4(const ResolveContext& context, Pair& pair);
void resolve_bnb_4bit(const ResolveContext& context, Pair& pair);
void resolve_hqq(const ResolveContext& context, Pair& pair);
void resolve_torchao(const ResolveContext& context, Pair& pair);

/// Whether `scale` holds exponents by 32 columns of a one-byte payload, padded to tiles of 128 rows x 4: the shape
/// in which ComfyUI and LightX2V store MXFP8.
bool has_tiled_exponents(const Tensor& payload, const Tensor& scale);

void resolve_mxfp8(const ResolveContext& context, Pair& pair);
void resolve_mxfp4(const ResolveContext& context, Pair& pair);
void resolve_nvfp4(const ResolveContext& context, Pair& pair);
void resolve_fp4_native(const ResolveContext& context, Pair& pair);

}  // namespace wb
