// NameTable: which of many names is this one? A table of hashes beside the names, which stay where they are.
//
// Pairing asks for some ten names a tensor, most of them absent, and names of one model share their first forty
// characters: a search through sorted names compares those again at each of its seventeen steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace wb {

/// XXH64.
uint64_t name_hash(std::string_view name, uint64_t seed);

class NameTable {
 public:
  /// Enters the names 0 .. count - 1, at most 2^30; `name_of(index)` must go on giving the same ones. Returns the first
  /// name that stood already, as (index of the other, its index), and enters all the same.
  template <class NameOf>
  std::optional<std::pair<uint32_t, uint32_t>> build(uint32_t count, NameOf&& name_of) {
    // The seed comes of the names: who makes them cannot also choose which of them collide.
    seed_ = 0;
    for (uint32_t i = 0; i < count; ++i) seed_ = name_hash(name_of(i), seed_);
    size_t slots = 8;
    while (slots < size_t{2} * count) slots *= 2;
    slots_.assign(slots, Slot{});
    std::optional<std::pair<uint32_t, uint32_t>> twice;
    for (uint32_t i = 0; i < count; ++i) {
      const std::string_view name = name_of(i);
      const uint64_t hash = name_hash(name, seed_);
      size_t at = place(hash, name, name_of);
      if (slots_[at].index != kNone && !twice) twice = {slots_[at].index, i};
      if (slots_[at].index == kNone) slots_[at] = {i, static_cast<uint32_t>(hash >> 32)};
    }
    return twice;
  }

  /// The index of `name`, or -1.
  template <class NameOf>
  int64_t find(std::string_view name, NameOf&& name_of) const {
    if (slots_.empty()) return -1;
    const Slot& slot = slots_[place(name_hash(name, seed_), name, name_of)];
    return slot.index == kNone ? -1 : int64_t{slot.index};
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Slot {
    uint32_t index = kNone;
    uint32_t tag = 0;  // the hash's upper half: names are compared only where it agrees
  };

  // Where this name stands, or the free slot where it would. At least half of the slots are free.
  template <class NameOf>
  size_t place(uint64_t hash, std::string_view name, NameOf&& name_of) const {
    const size_t mask = slots_.size() - 1;
    const auto tag = static_cast<uint32_t>(hash >> 32);
    size_t at = static_cast<size_t>(hash) & mask;
    while (slots_[at].index != kNone && (slots_[at].tag != tag || name_of(slots_[at].index) != name))
      at = (at + 1) & mask;
    return at;
  }

  uint64_t seed_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace wb
