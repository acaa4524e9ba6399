// ShardIndex: model.safetensors.index.json, which says in what file of a set each tensor stands. Parsed
// strictly: it comes from the same stranger as the shards, and loaders open the files that it names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace wb {

/// Bytes of an index. The largest known one has about 60,000,000 (497,000 tensors).
inline constexpr uint64_t kIndexBytesMax = 100'000'000;
/// Files that an index may name; the same as @huggingface/hub's.
inline constexpr size_t kShardsMax = 10'000;

class ShardIndex {
 public:
  std::string name;                ///< of the index file
  std::vector<std::string> files;  ///< that it names, each once, in the order of the text
  std::optional<uint64_t> total_size;
  std::vector<Error> warnings;

  size_t size() const { return entries_.size(); }
  std::string_view tensor(size_t i) const {
    return std::string_view(names_).substr(entries_[i].begin, entries_[i].length);
  }
  /// Index into `files`.
  uint32_t file(size_t i) const { return entries_[i].file; }

  /// The entry of this tensor, or -1. O(log entries); needs sort.
  int64_t find(std::string_view tensor) const;

  void add(std::string_view tensor, uint32_t file);
  /// By tensor name. The first name that stands twice, or nothing.
  std::optional<std::string_view> sort();
  /// Forgets the entries for which `wanted(i)` is false.
  template <class Wanted>
  void keep(Wanted&& wanted) {
    ShardIndex kept;
    for (size_t i = 0; i < size(); ++i) {
      if (wanted(i)) kept.add(tensor(i), file(i));
    }
    names_ = std::move(kept.names_);
    entries_ = std::move(kept.entries_);
  }

 private:
  struct Entry {
    uint32_t begin = 0;  // in names_; one string, since 500,000 of their own would take twice the memory
    uint32_t length = 0;
    uint32_t file = 0;
  };
  std::string names_;
  std::vector<Entry> entries_;
};

/// A name that can only be a file in the index's own folder.
bool is_plain_file_name(std::string_view name);

/// Reads an index. Errc: index_not_json, index_too_large, index_bad_path, duplicate_tensor, too_many_tensors.
Result<ShardIndex> parse_shard_index(const std::string& name, ByteView text);

}  // namespace wb
