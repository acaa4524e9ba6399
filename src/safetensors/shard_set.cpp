#include "safetensors/shard_set.h"

#include <algorithm>
#include <unordered_map>

namespace wb {
namespace {

constexpr uint32_t kNotHere = UINT32_MAX;
constexpr size_t kMissingNamesMax = 10;

// Sources may be named with their folder; an index never does.
std::string_view base_name(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string counted(uint64_t n, const std::string& one) { return std::to_string(n) + " " + one + (n == 1 ? "" : "s"); }

}  // namespace

std::string NameList::text(size_t names_max) const {
  std::string all;
  const size_t shown = std::min(names.size(), names_max);
  for (size_t i = 0; i < shown; ++i) all += (i ? ", `" : "`") + names[i] + "`";
  return count > shown ? all + " and " + std::to_string(count - shown) + " more" : all;
}

uint64_t ShardSet::missing_tensors() const {
  uint64_t count = 0;
  for (const MissingShard& each : missing) count += each.tensors.count;
  return count;
}

ShardSet check_set(ShardIndex&& index, const Inventory& inventory, bool whole) {
  ShardSet set;
  set.index = index.name;
  set.whole = whole;
  set.shards = index.files.size();
  set.tensors = index.size();
  set.total_size = index.total_size;
  for (const Tensor& tensor : inventory.tensors) set.data_bytes += tensor.bytes();

  std::unordered_map<std::string_view, uint32_t> file_of_name;
  for (uint32_t i = 0; i < index.files.size(); ++i) file_of_name.emplace(index.files[i], i);
  std::vector<uint32_t> source_of_file(index.files.size(), kNotHere);
  for (uint32_t i = 0; i < inventory.sources.size(); ++i) {
    const auto at = file_of_name.find(base_name(inventory.sources[i].name));
    if (at == file_of_name.end()) {
      set.extra.add(inventory.sources[i].name);
    } else {
      source_of_file[at->second] = i;
      ++set.opened;
    }
  }

  std::vector<uint32_t> missing_of_file(index.files.size(), kNotHere);
  for (uint32_t i = 0; i < index.files.size(); ++i) {
    if (source_of_file[i] != kNotHere) continue;
    missing_of_file[i] = static_cast<uint32_t>(set.missing.size());
    set.missing.push_back({index.files[i], {}});
  }
  std::vector<uint8_t> listed(inventory.tensors.size(), 0);
  index.keep([&](size_t i) {
    const int64_t at = inventory.find_index(index.tensor(i));
    const uint32_t source = source_of_file[index.file(i)];
    if (at >= 0) {
      listed[static_cast<size_t>(at)] = 1;
      if (inventory.tensors[static_cast<size_t>(at)].source != source) set.wrong_shard.add(index.tensor(i));
      return false;
    }
    if (source == kNotHere) {
      // A few names a shard: 10,000 shards may be missing.
      set.missing[missing_of_file[index.file(i)]].tensors.add(index.tensor(i), kMissingNamesMax);
    } else {
      set.phantom.add(index.tensor(i));
    }
    return true;
  });
  for (size_t i = 0; i < listed.size(); ++i) {
    if (!listed[i]) set.unlisted.add(inventory.tensors[i].name);
  }
  set.elsewhere = std::move(index);
  return set;
}

std::optional<Error> set_refusal(const ShardSet& set) {
  if (!set.whole) return std::nullopt;
  if (set.wrong_shard.count > 0) {
    return Error{Errc::tensor_wrong_shard, set.wrong_shard.names[0],
                 counted(set.wrong_shard.count, "tensor") + " not in the shard that " + set.index +
                     " names, but in another: " + set.wrong_shard.text() +
                     ". The index belongs to another cut of this model"};
  }
  if (set.missing.empty()) return std::nullopt;
  std::string files;
  constexpr size_t kFilesMax = 20;
  for (size_t i = 0; i < set.missing.size() && i < kFilesMax; ++i) files += (i ? ", " : "") + set.missing[i].file;
  if (set.missing.size() > kFilesMax) files += " and " + std::to_string(set.missing.size() - kFilesMax) + " more";
  NameList lost;
  for (const MissingShard& each : set.missing) {
    for (const std::string& name : each.tensors.names) lost.add(name);
  }
  lost.count = set.missing_tensors();
  return Error{Errc::shard_missing, set.missing[0].file,
               std::to_string(set.missing.size()) + " of " + counted(set.shards, "shard") +
                   (set.missing.size() == 1 ? " is" : " are") + " not here: " + files + ". " +
                   counted(lost.count, "tensor") + " that " + set.index +
                   (lost.count == 1 ? " lists stands" : " lists stand") + " nowhere else" +
                   (lost.count == 0 ? "" : ": " + lost.text())};
}

std::vector<Error> set_warnings(const ShardSet& set) {
  std::vector<Error> list;
  if (!set.whole && set.opened < set.shards) {
    list.push_back(
        {Errc::part_of_set, set.index,
         std::to_string(set.opened) + " of the " + std::to_string(set.shards) + " shards opened, without the others"});
  }
  if (!set.whole && set.wrong_shard.count > 0) {
    list.push_back({Errc::tensor_wrong_shard, set.wrong_shard.names[0],
                    set.index + " places in other files: " + set.wrong_shard.text()});
  }
  for (const std::string& name : set.extra.names)
    list.push_back({Errc::shard_extra, name, name + " is not named by " + set.index + ", but was opened with the set"});
  if (set.phantom.count > 0) {
    list.push_back({Errc::tensor_missing, set.phantom.names[0],
                    "in " + set.index + " but in no file: " + set.phantom.text(NameList::kNamesMax)});
  }
  if (set.unlisted.count > 0 && set.extra.count == 0) {
    list.push_back({Errc::tensor_unlisted, set.unlisted.names[0],
                    counted(set.unlisted.count, "tensor") + " that " + set.index +
                        " does not list: " + set.unlisted.text() + "; loaders that go by it leave them out"});
  }
  const bool complete = set.whole && set.missing.empty();
  if (complete && set.total_size && *set.total_size != set.data_bytes) {
    list.push_back({Errc::total_size_wrong, set.index,
                    set.index + " states a total_size of " + std::to_string(*set.total_size) +
                        " bytes, the shards hold " + std::to_string(set.data_bytes)});
  }
  return list;
}

}  // namespace wb
