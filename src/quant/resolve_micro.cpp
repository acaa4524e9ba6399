// Microscaling: payloads with one small scale per 16 or 32 columns. Three dialects of NVFP4 share their
// names and mostly their shapes; what the file does not decide is asked, in two separate questions.
// Source: reference/formats.md 5.2b..d, 6, 7.1, 8.
#include "base/checked.h"
#include "quant/resolve.h"

namespace wb {
namespace {

struct Matrices {
  uint64_t batches = 1;
  uint64_t rows = 0;
  uint64_t cols = 0;  // logical
};

// [N, K] or a stack [E, N, K], from a payload that keeps `per_byte` values in a byte.
std::optional<Matrices> matrices_of(const Tensor& payload, uint64_t per_byte) {
  const Shape& shape = payload.shape;
  if (shape.size() < 2 || shape.size() > 3) return std::nullopt;
  return Matrices{shape.size() == 3 ? shape[0] : 1, shape[shape.size() - 2], shape.back() * per_byte};
}

Grid micro_grid(const Matrices& m, uint64_t group, bool swizzled) {
  Grid grid;
  grid.rows = m.batches * m.rows;
  grid.cols = m.cols;
  grid.batch_rows = grid.grid_rows = m.rows;
  grid.group_rows = 1;
  grid.group_cols = group;
  grid.grid_cols = ceil_div(m.cols, group);
  grid.swizzled = swizzled;
  return grid;
}

Shape with_batches(const Tensor& payload, const Matrices& m, uint64_t rows, uint64_t cols) {
  return payload.shape.size() == 3 ? Shape{m.batches, rows, cols} : Shape{rows, cols};
}

// Which orders of the scales their shape allows.
struct Orders {
  bool linear = false;
  bool swizzled = false;
};

Orders orders_of(const Tensor& payload, const Tensor& scale, const Matrices& m, uint64_t group) {
  const uint64_t scale_cols = ceil_div(m.cols, group);
  Orders orders;
  orders.linear = scale.shape == with_batches(payload, m, m.rows, scale_cols);
  orders.swizzled = scale.shape == with_batches(payload, m, Grid::kTileRows * ceil_div(m.rows, Grid::kTileRows),
                                                Grid::kTileCols * ceil_div(scale_cols, Grid::kTileCols));
  return orders;
}

void shape_mismatch(Pair& pair, const Tensor& payload, const Tensor& scale, uint64_t group) {
  pair.issues.push_back({Errc::scale_shape_mismatch, payload.name,
                         described(scale) + " is not one scale by " + std::to_string(group) + " columns of " +
                             described(payload) + ", neither row by row nor in 128 x 4 tiles"});
}

void finish(const Tensor& payload, const Tensor& scale, const Matrices& m, uint64_t group, bool swizzled, Pair& pair) {
  pair.grid = micro_grid(m, group, swizzled);
  pair.granularity = Granularity::group;
  pair.shape = payload.shape;
  pair.shape.back() = m.cols;
  pair.scale_dtype = scale.dtype;
}

// ComfyUI pads payloads to multiples of 16 or 32, at the end of rows and columns; the marker may state the
// shape before. Groups and tiles begin at the same places with and without the padding.
void crop_padding(const ResolveContext& context, Pair& pair) {
  if (!context.marker || context.marker->orig_shape.empty() || context.marker->orig_shape == pair.shape) return;
  const Tensor& payload = context.tensor(pair.weight);
  const std::vector<uint64_t>& shape = context.marker->orig_shape;
  const bool fits = shape.size() == 2 && pair.shape.size() == 2 && shape[0] <= pair.shape[0] &&
                    shape[1] <= pair.shape[1] && shape[0] > 0 &&
                    ceil_div(shape[0], Grid::kTileRows) == ceil_div(pair.shape[0], Grid::kTileRows) &&
                    ceil_div(shape[1], pair.grid.group_cols) == pair.grid.grid_cols;
  if (!fits) {
    pair.issues.push_back(
        {Errc::payload_shape_mismatch, payload.name,
         described(payload) + " cannot be padded from " + shape_text(shape) + ", as its marker says"});
    return;
  }
  pair.row_bytes = payload.bytes() / payload.shape[0];
  pair.grid.rows = pair.grid.batch_rows = pair.grid.grid_rows = shape[0];
  pair.grid.cols = shape[1];
  pair.shape = shape;
}

}  // namespace

bool has_tiled_exponents(const Tensor& payload, const Tensor& scale) {
  if (scale.dtype != Dtype::U8 && scale.dtype != Dtype::F8_E8M0) return false;
  const auto m = matrices_of(payload, 1);
  return m && orders_of(payload, scale, *m, 32).swizzled;
}

// With ComfyUI's marker the scales are always tiled, whatever their shape (case D13).
void resolve_mxfp8(const ResolveContext& context, Pair& pair) {
  constexpr uint64_t kGroup = 32;
  const Tensor& payload = context.tensor(pair.weight);
  const auto m = matrices_of(payload, 1);
  if (pair.scales.empty() || !m) {
    pair.issues.push_back(
        {Errc::scale_missing, payload.name, described(payload) + " is marked mxfp8 but has no scale that fits"});
    return;
  }
  const Tensor& scale = context.tensor(pair.scales[0]);
  if (!has_tiled_exponents(payload, scale)) return shape_mismatch(pair, payload, scale, kGroup);
  if (payload.dtype == Dtype::U8) pair.codec = Codec::F8_E4M3;
  finish(payload, scale, *m, kGroup, true, pair);
  crop_padding(context, pair);
}

namespace {

// transformers' parameter of the same name is [E, K, N], so a checkpoint of its own names must be written transposed;
// gpt-oss's own names (`.blocks`) keep [E, N, K].
void transpose_experts(const ResolveContext& context, const Matrices& m, Pair& pair) {
  Tiling tiling;
  tiling.batches = m.batches;
  tiling.rows = m.cols;
  tiling.cols = m.rows;
  tiling.group_rows = 32;
  tiling.codec = Codec::F4;
  tiling.planes.push_back(
      fields_of(PlaneRole::codes, pair.weight, m.rows, m.cols, 4, kernels::Packing::rows_low, true));
  tiling.planes.push_back(numbers_of(context, PlaneRole::scale, pair.scales[0], m.rows, m.cols / 32, true));
  tiling.formula = "w[e,r,c] = fp4(code[e,c,r]) * 2^(scales[e,c,r/32] - 127), transposed";
  pair.shape = {m.batches, m.cols, m.rows};
  set_tiling(context, std::move(tiling), pair);
}

}  // namespace

void resolve_mxfp4(const ResolveContext& context, Pair& pair) {
  constexpr uint64_t kGroup = 32;
  const Tensor& payload = context.tensor(pair.weight);
  const Tensor& scale = context.tensor(pair.scales[0]);
  pair.codec = Codec::F4;
  pair.scale_dtype = scale.dtype;
  if (payload.shape.size() == 4 && payload.shape[3] == 16) {
    // gpt-oss: [E, N, K / 32, 16] with one exponent per 16 bytes.
    const Matrices m{payload.shape[0], payload.shape[1], payload.shape[2] * kGroup};
    if (scale.shape != Shape{m.batches, m.rows, payload.shape[2]}) return shape_mismatch(pair, payload, scale, kGroup);
    finish(payload, scale, m, kGroup, false, pair);
    pair.shape = {m.batches, m.rows, m.cols};
    pair.output_name = payload.name.substr(0, payload.name.rfind("blocks") - 1);
    if (ends_with(payload.name, "_blocks")) transpose_experts(context, m, pair);
    return;
  }
  const auto m = matrices_of(payload, 2);
  if (!m || !orders_of(payload, scale, *m, kGroup).linear) return shape_mismatch(pair, payload, scale, kGroup);
  finish(payload, scale, *m, kGroup, false, pair);
  if (ends_with(payload.name, "_packed")) pair.output_name = stem(payload.name, "_packed");
  const bool stated = context.config.expert_dtype == "fp4" || context.config.method == "quark" ||
                      context.config.method == "modelopt" || context.config.method == "compressed-tensors" ||
                      context.config.method == "mxfp4" || !pair.output_name.empty();
  if (stated) {
    pair.evidence = static_cast<EvidenceSet>(pair.evidence | evidence_bit(Evidence::config));
  } else {
    pair.issues.push_back({Errc::packed_undecided, payload.name,
                           described(payload) + " with " + described(scale) +
                               " may be pairs of 4-bit floats or integers in groups of " + std::to_string(kGroup / 2)});
  }
}

void resolve_nvfp4(const ResolveContext& context, Pair& pair) {
  constexpr uint64_t kGroup = 16;
  const Tensor& payload = context.tensor(pair.weight);
  const uint32_t scale_index = context.companion(pair, ".weight_scale");
  const bool divided = context.companion(pair, ".weight_global_scale") != kNoTensor;
  pair.global_scale =
      divided ? context.companion(pair, ".weight_global_scale") : context.companion(pair, ".weight_scale_2");
  pair.divide_global = divided;
  if (scale_index == kNoTensor || pair.global_scale == kNoTensor) {
    pair.issues.push_back({Errc::global_scale_missing, payload.name,
                           described(payload) +
                               " is NVFP4, which needs weight_scale and weight_scale_2 (or weight_global_scale); " +
                               (scale_index == kNoTensor ? "weight_scale" : "weight_scale_2") + " is missing"});
    return;
  }
  pair.scales[0] = scale_index;
  const Tensor& scale = context.tensor(scale_index);
  const auto m = matrices_of(payload, 2);
  const Orders orders = m ? orders_of(payload, scale, *m, kGroup) : Orders{};
  const bool scale_fp8 =
      scale.dtype == Dtype::F8_E4M3 || scale.dtype == Dtype::U8;  // U8: the same bytes, kept in another container
  if (!scale_fp8 && m && scale.shape.size() == 2 && scale.shape[0] == 2 * m->rows) {
    return refuse(pair, context, Errc::scheme_unsupported,
                  "is ModelOpt's W4A8: INT4_AWQ with a second scale, which this version does not apply");
  }
  if (!scale_fp8 || (!orders.linear && !orders.swizzled)) return shape_mismatch(pair, payload, scale, kGroup);
  const std::vector<float>* global = context.values.global_scale(pair.global_scale);
  if (!global || (global->size() != 1 && global->size() != m->batches)) {
    pair.issues.push_back({Errc::scale_shape_mismatch, payload.name,
                           described(context.tensor(pair.global_scale)) +
                               " is neither one value nor one per matrix of " + described(payload)});
    return;
  }

  const bool comfy = context.marker != nullptr;
  const bool packed_name = ends_with(payload.name, "_packed");
  const bool linear_dialect =
      packed_name || context.config.method == "modelopt" || context.config.method == "compressed-tensors";
  const bool modelopt_for_comfy = comfy && context.inventory.metadata_value("quantization_config") != nullptr;
  // Scale order: marker, then dialect, then the only shape that fits, else a question.
  const bool swizzled = comfy ? true : linear_dialect ? false : orders.swizzled && !orders.linear;
  if ((swizzled && !orders.swizzled) || (!swizzled && !orders.linear))
    return shape_mismatch(pair, payload, scale, kGroup);
  finish(payload, scale, *m, kGroup, swizzled, pair);
  pair.scale_dtype = Dtype::F8_E4M3;
  if (!comfy && !linear_dialect && orders.linear && orders.swizzled) {
    pair.issues.push_back({Errc::scale_order_undecided, payload.name,
                           described(payload) + ": NVFP4, layout not stated (ModelOpt or ComfyUI); " +
                               described(scale) + " fits both orders"});
  }
  // Nibble order never shows in shapes.
  pair.codec = comfy ? Codec::F4_HIGH : Codec::F4;
  if ((!comfy && !linear_dialect) || modelopt_for_comfy) {
    pair.issues.push_back(
        {Errc::nibble_order_undecided, payload.name,
         described(payload) + ": NVFP4, " +
             (modelopt_for_comfy ? "written by ModelOpt for ComfyUI" : "layout not stated (ModelOpt or ComfyUI)")});
  }
  if (packed_name) pair.output_name = stem(payload.name, "_packed");
  crop_padding(context, pair);
}

// The header's own F4: shape counts elements, codes low nibble first as torch writes them.
void resolve_fp4_native(const ResolveContext&, Pair& pair) {
  pair.codec = Codec::F4;
  pair.granularity = Granularity::none;
}

}  // namespace wb
