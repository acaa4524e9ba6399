// Integers with scales: int8 in ComfyUI's and compressed-tensors' spelling, LLM.int8, and integers packed
// into 32-bit words. Source: reference/formats.md 5.2e, 5.4, 7.3, 10.2.
#include "base/checked.h"
#include "kernels/rotate.h"
#include "quant/resolve.h"

namespace wb {
namespace {

/// A rotated row is read whole; a window holds this many codes.
constexpr uint64_t kRotatedColumnsMax = 1024 * 1024;

void mismatch(Pair& pair, const Tensor& payload, const std::string& why) {
  pair.issues.push_back({Errc::payload_shape_mismatch, payload.name, described(payload) + ": " + why});
}

void unsupported(Pair& pair, const Tensor& payload, const std::string& why) {
  pair.issues.push_back({Errc::scheme_unsupported, payload.name, described(payload) + " " + why});
}

// Whole groups of a row share one scale, and a row fits one window, so that no group is ever cut.
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
  pair.rotation = group;
}

}  // namespace

void resolve_int8(const ResolveContext& context, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  pair.codec = Codec::I8;
  if (context.companion(pair, ".pre_quant_scale") != kNoTensor) {
    return unsupported(pair, payload, "has a pre_quant_scale, which this version recognises but does not fold in");
  }
  resolve_grid(context, pair);
  if (context.marker && context.marker->rotated) resolve_rotation(context, pair);
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

// qint8 and qfloat8: `.weight._data` is an I8 or F8 matrix, `.weight._scale` its multiplier. qint4 and qint2 keep
// halves of rows in one byte and a shift, and are refused.
void resolve_quanto(const ResolveContext& context, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  const bool plain = payload.dtype == Dtype::I8 || is_fp8_payload(payload.dtype);
  if (!plain || context.companion(pair, "._shift") != kNoTensor || ends_with(payload.name, "._data._data")) {
    return unsupported(pair, payload,
                       "is optimum-quanto's qint4 or qint2, which this version recognises but does not unpack");
  }
  pair.output_name = stem(payload.name, "._data");
  resolve_grid(context, pair);
}

// weight_packed I32 [N, ceil(K * b / 32)], offset binary, low bits first; zero points and column
// orders need more than a strip and are refused.
void resolve_compressed_int(const ResolveContext& context, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  const uint32_t scale = context.companion(pair, ".weight_scale");
  for (const std::string_view extra : {".weight_zero_point", ".weight_g_idx"}) {
    if (context.companion(pair, extra) != kNoTensor) {
      return unsupported(pair, payload,
                         "has " + std::string(extra.substr(1)) + ", which this version recognises but does not apply");
    }
  }
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
  pair.codec = ceil_div(cols, 8) == words ? Codec::U4B8_LOW : ceil_div(cols, 4) == words ? Codec::U8B128 : Codec::I32;
  if (pair.codec == Codec::I32 || pair.shape[0] != payload.shape[0]) {
    return mismatch(pair, payload, "does not hold " + shape_text(pair.shape) + " values of 4 or 8 bits");
  }
  if (cols * codec_info(pair.codec).bits % 32 != 0) pair.row_bytes = words * 4;  // a row ends inside its last word
  pair.scales[0] = scale;
  pair.output_name = stem(payload.name, "_packed");
  // [N, K / g] with g from the shapes themselves: any divisor is a group here, also 1 and K.
  const Tensor& scales = context.tensor(scale);
  const bool fits = scales.shape.size() == 2 && scales.shape[0] == pair.shape[0] && scales.shape[1] > 0 &&
                    cols % scales.shape[1] == 0;
  if (!fits) return resolve_grid(context, pair);
  pair.granularity = scales.shape[1] == 1 ? Granularity::per_row : Granularity::group;
  Grid& grid = pair.grid;
  grid.rows = grid.batch_rows = grid.grid_rows = pair.shape[0];
  grid.cols = cols;
  grid.group_rows = 1;
  grid.group_cols = cols / scales.shape[1];
  grid.grid_cols = scales.shape[1];
  pair.scale_dtype = scales.dtype;
}

}  // namespace wb
