#include "quant/values.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernel.h"
#include "quant/rules.h"

namespace wb {
namespace {

constexpr std::string_view kComfyQuant = ".comfy_quant";

bool named_like_a_scale(std::string_view name) {
  const auto rules = scale_rules();
  return std::any_of(rules.begin(), rules.end(),
                     [name](const ScaleRule& rule) { return ends_with(name, rule.suffix); });
}

bool named_like_a_global_scale(std::string_view name) {
  return ends_with(name, ".weight_scale_2") || ends_with(name, ".weight_global_scale");
}

bool describes_a_payload(const Tensor& tensor) {
  return tensor.elements <= kInlineElements &&
         (ends_with(tensor.name, ".weight_shape") || ends_with(tensor.name, ".weight_format"));
}

// Little-endian integers of 1, 4 or 8 bytes, taken as unsigned.
Shape integers_of(const Tensor& tensor, ByteView bytes) {
  const size_t width = dtype_info(tensor.dtype).bits / 8;
  Shape integers;
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    integers.push_back(width == 8   ? load_le<uint64_t>(&bytes[at])
                       : width == 4 ? load_le<uint32_t>(&bytes[at])
                                    : bytes[at]);
  }
  return integers;
}

bool wants(const Tensor& tensor) {
  if (tensor.missing_bytes != 0 || !tensor.unknown_dtype.empty() || tensor.bytes() == 0) return false;
  if (tensor.bytes() > kSmallTensorBytes) return false;
  if (tensor.dtype == Dtype::BOOL || ends_with(tensor.name, kComfyQuant) || describes_a_payload(tensor)) return true;
  return named_like_a_scale(tensor.name) || named_like_a_global_scale(tensor.name) ||
         (tensor.elements <= kInlineElements && dtype_info(tensor.dtype).is_float);
}

}  // namespace

void ScaleStats::add(const float* values, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const float value = values[i];
    if (std::isnan(value)) {
      ++nan;
      continue;
    }
    min = numbers_ == 0 ? value : std::min(min, value);
    max = numbers_ == 0 ? value : std::max(max, value);
    ++numbers_;
    zero += value == 0;
    negative += value < 0;
    infinite += std::isinf(value);
  }
  read += n;
}

float ScaleStats::largest_magnitude() const { return std::max(std::fabs(min), std::fabs(max)); }

std::vector<uint32_t> SmallValues::wanted(const Inventory& inventory) {
  std::vector<uint32_t> indices;
  uint64_t total_bytes = 0;
  for (uint32_t i = 0; i < inventory.tensors.size(); ++i) {
    const Tensor& tensor = inventory.tensors[i];
    if (!wants(tensor) || total_bytes + tensor.bytes() > kSmallTotalBytes) continue;
    total_bytes += tensor.bytes();
    indices.push_back(i);
  }
  return indices;
}

void SmallValues::take(const Inventory& inventory, uint32_t index, ByteView bytes, std::vector<Error>& warnings) {
  const Tensor& tensor = inventory.tensors[index];
  if (ends_with(tensor.name, kComfyQuant)) {
    auto marker = parse_comfy_quant(tensor.name, bytes);
    if (!marker) return warnings.push_back(std::move(marker.error()));
    markers[tensor.name.substr(0, tensor.name.size() - kComfyQuant.size())] = std::move(*marker);
    return;
  }
  if (describes_a_payload(tensor) && !dtype_info(tensor.dtype).is_float) {
    integers_[index] = integers_of(tensor, bytes);
    return;
  }
  if (tensor.dtype == Dtype::BOOL) {
    const auto odd = std::count_if(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte > 1; });
    if (odd > 0) {
      warnings.push_back(
          {Errc::bool_not_canonical, tensor.name,
           "`" + tensor.name + "` is BOOL, but " + std::to_string(odd) + " of its bytes are neither 0 nor 1"});
    }
    return;
  }
  std::vector<float> values(static_cast<size_t>(tensor.elements));
  if (!kernels::widen_scales(tensor.dtype, bytes.data(), values.size(), values.data())) return;
  if (named_like_a_scale(tensor.name) || named_like_a_global_scale(tensor.name))
    scales_[index].add(values.data(), values.size());
  if (named_like_a_global_scale(tensor.name) && values.size() <= kGlobalScales) global_[index] = values;
  if (values.size() <= kInlineElements && tensor.dtype != Dtype::U8) inline_[index] = std::move(values);
}

const ScaleStats* SmallValues::scale(uint32_t tensor) const {
  const auto at = scales_.find(tensor);
  return at == scales_.end() ? nullptr : &at->second;
}

const std::vector<float>* SmallValues::global_scale(uint32_t tensor) const {
  const auto at = global_.find(tensor);
  return at == global_.end() ? nullptr : &at->second;
}

const Shape* SmallValues::integers(uint32_t tensor) const {
  const auto at = integers_.find(tensor);
  return at == integers_.end() ? nullptr : &at->second;
}

const std::vector<float>* SmallValues::inline_values(uint32_t tensor) const {
  const auto at = inline_.find(tensor);
  return at == inline_.end() ? nullptr : &at->second;
}

}  // namespace wb
