#include "readers/facts.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace wb {
namespace {

constexpr FactText kFactTexts[] = {
    {Fact::layer_marker, "a marker names the layer", "no marker names the layer"},
    {Fact::legacy_marker, "the file has the scaled_fp8 marker", "no scaled_fp8 marker"},
    {Fact::per_tensor, "one scale per tensor", "not one scale per tensor"},
    {Fact::per_row, "one scale per row", "not one scale per row"},
    {Fact::grouped, "one scale per group or block", "no groups or blocks"},
    {Fact::flat_scale, "the scales are a list of one dimension", "the scales have more than one dimension"},
    {Fact::ragged, "the last block is cut off", "the blocks fit exactly"},
    {Fact::square, "as many rows as columns", "not as many rows as columns"},
    {Fact::exponent, "the scales are exponents (E8M0)", "the scales are no bare exponents"},
    {Fact::tiled, "the scales lie in tiles", "the scales do not lie in tiles"},
    {Fact::e5m2, "the codes are e5m2", "the codes are not e5m2"},
    {Fact::lost_scale, "its scale is missing", "no scale is missing"},
    {Fact::three_bits, "3 bits", "not 3 bits"},
    {Fact::group_index, "a g_idx beside it", "no g_idx beside it"},
    {Fact::norm_or_time, "\"norm\" or \"time_embed\" in the name", "neither \"norm\" nor \"time_embed\" in the name"},
};

bool is_exponent(const Inventory& inventory, const Pair& pair) {
  if (pair.scales.empty()) return false;
  const Tensor& scale = inventory.tensors[pair.scales.front()];
  return pair.scale_dtype == Dtype::F8_E8M0 || scale.dtype == Dtype::F8_E8M0;
}

FactSet shape_facts(const Inventory& inventory, const Pair& pair) {
  FactSet facts = 0;
  const auto say = [&facts](Fact fact, bool is) { facts |= is ? fact_bit(fact) : 0; };
  const Grid& grid = pair.grid;
  say(Fact::per_tensor, pair.granularity == Granularity::per_tensor);
  say(Fact::per_row, pair.granularity == Granularity::per_row);
  say(Fact::grouped, pair.granularity == Granularity::group || pair.granularity == Granularity::block);
  say(Fact::ragged, (grid.group_rows != 0 && grid.batch_rows % grid.group_rows != 0) ||
                        (grid.group_cols != 0 && grid.cols % grid.group_cols != 0));
  say(Fact::square, grid.rows == grid.cols && grid.rows != 0);
  say(Fact::tiled, grid.swizzled);
  if (pair.scales.empty()) return facts;
  const Tensor& scale = inventory.tensors[pair.scales.front()];
  say(Fact::flat_scale, scale.shape.size() == 1 && scale.elements > 1);
  return facts;
}

FactSet facts_of(const Inventory& inventory, const Pair& pair, const QuantConfig& config) {
  FactSet facts = shape_facts(inventory, pair);
  const auto say = [&facts](Fact fact, bool is) { facts |= is ? fact_bit(fact) : 0; };
  const auto evident = [&pair](Evidence evidence) { return (pair.evidence & evidence_bit(evidence)) != 0; };
  const std::string& name = inventory.tensors[pair.weight].name;
  say(Fact::layer_marker, evident(Evidence::quantization_metadata) || evident(Evidence::comfy_quant));
  say(Fact::legacy_marker, evident(Evidence::scaled_fp8_marker));
  say(Fact::exponent, is_exponent(inventory, pair));
  say(Fact::e5m2, pair.codec == Codec::F8_E5M2);
  say(Fact::lost_scale, pair.has(Errc::scale_missing));
  say(Fact::three_bits, config.bits == std::optional<uint64_t>(3));
  const size_t dot = name.rfind('.');
  say(Fact::group_index, dot != std::string::npos && inventory.find(name.substr(0, dot) + ".g_idx") != nullptr);
  say(Fact::norm_or_time, name.find("norm") != std::string::npos || name.find("time_embed") != std::string::npos);
  return facts;
}

// How the scale that is used is spelled.
std::string_view scale_suffix(const Inventory& inventory, const Pair& pair) {
  if (pair.scales.empty()) return {};
  const std::string& name = inventory.tensors[pair.scales.front()].name;
  for (const ScaleRule& rule : scale_rules()) {
    if (ends_with(name, rule.suffix)) return rule.suffix;
  }
  return {};
}

}  // namespace

std::span<const FactText> fact_texts() { return kFactTexts; }

std::vector<WeightKind> weight_kinds(const Inventory& inventory, const Pairing& pairing, const QuantConfig& config) {
  std::map<std::tuple<std::string_view, std::string_view, FactSet>, size_t> known;
  std::vector<WeightKind> kinds;
  const auto count = [&](std::string_view scheme, std::string_view scale, FactSet facts, uint32_t weight) {
    const auto [at, is_new] = known.try_emplace({scheme, scale, facts}, kinds.size());
    if (is_new) kinds.push_back({scheme, scale, facts, 0, weight});
    ++kinds[at->second].weights;
  };
  for (const Pair& pair : pairing.pairs) {
    if (pair.weight == kNoTensor) continue;
    count(pair.scheme, scale_suffix(inventory, pair), facts_of(inventory, pair, config), pair.weight);
  }
  if (!kinds.empty()) return kinds;
  for (uint32_t i = 0; i < inventory.tensors.size(); ++i) {
    if (pairing.roles[i] == Role::parameter) count(kPlainScheme, {}, 0, i);
  }
  return kinds;
}

bool has_word(std::string_view words, std::string_view word) {
  for (size_t begin = 0; begin < words.size();) {
    const size_t end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace wb
