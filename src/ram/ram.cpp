#include "ram/ram.h"

#include <algorithm>

namespace wb {
namespace {

constexpr uint64_t kF32Bytes = 4;
constexpr uint64_t kHalfBytes = 2;

// Quantized weights widened to `bytes_each`, everything else as stored; the scales are consumed.
uint64_t dequantized_bytes(const WeightSums& sums, uint64_t bytes_each) {
  return sums.quantized * bytes_each + sums.other_bytes;
}

// `weight.float() * scale` for the whole state dict, cast to bf16 later. `out = dict(sd)` keeps the
// file's tensors alive until the function returns, so the peak holds both.
LoaderTimeline whole_model_f32(const WeightSums& sums) {
  const uint64_t f32 = dequantized_bytes(sums, kF32Bytes);
  const uint64_t bf16 = dequantized_bytes(sums, kHalfBytes);
  LoaderTimeline timeline;
  timeline.stages = {{"file_read", {{"file", sums.file_bytes}}},
                     {"dequantized_f32", {{"float32_weights", f32}}},
                     {"cast_to_bf16", {{"bf16_weights", bf16}}}};
  timeline.peak = {"peak", {{"file", sums.file_bytes}, {"float32_weights", f32}}};
  timeline.steady_bytes = bf16;
  return timeline;
}

// The fix: multiply in float32 one tensor at a time and store bf16 at once. Two float32 temporaries of
// the largest tensor live for a moment beside source and result.
LoaderTimeline per_tensor_bf16(const WeightSums& sums) {
  const uint64_t bf16 = dequantized_bytes(sums, kHalfBytes);
  LoaderTimeline timeline;
  timeline.stages = {{"file_read", {{"file", sums.file_bytes}}}, {"dequantized_bf16", {{"bf16_weights", bf16}}}};
  timeline.peak = {"peak", {{"file", sums.file_bytes}, {"bf16_weights", bf16}}};
  timeline.steady_bytes = bf16;
  return timeline;
}

// The quantized weights stay as they are and are widened layer by layer while they are used.
LoaderTimeline keep_quantized(const WeightSums& sums) {
  LoaderTimeline timeline;
  timeline.stages = {{"file_read", {{"file", sums.file_bytes}}}};
  timeline.peak = {"peak", {{"file", sums.file_bytes}, {"one_layer_bf16", sums.largest_quantized * kHalfBytes}}};
  timeline.steady_bytes = sums.file_bytes;
  return timeline;
}

struct Loader {
  std::string_view id;
  std::string_view title;
  std::string_view source;
  LoaderTimeline (*timeline)(const WeightSums&);
};

// One row per way of loading; the formulas are derived in docs/ram.md.
constexpr Loader kLoaders[] = {
    {"invokeai_before_fix", "InvokeAI before the fix: the whole model in float32, cast later",
     "invoke-ai/InvokeAI PR 9429, krea2.py before it", whole_model_f32},
    {"invokeai_after_fix", "InvokeAI after the fix: each tensor straight to bf16",
     "invoke-ai/InvokeAI PR 9429, krea2.py _dequantize_scaled_fp8", per_tensor_bf16},
    {"keep_quantized", "Kept quantized, widened layer by layer (ComfyUI)", "Comfy-Org/ComfyUI comfy/ops.py",
     keep_quantized},
};

}  // namespace

WeightSums weight_sums(const Inventory& inventory, const Pairing& pairing) {
  WeightSums sums;
  for (uint32_t i = 0; i < inventory.tensors.size(); ++i) {
    const Tensor& tensor = inventory.tensors[i];
    sums.file_bytes += tensor.bytes();
    if (pairing.roles[i] == Role::weight) {
      const Pair& pair = pairing.pairs[static_cast<size_t>(pairing.pair_of[i])];
      if (pair.scheme == "scaled_float") {
        sums.other_bytes += tensor.bytes();
        sums.other_floats += tensor.elements;
        sums.parameters += tensor.elements;
        continue;
      }
      const uint64_t elements = pair.parameters(inventory);
      sums.quantized += elements;
      sums.parameters += elements;
      sums.largest_quantized = std::max(sums.largest_quantized, elements);
    } else if (pairing.roles[i] == Role::parameter) {
      sums.other_bytes += tensor.bytes();
      sums.parameters += tensor.elements;
      (dtype_info(tensor.dtype).is_float ? sums.other_floats : sums.other_rest_bytes) +=
          dtype_info(tensor.dtype).is_float ? tensor.elements : tensor.bytes();
    }
  }
  return sums;
}

uint64_t bytes_as(const WeightSums& sums, uint64_t bytes_per_float) {
  return (sums.quantized + sums.other_floats) * bytes_per_float + sums.other_rest_bytes;
}

uint64_t MemoryStage::total_bytes() const {
  uint64_t total = 0;
  for (const MemoryTerm& term : terms) total += term.bytes;
  return total;
}

std::vector<LoaderTimeline> loader_timelines(const WeightSums& sums) {
  std::vector<LoaderTimeline> timelines;
  for (const Loader& row : kLoaders) {
    LoaderTimeline timeline = row.timeline(sums);
    timeline.loader = row.id;
    timeline.title = row.title;
    timeline.source = row.source;
    timelines.push_back(std::move(timeline));
  }
  return timelines;
}

}  // namespace wb
