#include "quant/lost_scales.h"

#include <algorithm>

namespace wb {
namespace {

bool is_missing(const ShardSet& set, const std::string& file) {
  return std::any_of(set.missing.begin(), set.missing.end(),
                     [&](const MissingShard& each) { return each.file == file; });
}

// "is in model-00002-of-00002.safetensors, which is not open"
std::string whereabouts(const ShardSet& set, int64_t entry) {
  const std::string& file = set.elsewhere.files[set.elsewhere.file(static_cast<size_t>(entry))];
  return is_missing(set, file) ? "is in " + file + ", which is not open"
                               : "should be in " + file + " by " + set.index + ", but that file does not hold it";
}

void renew(Pair& pair, Errc code, Error issue) {
  const auto replaced = [code](const Error& each) { return each.code == code || each.code == Errc::unscaled_fp8; };
  pair.issues.erase(std::remove_if(pair.issues.begin(), pair.issues.end(), replaced), pair.issues.end());
  pair.issues.push_back(std::move(issue));
}

// The scale that some rule would give this weight, in the index's list of what is not open.
void find_scale(const Inventory& inventory, const ShardSet& set, Pair& pair) {
  const std::string& weight = inventory.tensors[pair.weight].name;
  for (const ScaleRule& rule : scale_rules()) {
    if (!ends_with(weight, rule.target)) continue;
    const std::string scale = stem(weight, rule.target) + std::string(rule.suffix);
    const int64_t entry = set.elsewhere.find(scale);
    if (entry < 0) continue;
    return renew(pair, Errc::scale_missing,
                 {Errc::scale_missing, weight,
                  "`" + weight + "` has no scale here: `" + scale + "` " + whereabouts(set, entry)});
  }
}

}  // namespace

void name_lost_scales(const Inventory& inventory, const ShardSet& set, Pairing& pairing) {
  if (set.elsewhere.size() == 0) return;
  for (Pair& pair : pairing.pairs) {
    if (pair.weight != kNoTensor) {
      if (pair.scales.empty()) find_scale(inventory, set, pair);
      continue;
    }
    const int64_t entry = set.elsewhere.find(pair.expected_weight);
    if (entry < 0 || pair.scales.empty()) continue;
    renew(pair, Errc::scale_orphan,
          {Errc::scale_orphan, pair.expected_weight,
           "`" + inventory.tensors[pair.scales[0]].name + "` scales `" + pair.expected_weight + "`, which " +
               whereabouts(set, entry)});
  }
}

}  // namespace wb
