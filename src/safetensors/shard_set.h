// ShardSet: what an index promises against what the opened files hold. The headers are believed, the
// index is the truth only about which files belong together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "safetensors/inventory.h"
#include "safetensors/shard_index.h"

namespace wb {

/// A count, and the first of the names.
struct NameList {
  static constexpr size_t kNamesMax = 100;
  uint64_t count = 0;
  std::vector<std::string> names;

  void add(std::string_view name, size_t names_max = kNamesMax) {
    ++count;
    if (names.size() < names_max) names.emplace_back(name);
  }
  /// "`a`, `b` and 3 more"
  std::string text(size_t names_max = 8) const;
};

struct MissingShard {
  std::string file;
  NameList tensors;  ///< that stand nowhere else
};

struct ShardSet {
  std::string index;  ///< name of the index file
  bool whole = true;  ///< false: some shards were opened on purpose, the rest is only known of
  uint64_t shards = 0;
  uint64_t opened = 0;
  uint64_t tensors = 0;  ///< that the index lists
  std::optional<uint64_t> total_size;
  uint64_t data_bytes = 0;  ///< of the opened files' tensors
  std::vector<MissingShard> missing;
  NameList extra;        ///< opened files that the index does not name
  NameList phantom;      ///< tensors that the index lists and their shard, though here, does not hold
  NameList unlisted;     ///< tensors that the index does not list
  NameList wrong_shard;  ///< tensors in another shard than the index says
  ShardIndex elsewhere;  ///< the entries of tensors that no opened file holds

  uint64_t missing_tensors() const;
};

/// Compares; `index` is used up. O(tensors log tensors).
ShardSet check_set(ShardIndex&& index, const Inventory& inventory, bool whole);

/// Why a set must not be taken for a whole model. Errc: tensor_wrong_shard, shard_missing.
std::optional<Error> set_refusal(const ShardSet& set);

/// What is worth a warning.
std::vector<Error> set_warnings(const ShardSet& set);

}  // namespace wb
