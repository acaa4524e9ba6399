// Codes that stand for the entries of a table, and codes kept in parts: bitsandbytes' 4 bits, HQQ, optimum-quanto, and
// ComfyUI's 4-bit integers. Source: reference/formats.md 5.2f..h, 10.1, 10.3, 10.4.

#include "base/checked.h"
#include "base/json.h"
#include "kernels/rotate.h"
#include "quant/resolve.h"

namespace wb {
namespace {

using kernels::Packing;

void mismatch(const ResolveContext& context, Pair& pair, const std::string& why) {
  refuse(pair, context, Errc::payload_shape_mismatch, why);
}

// The product of a weight's dims, when it has at most as many elements as `elements_max` says its payload can hold.
std::optional<uint64_t> elements_of(const Shape& shape, uint64_t elements_max) {
  uint64_t elements = 1;
  for (const uint64_t dim : shape) {
    const auto product = checked_mul(elements, dim);
    if (!product || *product > elements_max) return std::nullopt;
    elements = *product;
  }
  return elements;
}

// ---- bitsandbytes

// The JSON text of weight.quant_state.bitsandbytes__nf4.
struct BnbState {
  uint64_t blocksize = 0;
  Shape shape;
  uint64_t nested_blocksize = 0;  ///< 0: absmax is not quantized
  float nested_offset = 0;
};

std::optional<BnbState> bnb_state(const std::string& text) {
  const Json json = parse_json(text);
  if (!json.is_object()) return std::nullopt;
  const auto count = [&](const char* key) {
    const auto at = json.find(key);
    return at != json.end() && at->is_number_unsigned() ? at->get<uint64_t>() : 0;
  };
  BnbState state;
  state.blocksize = count("blocksize");
  state.nested_blocksize = count("nested_blocksize");
  const auto offset = json.find("nested_offset");
  if (offset != json.end() && offset->is_number()) state.nested_offset = static_cast<float>(offset->get<double>());
  const auto shape = json.find("shape");
  if (state.blocksize == 0 || shape == json.end() || !shape->is_array()) return std::nullopt;
  for (const auto& dim : *shape) {
    if (!dim.is_number_unsigned()) return std::nullopt;
    state.shape.push_back(dim.get<uint64_t>());
  }
  return state;
}

// Scales that are codes themselves: a[i] = map[absmax[i]] * nested_absmax[i / blocksize] + offset.
bool nest_scales(const ResolveContext& context, const BnbState& state, uint64_t blocks, Tiling& tiling, Pair& pair) {
  const uint32_t nested = context.companion(pair, ".nested_absmax");
  const uint32_t map = context.companion(pair, ".nested_quant_map");
  const std::vector<float>* const table = map == kNoTensor ? nullptr : context.values.table(map);
  if (nested == kNoTensor || !table || table->size() != 256 || state.nested_blocksize == 0) {
    mismatch(context, pair, "has quantized absmax values, but not the nested_absmax and nested_quant_map they need");
    return false;
  }
  tiling.planes.back().bits = 8;
  tiling.scale_table = *table;
  tiling.nested_groups = state.nested_blocksize;
  tiling.nested_offset = state.nested_offset;
  tiling.planes.push_back(
      numbers_of(context, PlaneRole::nested, nested, 1, ceil_div(blocks, state.nested_blocksize), false));
  return true;
}

}  // namespace

// Flat codes, high nibble first, in blocks of 64 with one absmax each; quant_state holds shape and block size.
void resolve_bnb_4bit(const ResolveContext& context, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  const uint32_t nf4 = context.companion(pair, "bitsandbytes__nf4");
  const uint32_t state_at = nf4 != kNoTensor ? nf4 : context.companion(pair, "bitsandbytes__fp4");
  const std::string* const text = state_at == kNoTensor ? nullptr : context.values.text(state_at);
  const auto state = text ? bnb_state(*text) : std::nullopt;
  const uint32_t absmax = context.companion(pair, ".absmax");
  if (!state || absmax == kNoTensor)
    return mismatch(context, pair,
                    "is bitsandbytes 4-bit, but its quant_state, which holds the shape, is missing or unreadable");
  const auto elements = elements_of(state->shape, payload.bytes() * 2);
  if (!elements || ceil_div(*elements, 2) > payload.bytes())
    return mismatch(context, pair,
                    "cannot hold " + shape_text(state->shape) + " codes of 4 bits, which its quant_state says");

  Tiling tiling;
  tiling.rows = 1;
  tiling.cols = *elements;
  tiling.group_cols = state->blocksize;
  tiling.codec = nf4 != kNoTensor ? Codec::NF4_HIGH : Codec::FP4_BNB_HIGH;
  const uint32_t map = context.companion(pair, ".quant_map");
  if (const auto* const table = map == kNoTensor ? nullptr : context.values.table(map); table && table->size() == 16)
    tiling.table = *table;
  Plane codes = fields_of(PlaneRole::codes, pair.weight, 1, *elements, 4, Packing::rows_high, false);
  codes.line_bytes = payload.bytes();  // a wider storage dtype pads the end
  tiling.planes.push_back(codes);
  const uint64_t blocks = ceil_div(*elements, state->blocksize);
  tiling.planes.push_back(numbers_of(context, PlaneRole::scale, absmax, 1, blocks, false));
  const bool nested = context.tensor(absmax).dtype == Dtype::U8;
  if (nested && !nest_scales(context, *state, blocks, tiling, pair)) return;
  tiling.formula = "w[i] = " + std::string(nf4 != kNoTensor ? "nf4" : "fp4") + "(code[i]) * " +
                   (nested ? "(map[absmax[i/" + std::to_string(state->blocksize) + "]] * nested_absmax + offset)"
                           : "absmax[i/" + std::to_string(state->blocksize) + "]") +
                   ", i over the whole weight";
  pair.shape = state->shape;
  if (set_tiling(context, std::move(tiling), pair)) pair.granularity = Granularity::group;
}

// ---- HQQ

namespace {

// The plane of codes, or nothing where the payload is too small. 5 and 6 bits take a byte each; the grouped matrix of
// 3 bits was padded to tens of rows before it was cut into shares.
std::optional<Plane> hqq_codes(const Pair& pair, const Tensor& payload, uint64_t bits, uint64_t group,
                               uint64_t elements) {
  if (bits == 3) {
    const uint64_t words = ceil_div(elements / group, 10) * group;
    Plane codes = fields_of(PlaneRole::codes, pair.weight, 1, words * 10, 3, Packing::parts_30, false);
    return payload.bytes() == words * 4 ? std::optional(codes) : std::nullopt;
  }
  if (bits == 5 || bits == 6) bits = 8;
  if (bits != 1 && bits != 2 && bits != 4 && bits != 8) return std::nullopt;
  if (payload.bytes() != ceil_div(elements * bits, 8)) return std::nullopt;
  return fields_of(PlaneRole::codes, pair.weight, 1, elements, static_cast<uint32_t>(bits), Packing::parts_8, false);
}

}  // namespace

// W_q of the grouped matrix [N * K / g, g] (axis 1), its rows in as many parts as fit a byte: part p is the p-th share
// of the elements, the first in the highest bits. Flat, so the shares of the weight itself.
void resolve_hqq(const ResolveContext& context, Pair& pair) {
  const auto bits = context.integer(pair, ".nbits");
  const auto group = context.integer(pair, ".group_size");
  const auto axis = context.integer(pair, ".axis");
  const uint32_t shape_at = context.companion(pair, ".shape");
  const Shape* const shape = shape_at == kNoTensor ? nullptr : context.values.integers(shape_at);
  const uint32_t scale = context.companion(pair, ".scale");
  const uint32_t zero = context.companion(pair, ".zero");
  const Tensor& payload = context.tensor(pair.weight);
  const bool nested =
      context.companion(pair, ".scale_q") != kNoTensor || context.companion(pair, ".zero_q") != kNoTensor ||
      context.integer(pair, ".quant_scale").value_or(0) != 0 || context.integer(pair, ".quant_zero").value_or(0) != 0;
  if (nested)
    return refuse(pair, context, Errc::scheme_unsupported,
                  "is HQQ whose scales or zero points are quantized themselves, which this version does not undo");
  if (!bits || !group || !axis || !shape || shape->size() != 2 || scale == kNoTensor || zero == kNoTensor) {
    return refuse(
        pair, context, Errc::scheme_unsupported,
        "is HQQ without the nbits, group_size, axis, shape, scale and zero that this version needs to read it");
  }
  if (*axis != 1)
    return refuse(pair, context, Errc::scheme_unsupported,
                  "is HQQ grouped along axis 0, which this version does not undo");
  const auto elements = elements_of(*shape, payload.bytes() * 8);
  const auto codes = elements && *group != 0 && *elements % *group == 0
                         ? hqq_codes(pair, payload, *bits, *group, *elements)
                         : std::nullopt;
  if (!codes)
    return mismatch(context, pair,
                    "does not hold " + shape_text(*shape) + " codes of " + std::to_string(*bits) +
                        " bits in groups of " + std::to_string(*group));

  Tiling tiling;
  // Groups that end inside rows: then the weight is one row.
  const bool across = (*shape)[1] % *group != 0;
  tiling.rows = across ? 1 : (*shape)[0];
  tiling.cols = across ? *elements : (*shape)[1];
  tiling.group_cols = *group;
  tiling.planes.push_back(*codes);
  const uint64_t groups = tiling.cols / *group;
  tiling.planes.push_back(numbers_of(context, PlaneRole::scale, scale, tiling.rows, groups, false));
  tiling.planes.push_back(numbers_of(context, PlaneRole::zero, zero, tiling.rows, groups, false));
  const std::string at = (across ? "[i/" : "[r,c/") + std::to_string(*group) + "]";
  tiling.formula = std::string(across ? "w[i] = (int(code[i])" : "w[r,c] = (int(code[r,c])") + " - zero" + at +
                   ") * scale" + at + (across ? ", i over the whole weight" : "");
  pair.shape = *shape;
  pair.output_name = stem(payload.name, "W_q") + "weight";
  if (set_tiling(context, std::move(tiling), pair) && across) pair.granularity = Granularity::group;
}

// ---- optimum-quanto

// qint8 and qfloat8: `.weight._data` is an I8 or F8 matrix, `.weight._scale` its multiplier.
void resolve_quanto(const ResolveContext& context, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  const bool plain = payload.dtype == Dtype::I8 || is_fp8_payload(payload.dtype);
  if (!plain || context.companion(pair, "._shift") != kNoTensor || ends_with(payload.name, "._data._data")) {
    return refuse(
        pair, context, Errc::scheme_unsupported,
        "is optimum-quanto's qint4 or qint2, whose groups do not tell how many of them make a row: the shape of "
        "the weight is not in the file");
  }
  pair.output_name = stem(payload.name, "._data");
  resolve_grid(context, pair);
}

// ---- ComfyUI's 4-bit integers

namespace {

// One function per marker format; `cols` are logical, two codes a byte, the low nibble first.
void tile_rotated_int4(const ResolveContext& context, Tiling& tiling, Pair& pair) {
  const uint32_t scale = context.companion(pair, ".weight_scale");
  tiling.codec = Codec::I4_LOW;
  tiling.group_cols = tiling.cols;
  tiling.rotation = context.marker->rotation_group;
  tiling.planes.push_back(numbers_of(context, PlaneRole::scale, scale, tiling.rows, 1, false));
  tiling.formula = "w = (int4(code[r,c]) * weight_scale[r]) * H, H a Hadamard matrix by groups of " +
                   std::to_string(tiling.rotation) + " columns";
}

void tile_relative_int4(const ResolveContext& context, uint64_t groups, Tiling& tiling, Pair& pair) {
  const uint32_t codebook = context.companion(pair, ".weight_codebook");
  const uint32_t correction = context.companion(pair, ".weight_correction");
  tiling.codec = Codec::U4B8_LOW;
  if (const auto* const table = codebook == kNoTensor ? nullptr : context.values.table(codebook);
      table && table->size() == 16)
    tiling.table = *table;
  tiling.group_cols = tiling.cols / groups;
  tiling.rotation = context.marker->rotation_group;
  tiling.to_int8 = true;
  Plane scale =
      numbers_of(context, PlaneRole::scale, context.companion(pair, ".weight_s_rel"), tiling.rows, groups, false);
  if (scale.dtype == Dtype::U8) scale.dtype = Dtype::F8_E4M3;  // the same bytes in another container
  tiling.planes.push_back(scale);
  tiling.planes.push_back(
      numbers_of(context, PlaneRole::row_scale, context.companion(pair, ".weight_s_channel"), tiling.rows, 1, false));
  if (correction != kNoTensor)
    tiling.planes.push_back(numbers_of(context, PlaneRole::addend, correction, groups, tiling.rows, true));
  const std::string at = "[r,c/" + std::to_string(tiling.group_cols) + "]";
  tiling.formula = "w = (clamp(rne(codebook[code[r,c]] * weight_s_rel" + at + ")) * weight_s_channel[r]" +
                   (correction == kNoTensor ? "" : " + weight_correction" + at) + ") * H, H by groups of " +
                   std::to_string(tiling.rotation) + " columns";
}

void tile_awq_w4a16(const ResolveContext& context, uint64_t groups, Tiling& tiling, Pair& pair) {
  tiling.codec = Codec::U4B8_LOW;
  tiling.group_cols = tiling.cols / groups;
  tiling.planes.push_back(
      numbers_of(context, PlaneRole::scale, context.companion(pair, ".weight_scale"), groups, tiling.rows, true));
  tiling.planes.push_back(
      numbers_of(context, PlaneRole::addend, context.companion(pair, ".weight_zeros"), groups, tiling.rows, true));
  const std::string at = "[c/" + std::to_string(tiling.group_cols) + ",r]";
  tiling.formula = "w[r,c] = (uint4(code[r,c]) - 8) * weight_scale" + at + " + weight_zeros" + at;
}

}  // namespace

void resolve_comfy_int4(const ResolveContext& context, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  const uint32_t relative = context.companion(pair, ".weight_s_rel");
  const uint32_t zeros = context.companion(pair, ".weight_zeros");
  const uint32_t scale = context.companion(pair, ".weight_scale");
  if (payload.shape.size() != 2) return mismatch(context, pair, "is no matrix");
  Tiling tiling;
  tiling.rows = payload.shape[0];
  tiling.cols = payload.shape[1] * 2;
  tiling.planes.push_back(
      fields_of(PlaneRole::codes, pair.weight, tiling.rows, tiling.cols, 4, Packing::rows_low, false));
  // Groups along the columns, in whichever dimension of the scale they stand.
  const uint32_t grouped = relative != kNoTensor ? relative : scale;
  const size_t dim = relative != kNoTensor ? 1 : 0;
  const bool by_group = relative != kNoTensor || zeros != kNoTensor;
  const uint64_t groups = by_group && grouped != kNoTensor && context.tensor(grouped).shape.size() == 2
                              ? context.tensor(grouped).shape[dim]
                              : 0;
  if (grouped == kNoTensor || (by_group && (groups == 0 || tiling.cols % groups != 0)))
    return mismatch(context, pair, "has no scale that fits " + std::to_string(tiling.cols) + " columns of 4 bits");
  if (!context.marker && zeros == kNoTensor) {
    return refuse(pair, context, Errc::scheme_unsupported,
                  "is ComfyUI's 4-bit integers without the comfy_quant marker that says how they are rotated");
  }
  if (relative != kNoTensor) {
    // 6 bits a code have the same tensors and 3/4 of a byte: two more bits of every code stand behind the nibbles.
    const auto wide = checked_mul(groups, context.marker->group_size.value_or(16));
    if (!wide || *wide != tiling.cols)
      return refuse(
          pair, context, Errc::scheme_unsupported,
          "is asym_w4a8_int8 with another number of columns than its scales say, as with 6 bits a code, which "
          "this version does not undo");
    if (context.companion(pair, ".weight_s_channel") == kNoTensor)
      return mismatch(context, pair, "has no weight_s_channel");
    tile_relative_int4(context, groups, tiling, pair);
  } else if (zeros != kNoTensor) {
    tile_awq_w4a16(context, groups, tiling, pair);
  } else {
    tile_rotated_int4(context, tiling, pair);
  }
  if (tiling.rotation != 0 && (!kernels::is_rotation_group(tiling.rotation) || tiling.cols % tiling.rotation != 0)) {
    return refuse(
        pair, context, Errc::scheme_unsupported,
        "is rotated by groups of " + std::to_string(tiling.rotation) + " columns, which this version does not undo");
  }
  pair.shape = {tiling.rows, tiling.cols};
  set_tiling(context, std::move(tiling), pair);
}

}  // namespace wb
