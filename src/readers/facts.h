// Facts: what the rules about readers may ask of a weight and of the file around it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/pairs.h"
#include "safetensors/inventory.h"

namespace wb {

enum class Fact : uint8_t {
  layer_marker,   ///< _quantization_metadata or comfy_quant names this layer
  legacy_marker,  ///< the file carries scaled_fp8
  per_tensor,
  per_row,
  grouped,      ///< one scale for some columns of a row, or for a block
  flat_scale,   ///< several scales in a tensor of one dimension
  ragged,       ///< the last block of rows or columns is cut off
  square,       ///< as many rows as columns
  exponent,     ///< scales are bare exponents (E8M0)
  tiled,        ///< scales lie in tiles of 128 x 4
  e5m2,         ///< codes of F8_E5M2
  lost_scale,   ///< the scale that must be there is not
  three_bits,   ///< the config says 3 bits
  group_index,  ///< a g_idx stands beside the payload
  norm_or_time  ///< "norm" or "time_embed" in the weight's name
};
using FactSet = uint32_t;
constexpr FactSet fact_bit(Fact fact) { return FactSet{1} << static_cast<uint8_t>(fact); }

struct FactText {
  Fact fact;
  std::string_view is;      ///< "one scale per tensor"
  std::string_view is_not;  ///< "not one scale per tensor"
};
std::span<const FactText> fact_texts();

/// Of a checkpoint without any quantized weight: its parameters, as they are.
inline constexpr std::string_view kPlainScheme = "plain";

/// Weights that no rule can tell apart.
struct WeightKind {
  std::string_view scheme;
  std::string_view scale;  ///< a suffix of scale_rules(); empty: none, or one of the scheme's own
  FactSet facts = 0;
  uint64_t weights = 0;
  uint32_t example = kNoTensor;
};

std::vector<WeightKind> weight_kinds(const Inventory& inventory, const Pairing& pairing, const QuantConfig& config);

/// Whether `word` is one of `words`, which are separated by spaces.
bool has_word(std::string_view words, std::string_view word);

}  // namespace wb
