// GPTQ and AWQ: integers in 32-bit words, stored as [in, out] with a zero point and a scale by group. Source:
// reference/formats.md 9. The output is the [out, in] weight of an nn.Linear.
#include "base/checked.h"
#include "quant/resolve.h"

namespace wb {
namespace {

using kernels::Packing;

struct Parts {
  const Tensor& payload;
  uint32_t scale;
  uint32_t zero;   // or kNoTensor
  uint32_t order;  // or kNoTensor
};

uint64_t dim(const ResolveContext& context, uint32_t tensor, size_t axis) {
  return tensor == kNoTensor ? 0 : context.tensor(tensor).shape[axis];
}

// Columns of one group. The config states it; where it does not, all groups are equally wide.
std::optional<uint64_t> group_of(const ResolveContext& context, uint64_t cols, uint64_t groups) {
  if (groups == 0 || cols == 0) return std::nullopt;
  const uint64_t size = context.config.group_size.value_or(ceil_div(cols, groups));
  if (groups == 1) return cols;
  return ceil_div(cols, size) == groups ? std::optional(size) : std::nullopt;
}

std::string formula_of(const ResolveContext& context, const Parts& parts, const std::string& zero) {
  const std::string group = parts.order == kNoTensor ? "c/g" : "g_idx[c]";
  const std::string scale = context.tensor(parts.scale).name;
  return "w[r,c] = (int(code[c,r]) - " + zero + ") * " + scale.substr(scale.rfind('.') + 1) + "[" + group + ",r]";
}

// Version 1, which AutoGPTQ wrote and which is meant where nothing is said, stores zero points minus one.
void decide_zero_bias(const ResolveContext& context, Tiling& tiling, Pair& pair) {
  const std::string& format = context.config.checkpoint_format;
  const bool gptq = context.config.method == "gptq";
  tiling.zero_bias = format == "gptq_v2" ? 0.0f : 1.0f;
  if (gptq && (format.empty() || format == "gptq" || format == "gptq_v2")) {
    pair.evidence = static_cast<EvidenceSet>(pair.evidence | evidence_bit(Evidence::config));
    return;
  }
  if (gptq)
    return refuse(pair, context, Errc::scheme_unsupported,
                  "is GPTQ in the format " + format + ", whose tiles this version does not undo");
  refuse(pair, context, Errc::zero_point_undecided,
         "is packed as GPTQ, but no config says whether its zero points are stored as they are (v2) or minus one (v1)");
}

Tiling tiling_of(const Plane& codes, const Plane& scale, uint64_t outputs, uint64_t inputs, uint64_t group) {
  Tiling tiling;
  tiling.rows = outputs;
  tiling.cols = inputs;
  tiling.group_cols = group;
  tiling.planes = {codes, scale};
  return tiling;
}

// The weight gets an nn.Linear's shape.
bool finish(const ResolveContext& context, std::string_view scheme_id, Tiling tiling, Pair& pair) {
  pair.scheme = scheme_id;
  pair.shape = {tiling.rows, tiling.cols};
  set_tiling(context, std::move(tiling), pair);
  return true;
}

// qweight [K*b/32, N] packed down the rows, qzeros [G, N*b/32] along the columns, scales [G, N], g_idx [K].
bool try_gptq(const ResolveContext& context, const Parts& parts, Pair& pair) {
  const uint64_t outputs = dim(context, parts.scale, 1);
  const uint64_t groups = dim(context, parts.scale, 0);
  if (parts.zero == kNoTensor || outputs == 0 || parts.payload.shape[1] != outputs) return false;
  if (dim(context, parts.zero, 0) != groups) return false;
  const uint64_t bits = dim(context, parts.zero, 1) * 32 / outputs;
  const bool known = bits == 2 || bits == 3 || bits == 4 || bits == 8;
  if (!known || ceil_div(outputs * bits, 32) != dim(context, parts.zero, 1)) return false;
  if (parts.payload.shape[0] * 32 % bits != 0) return false;
  const uint64_t inputs = parts.payload.shape[0] * 32 / bits;
  const auto group = group_of(context, inputs, groups);
  if (!group || (parts.order != kNoTensor && context.tensor(parts.order).shape != Shape{inputs})) return false;

  const auto width = static_cast<uint32_t>(bits);
  Tiling tiling =
      tiling_of(fields_of(PlaneRole::codes, pair.weight, inputs, outputs, width, Packing::down_32, true),
                numbers_of(context, PlaneRole::scale, parts.scale, groups, outputs, true), outputs, inputs, *group);
  Plane zero = fields_of(PlaneRole::zero, parts.zero, groups, outputs, width, Packing::rows_low, true);
  zero.line_bytes = dim(context, parts.zero, 1) * 4;
  tiling.planes.push_back(zero);
  if (parts.order != kNoTensor)
    tiling.planes.push_back(numbers_of(context, PlaneRole::order, parts.order, 1, inputs, false));
  decide_zero_bias(context, tiling, pair);
  tiling.formula = formula_of(context, parts, tiling.zero_bias == 0 ? "qzeros[g,r]" : "(qzeros[g,r] + 1)");
  return finish(context, "gptq", std::move(tiling), pair);
}

// "gemm": qweight [K, N/8], qzeros [G, N/8], both with the nibbles of a word in AutoAWQ's order; scales [G, N].
bool try_awq_gemm(const ResolveContext& context, const Parts& parts, Pair& pair) {
  const uint64_t inputs = parts.payload.shape[0];
  const uint64_t outputs = dim(context, parts.scale, 1);
  const uint64_t groups = dim(context, parts.scale, 0);
  if (outputs == 0 || parts.payload.shape[1] * 8 != outputs) return false;
  if (parts.zero != kNoTensor && context.tensor(parts.zero).shape != Shape{groups, outputs / 8}) return false;
  const auto group = group_of(context, inputs, groups);
  if (!group) return false;

  Tiling tiling =
      tiling_of(fields_of(PlaneRole::codes, pair.weight, inputs, outputs, 4, Packing::awq, true),
                numbers_of(context, PlaneRole::scale, parts.scale, groups, outputs, true), outputs, inputs, *group);
  if (parts.zero == kNoTensor)
    tiling.codec = Codec::U4B8_LOW;  // symmetric: the zero point is 8
  else
    tiling.planes.push_back(fields_of(PlaneRole::zero, parts.zero, groups, outputs, 4, Packing::awq, true));
  tiling.formula = formula_of(context, parts, parts.zero == kNoTensor ? "8" : "qzeros[g,r]");
  return finish(context, "awq", std::move(tiling), pair);
}

// "gemv": qweight [N, K/8] in plain order, qzeros [N, w] and scales [N, 8 w] padded to w words of groups.
bool try_awq_gemv(const ResolveContext& context, const Parts& parts, Pair& pair) {
  const uint64_t outputs = parts.payload.shape[0];
  const uint64_t inputs = parts.payload.shape[1] * 8;
  if (parts.zero == kNoTensor || dim(context, parts.scale, 0) != outputs || dim(context, parts.zero, 0) != outputs)
    return false;
  const uint64_t words = dim(context, parts.zero, 1);
  if (!context.config.group_size || words * 8 != dim(context, parts.scale, 1)) return false;
  const uint64_t groups = ceil_div(inputs, *context.config.group_size);
  if (groups > words * 8) return false;

  Plane scale = numbers_of(context, PlaneRole::scale, parts.scale, outputs, groups, false);
  scale.line_bytes = words * 8 * (dtype_info(scale.dtype).bits / 8);
  Tiling tiling = tiling_of(fields_of(PlaneRole::codes, pair.weight, outputs, inputs, 4, Packing::rows_low, false),
                            scale, outputs, inputs, *context.config.group_size);
  Plane zero = fields_of(PlaneRole::zero, parts.zero, outputs, groups, 4, Packing::rows_low, false);
  zero.line_bytes = words * 4;
  tiling.planes.push_back(zero);
  tiling.formula = "w[r,c] = (int(code[r,c]) - qzeros[r,c/g]) * scales[r,c/g]";
  return finish(context, "awq", std::move(tiling), pair);
}

}  // namespace

void resolve_gptq_or_awq(const ResolveContext& context, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  const Parts parts{payload, context.companion(pair, ".scales"), context.companion(pair, ".qzeros"),
                    context.companion(pair, ".g_idx")};
  pair.output_name = stem(payload.name, "qweight") + "weight";
  const auto is_matrix = [&](uint32_t tensor) {
    return tensor == kNoTensor || context.tensor(tensor).shape.size() == 2;
  };
  const bool matrices =
      payload.shape.size() == 2 && parts.scale != kNoTensor && is_matrix(parts.scale) && is_matrix(parts.zero);
  const std::string& method = context.config.method;
  const bool fits = matrices && (method == "awq" && context.config.version == "gemv"
                                     ? try_awq_gemv(context, parts, pair)
                                     : try_gptq(context, parts, pair) || try_awq_gemm(context, parts, pair));
  if (!fits) {
    refuse(pair, context, Errc::payload_shape_mismatch,
           "with its scales and zero points fits neither GPTQ's [in * bits / 32, out] nor AWQ's [in, out / 8]" +
               (context.config.checkpoint_format.empty() ? std::string()
                                                         : "; its config says " + context.config.checkpoint_format));
    return;
  }
  const bool stated_otherwise =
      (method == "gptq" && pair.scheme == "awq") || (method == "awq" && pair.scheme == "gptq");
  if (stated_otherwise) {
    refuse(pair, context, Errc::payload_shape_mismatch,
           "has the shapes of " + std::string(pair.scheme) + ", but its config says " + method);
  }
}

}  // namespace wb
