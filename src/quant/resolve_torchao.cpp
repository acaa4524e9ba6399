// torchao: tensor subclasses flattened into a safetensors file. `<module>._weight_qdata` and its companions are the
// data, the metadata key `<module>.weight` says which class they were. Source: reference/formats.md 10.5, torchao 0.18.

#include "base/checked.h"
#include "base/json.h"
#include "quant/resolve.h"

namespace wb {
namespace {

struct TensorClass {
  std::string type;  ///< "Float8Tensor", ...
  bool swizzled = false;
  uint64_t block = 0;   ///< block_size where it is one number
  std::string element;  ///< elem_dtype where torch has no dtype for it: "fp6_e3m2"
};

std::optional<TensorClass> class_of(const ResolveContext& context, const std::string& weight) {
  const std::string* const text = context.inventory.metadata_value(weight);
  if (!text) return std::nullopt;
  const Json json = parse_json(*text);
  if (!json.is_object() || !json.contains("_type") || !json["_type"].is_string()) return std::nullopt;
  TensorClass found;
  found.type = json["_type"].get<std::string>();
  const auto data = json.find("_data");
  if (data == json.end() || !data->is_object()) return found;
  const auto swizzled = data->find("is_swizzled_scales");
  found.swizzled = swizzled != data->end() && swizzled->is_boolean() && swizzled->get<bool>();
  const auto block = data->find("block_size");
  if (block != data->end() && block->is_number_unsigned()) found.block = block->get<uint64_t>();
  const auto element = data->find("elem_dtype");
  if (element != data->end() && element->is_string()) found.element = element->get<std::string>();
  return found;
}

// One zero point and one scale by group, both [N, K / g] or [N, 1]: Int8Tensor, IntxUnpackedToInt8Tensor.
void resolve_integers(const ResolveContext& context, Pair& pair) {
  pair.codec = Codec::I8;
  resolve_grid(context, pair);
  const uint32_t zero = context.companion(pair, "._weight_zero_point");
  if (zero == kNoTensor || pair.state() == PairState::refused) return;
  const Tensor& zeros = context.tensor(zero);
  if (zeros.dtype != Dtype::I8 || zeros.elements != context.tensor(pair.scales[0]).elements)
    return refuse(pair, context, Errc::payload_shape_mismatch,
                  "has zero points that do not fit its scales: " + described(zeros));
  subtract_zero_points(context, zero, pair);
}

// MXTensor and NVFP4Tensor: codes in rows, low nibble first, scales by 32 or 16 columns, in rows or in tiles.
void resolve_micro(const ResolveContext& context, const TensorClass& found, uint64_t group, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  const bool fp4 = payload.dtype == Dtype::U8;
  if (!found.element.empty())
    return refuse(pair, context, Errc::scheme_unsupported,
                  "is torchao's " + found.type + " of " + found.element + ", which this version does not undo");
  if (payload.shape.size() != 2 || (!fp4 && !is_fp8_payload(payload.dtype)))
    return refuse(pair, context, Errc::scheme_unsupported, "is no matrix of fp4 pairs or fp8 codes");
  pair.codec = fp4 ? Codec::F4 : codec_of(payload.dtype);
  pair.shape = {payload.shape[0], payload.shape[1] * (fp4 ? 2 : 1)};
  Grid& grid = pair.grid;
  grid.rows = grid.batch_rows = grid.grid_rows = pair.shape[0];
  grid.cols = pair.shape[1];
  grid.group_rows = 1;
  grid.group_cols = group;
  grid.grid_cols = ceil_div(grid.cols, group);
  grid.swizzled = found.swizzled;
  pair.granularity = Granularity::group;
  pair.scale_dtype = context.tensor(pair.scales[0]).dtype;
  const uint64_t stored = context.tensor(pair.scales[0]).elements;
  if (stored != (found.swizzled ? grid.stored_scales() : grid.grid_rows * grid.grid_cols)) {
    refuse(pair, context, Errc::scale_shape_mismatch,
           "has no scale by " + std::to_string(group) + " columns: " + described(context.tensor(pair.scales[0])));
  }
}

// NVFP4Tensor's second scale, which it may do without.
void multiply_by_tensor_scale(const ResolveContext& context, Pair& pair) {
  pair.global_scale = context.companion(pair, "._weight_per_tensor_scale");
  if (pair.global_scale == kNoTensor) return;
  const std::vector<float>* const global = context.values.global_scale(pair.global_scale);
  if (!global || global->size() != 1)
    refuse(pair, context, Errc::scale_shape_mismatch,
           "has no single scale for the whole tensor: " + described(context.tensor(pair.global_scale)));
}

}  // namespace

void resolve_torchao(const ResolveContext& context, Pair& pair) {
  const Tensor& payload = context.tensor(pair.weight);
  pair.output_name = stem(payload.name, "._weight_qdata") + ".weight";
  const auto found = class_of(context, pair.output_name);
  if (!found) {
    return refuse(
        pair, context, Errc::scheme_unsupported,
        "is torchao's, but the metadata key " + pair.output_name + ", which names its tensor class, is missing");
  }
  if (found->type == "Float8Tensor") return resolve_grid(context, pair);
  if (found->type == "Int8Tensor" || found->type == "IntxUnpackedToInt8Tensor") return resolve_integers(context, pair);
  if (found->type == "MXTensor") return resolve_micro(context, *found, found->block == 0 ? 32 : found->block, pair);
  if (found->type == "NVFP4Tensor") {
    resolve_micro(context, *found, found->block == 0 ? 16 : found->block, pair);
    pair.scale_dtype = Dtype::F8_E4M3;
    return multiply_by_tensor_scale(context, pair);
  }
  refuse(pair, context, Errc::scheme_unsupported,
         "is torchao's " + found->type + ", whose layout this version does not undo");
}

}  // namespace wb
