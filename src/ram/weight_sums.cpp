#include "ram/weight_sums.h"

#include <algorithm>

namespace wb {
namespace {

constexpr SumField kSumFields[] = {
    {"stored_bytes", &WeightSums::stored_bytes},
    {"parameters", &WeightSums::parameters},
    {"quantized", &WeightSums::quantized},
    {"quantized_bytes", &WeightSums::quantized_bytes},
    {"largest_quantized", &WeightSums::largest_quantized},
    {"largest_tensor_bytes", &WeightSums::largest_tensor_bytes},
    {"largest_tensor_floats", &WeightSums::largest_tensor_floats},
    {"others_bytes", &WeightSums::others_bytes},
    {"others_bf16", &WeightSums::others_bf16},
    {"others_f16", &WeightSums::others_f16},
    {"others_f32", &WeightSums::others_f32},
    {"others_wider", &WeightSums::others_wider},
    {"others_narrow", &WeightSums::others_narrow},
    {"others_integers", &WeightSums::others_integers},
    {"expanded_scales", &WeightSums::expanded_scales},
};

constexpr HeldAsName kHeldAs[] = {{HeldAs::stored, "as_stored", 0},
                                  {HeldAs::bf16, "bf16", 2},
                                  {HeldAs::f16, "f16", 2},
                                  {HeldAs::f32, "f32", 4},
                                  {HeldAs::fp8, "fp8", 1}};

uint64_t WeightSums::*floats_member(Dtype dtype) {
  switch (dtype) {
    case Dtype::BF16: return &WeightSums::others_bf16;
    case Dtype::F16: return &WeightSums::others_f16;
    case Dtype::F32: return &WeightSums::others_f32;
    case Dtype::F64: return &WeightSums::others_wider;
    default: return &WeightSums::others_narrow;
  }
}

void add_other(WeightSums& sums, const Tensor& tensor) {
  sums.others_bytes += tensor.bytes();
  sums.parameters += tensor.elements;
  if (!dtype_info(tensor.dtype).is_float) {
    sums.others_integers += tensor.bytes();
    return;
  }
  sums.*floats_member(tensor.dtype) += tensor.elements;
  sums.largest_tensor_floats = std::max(sums.largest_tensor_floats, tensor.elements);
}

void add_quantized(WeightSums& sums, const Tensor& tensor, const Pair& pair, uint64_t elements) {
  sums.quantized += elements;
  sums.quantized_bytes += tensor.bytes();
  sums.parameters += elements;
  sums.largest_quantized = std::max(sums.largest_quantized, elements);
  sums.largest_tensor_floats = std::max(sums.largest_tensor_floats, elements);
  if (pair.granularity == Granularity::block || pair.granularity == Granularity::group)
    sums.expanded_scales = std::max(sums.expanded_scales, elements);
}

void add(WeightSums& sums, const Inventory& inventory, const Pairing& pairing, uint32_t index) {
  const Tensor& tensor = inventory.tensors[index];
  sums.stored_bytes += tensor.bytes();
  sums.largest_tensor_bytes = std::max(sums.largest_tensor_bytes, tensor.bytes());
  if (pairing.roles[index] == Role::parameter) return add_other(sums, tensor);
  if (pairing.roles[index] != Role::weight) return;
  const Pair& pair = pairing.pairs[static_cast<size_t>(pairing.pair_of[index])];
  // A float weight with a stale scale beside it is a parameter like any other.
  if (pair.scheme == "scaled_float") return add_other(sums, tensor);
  add_quantized(sums, tensor, pair, pair.parameters(inventory));
}

uint64_t stored_bytes_of(const WeightSums& sums, HeldAs dtype) {
  switch (dtype) {
    case HeldAs::bf16: return 2 * sums.others_bf16;
    case HeldAs::f16: return 2 * sums.others_f16;
    case HeldAs::f32: return 4 * sums.others_f32;
    case HeldAs::fp8: return 0;
    case HeldAs::stored: return sums.others_bytes - sums.others_integers;
  }
  return 0;
}

}  // namespace

std::span<const SumField> sum_fields() { return kSumFields; }
std::span<const HeldAsName> held_as_names() { return kHeldAs; }
const HeldAsName& held_as_info(HeldAs held_as) { return kHeldAs[static_cast<uint8_t>(held_as)]; }

CheckpointSums checkpoint_sums(const Inventory& inventory, const Pairing& pairing) {
  CheckpointSums sums;
  sums.files.resize(inventory.sources.size());
  for (uint32_t i = 0; i < inventory.tensors.size(); ++i) {
    add(sums.all, inventory, pairing, i);
    add(sums.files[inventory.tensors[i].source], inventory, pairing, i);
  }
  return sums;
}

uint64_t bytes_as(const WeightSums& sums, HeldAs held_as) {
  if (held_as == HeldAs::stored) return sums.stored_bytes;
  return (sums.quantized + sums.others_floats()) * held_as_info(held_as).bytes_per_float + sums.others_integers;
}

uint64_t others_kept(const WeightSums& sums, HeldAs held_as) {
  return sums.others_integers + stored_bytes_of(sums, held_as);
}

uint64_t others_cast(const WeightSums& sums, HeldAs held_as) {
  if (held_as == HeldAs::stored) return 0;
  const uint64_t width = held_as_info(held_as).bytes_per_float;
  return sums.others_floats() * width - stored_bytes_of(sums, held_as);
}

WeightSums converted(const WeightSums& sums, HeldAs to) {
  const uint64_t width = held_as_info(to).bytes_per_float;
  WeightSums result;
  result.parameters = sums.parameters;
  result.others_integers = sums.others_integers;
  result.stored_bytes = result.others_bytes = bytes_as(sums, to);
  const uint64_t floats = sums.quantized + sums.others_floats();
  (to == HeldAs::f32 ? result.others_f32 : to == HeldAs::f16 ? result.others_f16 : result.others_bf16) = floats;
  result.largest_tensor_floats = sums.largest_tensor_floats;
  result.largest_tensor_bytes = sums.largest_tensor_floats * width;
  return result;
}

}  // namespace wb
