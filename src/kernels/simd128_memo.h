// Memo: the tables of scales seen lately. Formats with a group of 16 or 32 codes have few different scales (an
// NVFP4 tensor at most 254, an MX one mostly under 20), and a table costs as much as the codes it serves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace wb::kernels::simd128 {

/// A table's slot is the scale's exponent and its first MantissaBits bits, modulo 2^SlotBits. With four bits of
/// mantissa no two scales of an NVFP4 tensor, which are E4M3 numbers times one factor, share a slot:
///
///   f32  [s|e e e e e e e e|m m m m|m m m ...]
///                 `--- slot -------'
///
/// It outlives a call because a strip of these formats is one row long. Not for threads, which the core has none of.
template <class Table, int MantissaBits, int SlotBits>
class TableMemo {
 public:
  /// Looks tables up without asking whether they are there; that is known at the end, at no branch a table.
  class Reader {
   public:
    Reader(const TableMemo& memo, const float* scales) : memo_(memo), scales_(scales) {}
    __attribute__((always_inline)) const Table& operator()(size_t group) {
      const uint32_t bits = bit_cast<uint32_t>(scales_[group]);
      const size_t slot = slot_of(bits);
      missed_ |= memo_.keys_[slot] ^ bits;
      return memo_.tables_[slot];
    }
    bool missed() const { return missed_ != 0; }

   private:
    const TableMemo& memo_;
    const float* scales_;
    uint32_t missed_ = 0;
  };

  Reader reader(const float* scales) const { return {*this, scales}; }

  /// Builds what is missing; of two scales that share a slot the later one stays.
  template <class Build>
  void fill(const float* scales, size_t n, Build build) {
    for (size_t i = 0; i < n; ++i) {
      const uint32_t bits = bit_cast<uint32_t>(scales[i]);
      const size_t slot = slot_of(bits);
      if (keys_[slot] == bits) continue;
      tables_[slot] = build(scales[i]);
      keys_[slot] = bits;
    }
  }

 private:
  static constexpr int kShift = 23 - MantissaBits;
  static constexpr size_t kSlots = size_t{1} << SlotBits;
  static constexpr size_t slot_of(uint32_t bits) { return (bits >> kShift) % kSlots; }

  // An empty slot has a key that belongs to another one: 0, or in slot 0 a key of slot 1.
  std::array<uint32_t, kSlots> keys_{uint32_t{1} << kShift};
  std::array<Table, kSlots> tables_{};
};

}  // namespace wb::kernels::simd128
