// What the issues of a pair mean, and what may be answered to those that ask.
#include <algorithm>
#include <cmath>

#include "base/float_text.h"
#include "quant/pairs.h"

namespace wb {
namespace {

struct Question {
  Errc code;
  std::string_view text;
};

// One row per question a person may be asked; everything else is a note or a refusal.
constexpr Question kQuestions[] = {
    {Errc::scale_missing, "fp8 weights without a scale stand beside others that have one. Where is it?"},
    {Errc::scale_orphan, "Scales whose weight is not in the input. The weight may be in another shard."},
    {Errc::scale_on_float_weight, "A scale stands beside a weight that is not quantized; loaders disagree about it."},
    {Errc::scale_shape_ambiguous, "The shape of the scale fits more than one reading."},
    {Errc::scale_zero, "Scales that are zero would turn their weights into zeros."},
    {Errc::scale_negative, "Scales below zero would flip the signs of their weights."},
    {Errc::scale_infinite, "Infinite scales would turn their weights into infinities."},
    {Errc::scale_nan, "Scales that are not a number would turn their weights into NaN."},
    {Errc::layout_undecided, "The bytes may be read in more than one way, and the file does not say which."},
    {Errc::packed_undecided, "The bytes may be integers or pairs of 4-bit floats, and no config says which."},
    {Errc::nibble_order_undecided, "The file does not say which nibble of a byte comes first."},
    {Errc::scale_order_undecided,
     "The file does not say whether its block scales stand row by row or in 128 x 4 tiles."},
    {Errc::magnitude_implausible,
     "Weights would be larger than those of any trained model. The scale may be meant the other way round."},
    {Errc::zero_point_undecided, "Zero points may be stored as they are, or minus one; no config says which."},
    {Errc::f16_overflow, "Values beyond 65504 do not fit fp16."},
    {Errc::shard_missing, "A part of the set is not here. Is the rest wanted without it?"},
};

constexpr Errc kRefusals[] = {Errc::scheme_unsupported, Errc::scale_shape_mismatch, Errc::scale_dtype_unknown,
                              Errc::scale_conflict,     Errc::global_scale_missing, Errc::payload_shape_mismatch,
                              Errc::output_name_taken};

constexpr Choice kChoices[] = {
    {Errc::scale_missing, "raw", "use the codes as they are, as if the scale were 1"},
    {Errc::scale_missing, "keep", "leave these tensors in fp8, unchanged"},
    {Errc::scale_orphan, "drop", "leave these scales out of the output"},
    {Errc::scale_orphan, "keep", "copy these scales unchanged"},
    {Errc::scale_on_float_weight, "ignore", "keep the weight as stored and drop the scale"},
    {Errc::scale_on_float_weight, "multiply", "multiply the weight by its scale"},
    {Errc::scale_shape_ambiguous, "columns", "one scale a column"},
    {Errc::scale_zero, "apply", "apply them as they are"},
    {Errc::scale_negative, "apply", "apply them as they are"},
    {Errc::scale_infinite, "apply", "apply them as they are"},
    {Errc::scale_nan, "apply", "apply them as they are"},
    {Errc::layout_undecided, "e4m3", "read the bytes as F8_E4M3 codes"},
    {Errc::layout_undecided, "e5m2", "read the bytes as F8_E5M2 codes"},
    {Errc::layout_undecided, "keep", "copy the bytes and their scale unchanged"},
    {Errc::packed_undecided, "fp4", "pairs of E2M1 codes with a scale by 32 (DeepSeek V4, Quark, ModelOpt)"},
    {Errc::packed_undecided, "keep", "copy the bytes and their scale unchanged"},
    {Errc::nibble_order_undecided, "low", "the low nibble is the even column (ModelOpt, compressed-tensors, OCP)"},
    {Errc::nibble_order_undecided, "high", "the high nibble is the even column (ComfyUI)"},
    {Errc::scale_order_undecided, "linear", "one row of scales per row of the weight (ModelOpt, compressed-tensors)"},
    {Errc::scale_order_undecided, "swizzled", "tiles of 128 rows x 4 scales (ComfyUI, cuBLAS)"},
    {Errc::magnitude_implausible, "apply", "multiply by the scale all the same"},
    {Errc::magnitude_implausible, "keep", "copy these tensors and their scales unchanged"},
    {Errc::zero_point_undecided, "v1", "stored minus one (AutoGPTQ, and GPTQModel's format gptq)"},
    {Errc::zero_point_undecided, "v2", "stored as they are (format gptq_v2)"},
    {Errc::f16_overflow, "bf16", "write these tensors as bf16"},
    {Errc::f16_overflow, "inf", "write infinities"},
    {Errc::shard_missing, "partial", "convert what is here; the result is not a whole model"},
};

}  // namespace

IssueKind issue_kind(Errc code) {
  if (std::any_of(std::begin(kQuestions), std::end(kQuestions), [code](const Question& q) { return q.code == code; })) {
    return IssueKind::question;
  }
  return std::find(std::begin(kRefusals), std::end(kRefusals), code) != std::end(kRefusals) ? IssueKind::refusal
                                                                                            : IssueKind::note;
}

std::span<const Choice> choices() { return kChoices; }

std::string_view question_text(Errc code) {
  const auto at =
      std::find_if(std::begin(kQuestions), std::end(kQuestions), [code](const Question& q) { return q.code == code; });
  return at == std::end(kQuestions) ? std::string_view() : at->text;
}

PairState Pair::state() const {
  PairState worst = issues.empty() ? PairState::ok : PairState::noted;
  for (const Error& issue : issues) {
    const IssueKind kind = issue_kind(issue.code);
    if (kind == IssueKind::refusal) return PairState::refused;
    if (kind == IssueKind::question) worst = PairState::undecided;
  }
  return worst;
}

uint64_t Pair::parameters(const Inventory& inventory) const {
  if (weight == kNoTensor) return 0;
  if (grid.rows != 0 && !scales.empty()) return grid.rows * grid.cols;
  return inventory.tensors[weight].elements * per_element;
}

bool Pair::has(Errc code) const {
  return std::any_of(issues.begin(), issues.end(), [code](const Error& issue) { return issue.code == code; });
}

const std::string& pair_name(const Inventory& inventory, const Pair& pair) {
  return pair.weight == kNoTensor ? pair.expected_weight : inventory.tensors[pair.weight].name;
}

namespace {

// `message()` is asked for only when there is something to say: nearly always there is not.
template <class Message>
void renew(Pair& pair, Errc code, uint64_t count, const std::string& where, Message&& message) {
  std::erase_if(pair.issues, [code](const Error& issue) { return issue.code == code; });
  if (count > 0) pair.issues.push_back({code, where, message()});
}

// NVFP4 gives a block of 16 zeros, and the padding of its tiles, a scale of zero; LLM.int8 gives it to every row
// of zeros, bitsandbytes' 4 bits to every block of zeros, asym_w4a8_int8 to every group,
// torchao to every row. There it is no question.
bool zero_scale_is_natural(std::string_view scheme_id) {
  constexpr std::string_view kNatural[] = {"nvfp4", "bnb_int8", "bnb_4bit", "comfy_int4", "torchao"};
  return std::find(std::begin(kNatural), std::end(kNatural), scheme_id) != std::end(kNatural);
}

// AutoAWQ's gemv fills the rows of its scales up to whole words of zero points; those zeros scale nothing.
bool pads_scales(const Pair& pair) {
  const Plane* const scale = pair.tiling ? pair.tiling->plane(PlaneRole::scale) : nullptr;
  return scale != nullptr && scale->line_bytes != 0;
}

// A scale beside a float weight: exactly 1 changes nothing, anything else is a question.
void check_float_pair(const std::string& name, const std::string& scale, const ScaleStats* stats, Pair& pair) {
  const bool dummy = stats && stats->nan == 0 && stats->min == 1 && stats->max == 1;
  renew(pair, Errc::dummy_scale, dummy, name,
        [&] { return "`" + scale + "` is exactly 1 beside a weight that is not quantized; it is left out"; });
  renew(pair, Errc::scale_on_float_weight, !dummy, name, [&] {
    return "`" + name + "` is not quantized, but `" + scale + "` stands beside it" +
           (stats ? " with values from " + float_text(stats->min) + " to " + float_text(stats->max) : "");
  });
}

// The second level of NVFP4 has few values and every one counts.
void check_global_scale(const Inventory& inventory, const SmallValues& values, Pair& pair) {
  const std::string& name = inventory.tensors[pair.weight].name;
  const Tensor& global = inventory.tensors[pair.global_scale];
  const ScaleStats* stats = values.scale(pair.global_scale);
  if (!stats) return;
  const auto add = [&](Errc code, uint64_t count, const char* what) {
    if (count > 0 && !pair.has(code))
      pair.issues.push_back({code, name, "`" + name + "`: `" + global.name + "` is " + what});
  };
  add(Errc::scale_zero, stats->zero, "zero");
  add(Errc::scale_negative, stats->negative, "negative");
  add(Errc::scale_infinite, stats->infinite, "infinite");
  add(Errc::scale_nan, stats->nan, "NaN");
}

/// Weights beyond this are taken for a scale that was stored as its reciprocal, which gives 448 / 0.1 * 448 = 2e6 for
/// fp8 and 127 / 0.1 * 127 = 161,290 for int8; no trained model known to us comes near.
constexpr float kPlausibleMagnitude = 131072;

// The largest code times the largest scale.
void check_magnitude(const SmallValues& values, const ScaleStats& stats, const std::string& name,
                     const std::string& scale, Pair& pair) {
  float largest = codec_info(pair.codec).max_finite * stats.largest_magnitude();
  if (const auto* global = pair.global_scale == kNoTensor ? nullptr : values.global_scale(pair.global_scale)) {
    float most = 0;
    for (const float each : *global) most = std::max(most, std::fabs(pair.divide_global ? 1 / each : each));
    largest *= most;
  }
  renew(pair, Errc::magnitude_implausible,
        stats.infinite == 0 && std::isfinite(largest) && largest > kPlausibleMagnitude, name, [&] {
          return "`" + name + "`: the largest code times the largest value of `" + scale + "` would be " +
                 float_text(largest);
        });
}

}  // namespace

void check_scale_values(const Inventory& inventory, const SmallValues& values, Pairing& pairing) {
  for (Pair& pair : pairing.pairs) {
    if (pair.weight == kNoTensor || pair.scales.empty() || !scheme(pair.scheme).supported) continue;
    const std::string& name = inventory.tensors[pair.weight].name;
    const std::string& scale = inventory.tensors[pair.scales[0]].name;
    const ScaleStats* stats = values.scale(pair.scales[0]);
    if (pair.scheme == "scaled_float") {
      check_float_pair(name, scale, stats, pair);
      continue;
    }
    if (!stats) continue;
    const auto check = [&](Errc code, uint64_t count, const char* what) {
      renew(pair, code, count, name, [&] {
        const std::string of = std::to_string(count) + " of the " + std::to_string(stats->read) + " values of `";
        return "`" + name +
               "`: " + (stats->read == 1 ? "`" + scale + "` is " : of + scale + "` " + (count == 1 ? "is " : "are ")) +
               what;
      });
    };
    if (!zero_scale_is_natural(pair.scheme) && !pads_scales(pair)) check(Errc::scale_zero, stats->zero, "zero");
    check(Errc::scale_negative, stats->negative, "negative");
    check(Errc::scale_infinite, stats->infinite, "infinite");
    check(Errc::scale_nan, stats->nan, "NaN");
    if (pair.state() != PairState::refused) check_magnitude(values, *stats, name, scale, pair);
    if (pair.global_scale != kNoTensor) check_global_scale(inventory, values, pair);
  }
}

}  // namespace wb
