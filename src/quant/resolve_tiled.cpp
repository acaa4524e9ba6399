// What the resolvers of tiled weights share: planes that are checked against the tensors they stand for, and a weight
// with a grid of scales turned into planes, for what a grid alone cannot say.
#include <algorithm>

#include "base/checked.h"
#include "quant/resolve.h"

namespace wb {

Plane fields_of(PlaneRole role, uint32_t tensor, uint64_t rows, uint64_t cols, uint32_t bits, kernels::Packing packing,
                bool transposed) {
  Plane plane;
  plane.role = role;
  plane.tensor = tensor;
  plane.rows = rows;
  plane.cols = cols;
  plane.bits = bits;
  plane.packing = packing;
  plane.transposed = transposed;
  return plane;
}

Plane numbers_of(const ResolveContext& context, PlaneRole role, uint32_t tensor, uint64_t rows, uint64_t cols,
                 bool transposed) {
  Plane plane = fields_of(role, tensor, rows, cols, 0, kernels::Packing::rows_low, transposed);
  plane.dtype = context.tensor(tensor).dtype;
  return plane;
}

void refuse(Pair& pair, const ResolveContext& context, Errc code, const std::string& why) {
  const Tensor& payload = context.tensor(pair.weight);
  pair.issues.push_back({code, payload.name, described(payload) + " " + why});
}

namespace {

/// Elements of a matrix, and any of its dims.
constexpr uint64_t kDimMax = uint64_t{1} << 48;

bool can_widen(Dtype dtype) {
  switch (dtype) {
    case Dtype::F32:
    case Dtype::BF16:
    case Dtype::F16:
    case Dtype::F8_E8M0:
    case Dtype::F8_E4M3:
    case Dtype::U8: return true;
    default: return false;
  }
}

}  // namespace

bool set_tiling(const ResolveContext& context, Tiling tiling, Pair& pair) {
  // Dims of an empty tensor may be anything; beyond these no product below could overflow.
  const auto sane = [](uint64_t n) { return n > 0 && n <= kDimMax; };
  bool all = sane(tiling.batches) && sane(tiling.rows) && sane(tiling.cols) && sane(tiling.group_rows) &&
             sane(tiling.group_cols) && tiling.rows <= kDimMax / tiling.cols;
  for (const Plane& plane : tiling.planes)
    all = all && sane(plane.rows) && sane(plane.cols) && plane.rows <= kDimMax / plane.cols;
  if (!all) {
    refuse(pair, context, Errc::payload_shape_mismatch, "is empty, or larger than any file");
    return false;
  }
  for (const Plane& plane : tiling.planes) {
    const Tensor& tensor = context.tensor(plane.tensor);
    const uint64_t want = plane.matrix_bytes() * (plane.shared ? 1 : tiling.batches);
    if (tensor.bytes() != want) {
      refuse(pair, context, Errc::payload_shape_mismatch,
             "does not fit " + described(tensor) + ": " + std::to_string(want) + " bytes are needed, " +
                 std::to_string(tensor.bytes()) + " are there");
      return false;
    }
    if (plane.bits == 0 && plane.role != PlaneRole::order && !can_widen(plane.dtype)) {
      refuse(pair, context, Errc::scale_dtype_unknown, "cannot be scaled by " + described(tensor));
      return false;
    }
    if (plane.role == PlaneRole::order && plane.dtype != Dtype::I32) {
      refuse(pair, context, Errc::payload_shape_mismatch,
             "has columns in the order of " + described(tensor) + ", not I32");
      return false;
    }
  }
  Grid& grid = pair.grid;
  grid = {};
  grid.rows = tiling.batches * tiling.rows;
  grid.cols = tiling.cols;
  grid.batch_rows = tiling.rows;
  grid.group_rows = tiling.group_rows;
  grid.group_cols = tiling.group_cols;
  grid.grid_rows = tiling.grid_rows();
  grid.grid_cols = tiling.grid_cols();
  pair.granularity = grid.group_cols == grid.cols && grid.group_rows == 1 ? Granularity::per_row : Granularity::group;
  pair.codec = tiling.codec;
  if (const Plane* scale = tiling.plane(PlaneRole::scale)) {
    pair.scale_dtype = scale->dtype;
    const auto at = std::find(pair.scales.begin(), pair.scales.end(), scale->tensor);
    if (at != pair.scales.end()) std::rotate(pair.scales.begin(), at, at + 1);
  }
  pair.tiling = std::make_shared<const Tiling>(std::move(tiling));
  return true;
}

bool set_tiling_within_grid(const ResolveContext& context, Tiling tiling, Pair& pair) {
  const Granularity granularity = pair.granularity;
  const Grid grid = pair.grid;
  if (!set_tiling(context, std::move(tiling), pair)) return false;
  pair.granularity = granularity;
  pair.grid = grid;
  return true;
}

Tiling tiling_of_grid(const ResolveContext& context, const Pair& pair) {
  const Grid& grid = pair.grid;
  Tiling tiling;
  tiling.batches = grid.rows / grid.batch_rows;
  tiling.rows = grid.batch_rows;
  tiling.cols = grid.cols;
  tiling.group_rows = grid.group_rows;
  tiling.group_cols = grid.group_cols;
  tiling.codec = pair.codec;
  const uint32_t bits = codec_info(pair.codec).bits;
  Plane codes =
      fields_of(PlaneRole::codes, pair.weight, tiling.rows, tiling.cols, bits,
                pair.codec == Codec::F4_HIGH ? kernels::Packing::rows_high : kernels::Packing::rows_low, false);
  codes.line_bytes = pair.row_bytes;
  tiling.planes.push_back(codes);
  Plane scale = numbers_of(context, PlaneRole::scale, pair.scales[0], grid.grid_rows, grid.grid_cols, false);
  scale.dtype = pair.scale_dtype;
  scale.swizzled = grid.swizzled;
  tiling.planes.push_back(scale);
  return tiling;
}

void subtract_zero_points(const ResolveContext& context, uint32_t zero, Pair& pair) {
  Tiling tiling = tiling_of_grid(context, pair);
  tiling.planes.push_back(
      fields_of(PlaneRole::zero, zero, tiling.grid_rows(), tiling.grid_cols(), 8, kernels::Packing::rows_low, false));
  tiling.zero_signed = true;
  tiling.formula = "w[r,c] = (int8(code[r,c]) - zero_point) * scale, both of the same group";
  set_tiling_within_grid(context, std::move(tiling), pair);
}

// The activations were multiplied by this vector; folded into the columns it changes nothing and needs no code at
// run time. Source: reference/formats.md 5.2c, 7.2.
void fold_smoothing(const ResolveContext& context, Pair& pair) {
  uint32_t smoothing = context.companion(pair, ".pre_quant_scale");
  if (smoothing == kNoTensor) smoothing = context.companion(pair, "._weight_act_pre_scale");  // torchao
  if (smoothing == kNoTensor || pair.weight == kNoTensor || pair.state() == PairState::refused) return;
  if (context.tensor(smoothing).elements == 1) {
    return refuse(pair, context, Errc::scheme_unsupported,
                  "has " + described(context.tensor(smoothing)) + ", one value for all columns");
  }
  if (pair.scheme == "int8_rotated" || (!pair.tiling && pair.grid.rows == 0)) {
    return refuse(pair, context, Errc::scheme_unsupported,
                  "has " + described(context.tensor(smoothing)) + ", which does not fit its scheme");
  }
  Tiling tiling = pair.tiling ? *pair.tiling : tiling_of_grid(context, pair);
  Plane factor = numbers_of(context, PlaneRole::factor, smoothing, 1, tiling.cols, false);
  factor.shared = context.tensor(smoothing).elements == tiling.cols;
  tiling.planes.push_back(factor);
  set_tiling_within_grid(context, std::move(tiling), pair);
}

}  // namespace wb
