// Integers with scales: int8 in ComfyUI's and compressed-tensors' spelling, LLM.int8, and integers packed
// into 32-bit words. Source: reference/formats.md 5.2e, 5.4, 7.3, 10.2.
#include <algorithm>

#include "base/checked.h"
#include "kernels/rotate.h"
#include "quant/resolve.h"

namespace wb {
namespace {

/// No rotated row this long is known.
constexpr uint64_t kRotatedColumnsMax = 1024 * 1024;

void mismatch(Pair& pair, const Tensor& payload, const std::string& why) {
  pair.issues.push_back({Errc::payload_shape_mismatch, payload.name, described(payload) + ": " + why});
}

void unsupported(Pair& pair, const Tensor& payload, const std::string& why) {
  pair.issues.push_back({Errc::scheme_unsupported, payload.name, described(payload) + " " + why});
}

// Whole groups of a row share one scale.
void resolve_rotation(const ResolveContext& context, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  const uint64_t group = context.marker->rotation_group;
  const bool by_row = pair.granularity == Granularity::per_row || pair.granularity == Granularity::per_tensor;
  if (!kernels::is_rotation_group(group) || !by_row || pair.grid.cols % group != 0 ||
      pair.grid.cols > kRotatedColumnsMax) {
    return unsupported(pair, payload,
                       "is rotated (convrot) by groups of " + std::to_string(group) +
                           " columns, which this version does not undo for this shape and scale");
  }
  pair.scheme = "int8_rotated";
  Tiling tiling = tiling_of_grid(context, pair);
  tiling.rotation = group;
  tiling.formula = scheme(pair.scheme).formula;
  set_tiling_within_grid(context, std::move(tiling), pair);
}

}  // namespace

void resolve_int8(const ResolveContext& context, Pair& pair) {
  pair.codec = Codec::I8;
  resolve_grid(context, pair);
  const bool rotated = context.marker && context.marker->rotated;
  if (rotated) resolve_rotation(context, pair);
  // compressed-tensors' asymmetric integers: one zero point beside every scale, of the same shape.
  const uint32_t zero = context.companion(pair, ".weight_zero_point");
  if (zero == kNoTensor || pair.state() == PairState::refused) return;
  const Tensor& zeros = context.tensor(zero);
  if (zeros.shape != context.tensor(pair.scales[0]).shape || zeros.dtype != Dtype::I8 || rotated)
    return unsupported(pair, context.tensor(pair.weight),
                       "has zero points that do not fit its scales: " + described(zeros));
  subtract_zero_points(context, zero, pair);
}

// value = code * SCB[row] / 127; weight_format 0 is row-major, 1..3 are legacy tiles.
void resolve_bnb_int8(const ResolveContext& context, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  pair.codec = Codec::I8_BY_127;
  const uint32_t format = context.companion(pair, ".weight_format");
  const Shape* layout = format == kNoTensor ? nullptr : context.values.integers(format);
  if (format != kNoTensor && (!layout || *layout != Shape{0})) {
    return unsupported(
        pair, payload,
        "is stored in one of LLM.int8's tiled layouts (weight_format is not 0), which cannot be read row by row");
  }
  resolve_grid(context, pair);
  if (pair.granularity != Granularity::per_row && pair.state() != PairState::refused) {
    mismatch(pair, payload, "SCB has one value a row, not " + shape_text(context.tensor(pair.scales[0]).shape));
  }
}

namespace {

// The width of the integers: the config's, or 4 or 8, or the only one with which a row takes as many words.
std::optional<uint32_t> packed_bits(const ResolveContext& context, uint64_t cols, uint64_t words) {
  const auto fits = [&](uint64_t bits) { return ceil_div(cols * bits, 32) == words; };
  if (context.config.bits && *context.config.bits <= 8 && fits(*context.config.bits))
    return static_cast<uint32_t>(*context.config.bits);
  if (fits(4)) return 4;
  if (fits(8)) return 8;
  std::optional<uint32_t> only;
  for (const uint32_t bits : {2u, 3u, 5u, 6u, 7u}) {
    if (!fits(bits)) continue;
    if (only) return std::nullopt;
    only = bits;
  }
  return only;
}

// [N, K / g] with g from the shapes themselves: any divisor is a group here, also 1 and K.
void set_groups(const Tensor& scales, Pair& pair) {
  pair.granularity = scales.shape[1] == 1 ? Granularity::per_row : Granularity::group;
  Grid& grid = pair.grid;
  grid.rows = grid.batch_rows = grid.grid_rows = pair.shape[0];
  grid.cols = pair.shape[1];
  grid.group_rows = 1;
  grid.group_cols = pair.shape[1] / scales.shape[1];
  grid.grid_cols = scales.shape[1];
  pair.scale_dtype = scales.dtype;
}

// What a strip cannot read: zero points, packed down the rows; columns in the order of g_idx; odd widths.
void tile_packed(const ResolveContext& context, uint32_t bits, Pair& pair) {
  const uint64_t rows = pair.shape[0];
  const uint64_t cols = pair.shape[1];
  const uint64_t groups = pair.grid.grid_cols;
  const uint32_t zero = context.companion(pair, ".weight_zero_point");
  const uint32_t order = context.companion(pair, ".weight_g_idx");
  const uint32_t half = 1u << (bits - 1);
  Tiling tiling;
  tiling.rows = rows;
  tiling.cols = cols;
  tiling.group_cols = pair.grid.group_cols;
  Plane codes = fields_of(PlaneRole::codes, pair.weight, rows, cols, bits, kernels::Packing::rows_low, false);
  codes.line_bytes = context.tensor(pair.weight).shape[1] * 4;
  tiling.planes.push_back(codes);
  tiling.planes.push_back(numbers_of(context, PlaneRole::scale, pair.scales[0], rows, groups, false));
  // Codes and zero points are both offset by half: the offset cancels.
  if (zero != kNoTensor) {
    tiling.planes.push_back(fields_of(PlaneRole::zero, zero, rows, groups, bits, kernels::Packing::down_32, false));
  } else {
    for (uint32_t code = 0; code < 1u << bits; ++code)
      tiling.table.push_back(static_cast<float>(code) - static_cast<float>(half));
  }
  if (order != kNoTensor) tiling.planes.push_back(numbers_of(context, PlaneRole::order, order, 1, cols, false));
  const std::string at = order == kNoTensor ? "c/" + std::to_string(tiling.group_cols) : "g_idx[c]";
  tiling.formula = "w[r,c] = (uint" + std::to_string(bits) + "(code[r,c]) - " +
                   (zero == kNoTensor ? std::to_string(half) : "zero_point[r," + at + "]") + ") * weight_scale[r," +
                   at + "]";
  set_tiling_within_grid(context, std::move(tiling), pair);
}

}  // namespace

// weight_packed I32 [N, ceil(K * b / 32)], offset binary, low bits first.
void resolve_compressed_int(const ResolveContext& context, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  const uint32_t scale = context.companion(pair, ".weight_scale");
  if (payload.shape.size() != 2 || scale == kNoTensor)
    return mismatch(pair, payload, "packed words are a matrix with a weight_scale");
  // The logical width is in weight_shape; the small tensor was read with the others.
  const uint32_t shape = context.companion(pair, ".weight_shape");
  const Shape* dims = shape == kNoTensor ? nullptr : context.values.integers(shape);
  if (!dims || dims->size() != 2)
    return mismatch(pair, payload, "weight_shape [2], which holds the logical shape, is missing or unread");
  pair.shape = *dims;
  const uint64_t words = payload.shape[1];
  const uint64_t cols = pair.shape[1];
  // 2^40 columns of 8 bits are more than any file: no product below overflows.
  const auto bits = cols < uint64_t{1} << 40 ? packed_bits(context, cols, words) : std::nullopt;
  if (!bits || pair.shape[0] != payload.shape[0]) {
    return mismatch(pair, payload,
                    "does not hold " + shape_text(pair.shape) + " integers of a width that shapes or config tell");
  }
  pair.codec = *bits == 4 ? Codec::U4B8_LOW : *bits == 8 ? Codec::U8B128 : Codec::U8;
  if (cols * *bits % 32 != 0) pair.row_bytes = words * 4;  // a row ends inside its last word
  pair.output_name = stem(payload.name, "_packed");
  std::rotate(pair.scales.begin(), std::find(pair.scales.begin(), pair.scales.end(), scale),
              std::find(pair.scales.begin(), pair.scales.end(), scale) + 1);
  const Tensor& scales = context.tensor(scale);
  const bool fits = scales.shape.size() == 2 && scales.shape[0] == pair.shape[0] && scales.shape[1] > 0 &&
                    cols % scales.shape[1] == 0;
  const bool plain = (*bits == 4 || *bits == 8) && context.companion(pair, ".weight_zero_point") == kNoTensor &&
                     context.companion(pair, ".weight_g_idx") == kNoTensor;
  if (fits)
    set_groups(scales, pair);
  else if (plain)
    return resolve_grid(context, pair);
  else
    return mismatch(pair, payload, described(scales) + " is not one scale by group of columns");
  if (!plain) tile_packed(context, *bits, pair);
}

// ModelOpt's INT4_AWQ: U8 [N/2, K], the low nibble of a byte is row 2i, the high one row 2i+1; weight_scale [N, K/g].
void resolve_output_packed_int4(const ResolveContext& context, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  const Tensor& scales = context.tensor(pair.scales[0]);
  const uint64_t rows = payload.shape[0] * 2;
  const uint64_t cols = payload.shape[1];
  if (scales.shape[1] == 0 || cols % scales.shape[1] != 0)
    return mismatch(pair, payload, described(scales) + " is not one scale by group of columns");
  Tiling tiling;
  tiling.rows = rows;
  tiling.cols = cols;
  tiling.group_cols = cols / scales.shape[1];
  tiling.codec = Codec::I4_LOW;
  tiling.planes.push_back(fields_of(PlaneRole::codes, pair.weight, rows, cols, 4, kernels::Packing::down_8, false));
  tiling.planes.push_back(numbers_of(context, PlaneRole::scale, pair.scales[0], rows, scales.shape[1], false));
  tiling.formula =
      "w[r,c] = int4(code[r,c]) * weight_scale[r,c/" + std::to_string(tiling.group_cols) + "], two rows a byte";
  pair.shape = {rows, cols};
  set_tiling(context, std::move(tiling), pair);
}

}  // namespace wb
