// Rules: what a tensor's name may mean. Tables, not code; a name proposes, dtypes and shapes decide.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dtype/dtype.h"

namespace wb {

/// What a tensor is for. `parameter` and `weight` count as parameters, nothing else does.
enum class Role : uint8_t { parameter, weight, scale, activation_scale, kv_scale, marker, auxiliary };

std::string_view role_name(Role role);

/// A weight scale's name: the weight is the name with `suffix` replaced by `target`.
struct ScaleRule {
  std::string_view suffix;
  std::string_view target;
  /// The spelling means a weight scale and nothing else: without its weight it is an orphan. The others
  /// (`.scale`, `_scale`) are also genuine parameters and count only beside a quantized weight.
  bool unmistakable;
};
std::span<const ScaleRule> scale_rules();

/// Names of tensors that never touch a weight.
struct AuxiliaryRule {
  std::string_view suffix;
  Role role;
};
std::span<const AuxiliaryRule> auxiliary_rules();

/// A fused projection by the last word of its name, and how many parts it has.
struct FusedRule {
  std::string_view name;
  uint64_t parts;
};
uint64_t fused_parts(std::string_view weight_name);

using DtypeSet = uint32_t;
constexpr DtypeSet dtype_bit(Dtype dtype) { return DtypeSet{1} << static_cast<uint8_t>(dtype); }

/// A packed payload, recognised by its own dtype and a companion tensor on the same stem.
struct PackedRule {
  std::string_view scheme;      ///< id of a row of schemes()
  std::string_view payload;     ///< suffix of the payload; the stem is what stands before it
  DtypeSet dtypes;              ///< of the payload
  std::string_view needs;       ///< suffix of a companion that must be there; empty: the dtype suffices
  DtypeSet needs_dtypes;        ///< of that companion; 0: any
  uint32_t per_element;         ///< logical weights in one stored element
  std::string_view companions;  ///< suffixes, separated by spaces, that belong to the payload
};
std::span<const PackedRule> packed_rules();

/// A way of storing weights, by the name the product uses for it everywhere.
struct Scheme {
  std::string_view id;
  std::string_view title;
  bool supported;
  /// Tools of this scheme also multiply in the compute dtype: the recipe target-mul-rne is offered (docs/formats.md).
  bool target_recipe;
  std::string_view formula;
};
std::span<const Scheme> schemes();
const Scheme& scheme(std::string_view id);

/// The scheme that a marker's format names; empty when the marker describes plain fp8.
std::string_view scheme_of_marker(std::string_view format);

// Asked of every name for every rule, so one character decides nearly always.
inline bool ends_with(std::string_view text, std::string_view suffix) {
  if (suffix.empty()) return true;
  return text.size() >= suffix.size() && text[text.size() - suffix.size()] == suffix.front() && text.ends_with(suffix);
}

/// What stands before a suffix that the name is known to end with.
inline std::string stem(std::string_view name, std::string_view suffix) {
  return std::string(name.substr(0, name.size() - suffix.size()));
}

/// The layer that markers name: the weight's name without a last ".weight".
std::string_view layer_of(std::string_view weight_name);

}  // namespace wb
