// Pairs: every quantized weight with the tensors that scale it, the evidence that decided, and what
// is wrong or open about it. A scale without a weight is a pair too, so that nothing is overlooked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dtype/codec.h"
#include "quant/config.h"
#include "quant/grid.h"
#include "quant/rules.h"
#include "quant/tiling.h"
#include "quant/values.h"
#include "safetensors/inventory.h"

namespace wb {

/// What decided a pair, strongest first.
enum class Evidence : uint8_t {
  quantization_metadata,
  comfy_quant,
  scaled_fp8_marker,
  config,
  name,
  dtypes_and_shapes
};
using EvidenceSet = uint8_t;
constexpr EvidenceSet evidence_bit(Evidence evidence) {
  return static_cast<EvidenceSet>(1u << static_cast<uint8_t>(evidence));
}

enum class PairState : uint8_t { ok, noted, undecided, refused };

inline constexpr uint32_t kNoTensor = UINT32_MAX;

struct Pair {
  uint32_t weight = kNoTensor;        ///< kNoTensor: an orphaned scale
  std::string expected_weight;        ///< only of an orphan: the name that is missing
  std::string_view scheme;            ///< id of a row of schemes()
  std::vector<uint32_t> scales;       ///< the scale that is used comes first
  uint32_t global_scale = kNoTensor;  ///< second-level scale of NVFP4: one value, or one per matrix of a stack
  bool divide_global = false;         ///< compressed-tensors and LightX2V store its reciprocal
  Codec codec = Codec::F8_E4M3;       ///< how the payload's codes are read
  Dtype scale_dtype = Dtype::F32;     ///< how the scale's codes are read; F8_E4M3 kept as U8 in some NVFP4 files
  Granularity granularity = Granularity::none;
  Grid grid;
  Shape shape;               ///< of the weight as it is written; empty lists with a payload mean a scalar
  std::string output_name;   ///< empty: the payload's own name
  uint64_t row_bytes = 0;    ///< of the payload as stored, where rows are padded; 0: rows stand without gaps
  uint32_t per_element = 1;  ///< logical weights in one stored element
  std::shared_ptr<const Tiling> tiling;  ///< set: the weight is put together from planes
  EvidenceSet evidence = 0;
  std::vector<Error> issues;  ///< notes, questions and refusals; issue_kind() tells which

  /// Logical weights; of a refused pair as far as the packing rule tells.
  uint64_t parameters(const Inventory& inventory) const;
  PairState state() const;
  bool has(Errc code) const;
};

/// What an issue means for a conversion.
enum class IssueKind : uint8_t { note, question, refusal };
IssueKind issue_kind(Errc code);

/// One answer that a question offers.
struct Choice {
  Errc code;
  std::string_view choice;
  std::string_view meaning;
};
/// All answers to all questions, in the order they are shown.
std::span<const Choice> choices();
/// The question in words, for many tensors at once.
std::string_view question_text(Errc code);

struct Pairing {
  std::vector<Pair> pairs;       ///< in file order of the weights, orphans last
  std::vector<Role> roles;       ///< per tensor
  std::vector<int32_t> pair_of;  ///< per tensor: index into pairs, or -1
  std::vector<Error> notes;      ///< about the checkpoint as a whole
  bool quantized = false;        ///< any pair, marker or config says so; else nothing is dropped
};

/// Finds all pairs. Pure; `values` may lack the big scales.
Pairing find_pairs(const Inventory& inventory, const QuantConfig& config, const SmallValues& values);

/// Adds or renews the issues that depend on the scales' values (zero, negative, infinite, NaN,
/// dummy); to be called again when more scales were read.
void check_scale_values(const Inventory& inventory, const SmallValues& values, Pairing& pairing);

/// "w[r,c] = e4m3(code[r,c]) * weight_scale[r/128, c/128]"
std::string formula_text(const Inventory& inventory, const Pair& pair);

/// The name that messages use for a pair: its weight's, or the missing one's.
const std::string& pair_name(const Inventory& inventory, const Pair& pair);

}  // namespace wb
