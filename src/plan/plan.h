// Plan: what a conversion will read and write, decided before the first byte. Pure: inventory, pairs
// and options in; ordered steps, the output's header and exact sizes out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/kernel.h"
#include "quant/pairs.h"
#include "safetensors/inventory.h"

namespace wb {

struct Assumption {
  std::string subject;  ///< a weight's name, an error code or a scheme
  std::string choice;
};

/// How a code and its scale are multiplied. Both are exact up to what is named; neither is ever mixed with the other.
enum class Recipe : uint8_t {
  f32_mul_rne,    ///< one float32 multiplication, rounded once to the target
  target_mul_rne  ///< the scale is rounded to the target first, as loaders that multiply in the compute dtype do
};
std::string_view recipe_name(Recipe recipe);

/// How the output is cut into files.
enum class Shards : uint8_t { one, same, by_size };

struct PlanOptions {
  Dtype to = Dtype::BF16;    ///< BF16 or F16; there is no default at any boundary above this one
  bool as_stored = false;    ///< nothing is converted, files are only joined or cut; `to` is not looked at
  bool cast_others = false;  ///< also narrow the floats that are not quantized
  Recipe recipe = Recipe::f32_mul_rne;
  bool partial_set = false;  ///< go on although shards are missing
  Shards shards = Shards::one;
  uint64_t shard_bytes_max = 0;  ///< of tensors in one file, for by_size; a tensor is never cut
  std::string index_name;        ///< of the input's index; empty when there is none
  std::vector<Assumption> assumptions;
};

/// A question that no assumption answers.
struct OpenQuestion {
  Errc code;
  std::vector<std::string> tensors;
  std::string first_message;  ///< of the first tensor concerned
};

enum class Action : uint8_t { copy, cast, dequantize };

/// One tensor of the output. Steps stand in write order, so the output is only ever appended to.
struct Step {
  uint32_t tensor = kNoTensor;  ///< payload, index into the inventory
  uint32_t scale = kNoTensor;   ///< its scale, or kNoTensor for a scale of 1
  Action action = Action::copy;
  Dtype dtype = Dtype::U8;         ///< in the output
  Codec codec = Codec::U8;         ///< how the payload is read
  Dtype scale_dtype = Dtype::F32;  ///< how the scale is read
  Grid grid;                       ///< of a dequantization
  std::vector<float> globals;      ///< second-level scales: none, one, or one per matrix of a stack
  bool divide_global = false;
  uint64_t row_bytes = 0;             ///< of the payload, where rows are padded; 0: no gaps
  bool round_scales = false;          ///< to the target, before anything is multiplied: Recipe::target_mul_rne
  const std::string* name = nullptr;  ///< in the output; belongs to the inventory or the pairing
  const Shape* shape = nullptr;
  const kernels::Kernel* kernel = nullptr;
  std::shared_ptr<const Tiling> tiling;  ///< set: put together from planes; scale and kernel are not used
  uint64_t out_bytes = 0;
  uint32_t file = 0;  ///< index into Plan::files
};

/// One file of the output: its header, then the bytes of its steps.
struct OutputFile {
  std::string name;
  std::string header;       ///< 8 length bytes and the padded text
  uint32_t first_step = 0;  ///< its steps end where those of the next file begin
  uint64_t bytes = 0;       ///< header and data
};

struct AppliedAssumption {
  std::string subject;
  std::string choice;
  uint64_t tensors = 0;
};

struct Plan {
  Dtype to = Dtype::BF16;
  bool as_stored = false;
  bool cast_others = false;
  Recipe recipe = Recipe::f32_mul_rne;
  std::vector<OpenQuestion> questions;  ///< not empty: nothing below is meant to be run
  std::vector<Step> steps;
  std::vector<OutputFile> files;  ///< at least one; the output is all of them, one after the other
  std::string index_name;         ///< empty: the output needs no index
  uint64_t output_bytes = 0;      ///< of all files
  uint64_t read_bytes = 0;        ///< payloads and scales, each once
  uint64_t dequantized = 0;
  uint64_t cast = 0;
  uint64_t copied = 0;
  uint64_t kept_quantized = 0;    ///< weights that somebody wants to stay as they are
  std::vector<uint32_t> dropped;  ///< tensors that are left out
  std::vector<AppliedAssumption> assumed;
  std::vector<std::string> notes;
};

/// Per tensor: what writing it as f16 would lose; from the scan. Tensors that cannot lose are absent.
using F16Losses = std::unordered_map<uint32_t, kernels::F16Loss>;

/// The grid of a weight without a scale: one group, all of it.
Grid unscaled_grid(const Tensor& tensor);

/// Nothing but copies: the host can move the bytes itself, without showing them to the core.
bool copies_only(const Plan& plan);

/// The plan refers to the inventory and the pairing, which must outlive it.
/// Errc: the first refusal among the pairs (scheme_unsupported, scale_shape_mismatch, ...),
/// unknown_assumption, invalid_option, header_too_large.
Result<Plan> make_plan(const Inventory& inventory, const Pairing& pairing, const SmallValues& values,
                       const F16Losses& losses, const PlanOptions& options);

/// Makes a pair what a choice says about how its payload is read; other choices change nothing.
void apply_choice(std::string_view choice, Pair& pair);

/// The step that dequantizes a pair to `to`; `pair` must not be refused.
Step dequantizing_step(const Inventory& inventory, const SmallValues& values, const Pair& pair, Dtype to,
                       Recipe recipe);

}  // namespace wb
