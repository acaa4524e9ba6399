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
  return ends_with(name, ".weight_scale_2") || ends_with(name, ".weight_global_scale") ||
         ends_with(name, "._weight_per_tensor_scale");
}

// Small tensors that say how a payload is read, rather than what it is multiplied by.
enum class Content : uint8_t { integers, table, text };
struct Description {
  std::string_view suffix;
  Content content;
  uint64_t elements_max;
};
constexpr Description kDescriptions[] = {
    {".weight_shape", Content::integers, kInlineElements},   // compressed-tensors
    {".weight_format", Content::integers, kInlineElements},  // LLM.int8
    {".quant_state.bitsandbytes__nf4", Content::text, 4096},
    {".quant_state.bitsandbytes__fp4", Content::text, 4096},
    {".quant_map", Content::table, 16},
    {".nested_quant_map", Content::table, 256},
    {".weight_codebook", Content::table, 16},  // ComfyUI
    {".nbits", Content::integers, 1},          // HQQ, from here on
    {".group_size", Content::integers, 1},
    {".axis", Content::integers, 1},
    {".shape", Content::integers, kInlineElements},
    {".view_as_float", Content::integers, 1},
    {".quant_scale", Content::integers, 1},
    {".quant_zero", Content::integers, 1},
    {".packing", Content::text, 64},
};

const Description* description_of(const Tensor& tensor) {
  for (const Description& row : kDescriptions) {
    if (!ends_with(tensor.name, row.suffix) || tensor.elements > row.elements_max) continue;
    if (dtype_info(tensor.dtype).is_float == (row.content == Content::table)) return &row;
  }
  return nullptr;
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

bool wants(const Tensor& tensor, uint64_t scale_bytes_max) {
  if (tensor.missing_bytes != 0 || !tensor.unknown_dtype.empty() || tensor.bytes() == 0) return false;
  if (tensor.bytes() > kSmallTensorBytes) return false;
  if (tensor.dtype == Dtype::BOOL || ends_with(tensor.name, kComfyQuant) || description_of(tensor)) return true;
  return (named_like_a_scale(tensor.name) && tensor.bytes() <= scale_bytes_max) ||
         named_like_a_global_scale(tensor.name) ||
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

std::vector<uint32_t> SmallValues::wanted(const Inventory& inventory, uint64_t scale_bytes_max) {
  std::vector<uint32_t> indices;
  uint64_t total_bytes = 0;
  for (uint32_t i = 0; i < inventory.tensors.size(); ++i) {
    const Tensor& tensor = inventory.tensors[i];
    if (!wants(tensor, scale_bytes_max) || total_bytes + tensor.bytes() > kSmallTotalBytes) continue;
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
  const Description* const description = description_of(tensor);
  if (description && description->content == Content::integers) {
    integers_[index] = integers_of(tensor, bytes);
    return;
  }
  if (description && description->content == Content::text) {
    texts_[index].assign(bytes.begin(), bytes.end());
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
  if (description) tables_[index] = values;
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

const std::vector<float>* SmallValues::table(uint32_t tensor) const {
  const auto at = tables_.find(tensor);
  return at == tables_.end() ? nullptr : &at->second;
}

const std::string* SmallValues::text(uint32_t tensor) const {
  const auto at = texts_.find(tensor);
  return at == texts_.end() ? nullptr : &at->second;
}

const std::vector<float>* SmallValues::inline_values(uint32_t tensor) const {
  const auto at = inline_.find(tensor);
  return at == inline_.end() ? nullptr : &at->second;
}

}  // namespace wb
