#include "ram/activations.h"

namespace wb {
namespace {

// ComfyUI reserves area * bytes * 0.01 * factor MiB before it samples (comfy/model_base.py memory_required, with flash
// attention or PyTorch's); the factors stand in comfy/supported_models.py. Those of the other families depend on
// numbers of the model, or were not found.
struct Factor {
  std::string_view family;
  uint64_t tenths;
};
constexpr Factor kFactors[] = {{"qwen_image", 18}, {"z_image", 28}};

constexpr uint64_t kSide = 1024;
constexpr uint64_t kLatentStep = 8;
constexpr uint64_t kBf16Bytes = 2;
constexpr uint64_t kMib = 1024 * 1024;

}  // namespace

Activations activations(const ModelFacts& facts) {
  Activations result;
  for (const Factor& row : kFactors) {
    if (facts.family != row.family) continue;
    const uint64_t area = (kSide / kLatentStep) * (kSide / kLatentStep);
    result.bytes = area * kBf16Bytes * row.tenths * kMib / 1000;
    result.formula = std::to_string(area) + " latents x 2 bytes x 0.01 x " + std::to_string(row.tenths / 10) + "." +
                     std::to_string(row.tenths % 10) + " MiB, one image of 1024 x 1024";
    result.source = "Comfy-Org/ComfyUI comfy/model_base.py memory_required, comfy/supported_models.py";
    return result;
  }
  result.missing = "no published formula was found for " + (facts.family.empty() ? "this model" : facts.family);
  return result;
}

}  // namespace wb
