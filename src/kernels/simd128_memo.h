// Memo: the tables of scales seen lately. Formats with a group of 16 or 32 codes have few different scales (an
// NVFP4 tensor at most 254, an MX one mostly under 20), and a table costs as much as the codes it serves.
#pragma once

#include <array>

#include "base/bytes.h"
#include "kernels/simd128.h"

namespace wb::kernels::simd128 {

/// Direct-mapped by the scale's bits. It outlives a call because a strip of NVFP4 is one row long. Not for threads,
/// which the core has none of.
class TableMemo {
 public:
  /// Empties the memo unless its tables are of this kind already.
  template <class Build>
  void hold(const void* kind, Build build) {
    if (kind == kind_) return;
    kind_ = kind;
    bits_.fill(0);
    tables_.fill(build(0.0f));
  }

  /// The table of `scale`, from build(scale) where it is not here. The reference lives until the next call.
  template <class Build>
  const Planes& find(float scale, Build build) {
    const uint32_t bits = bit_cast<uint32_t>(scale);
    const size_t slot = bits * 0x9E3779B1u >> (32 - kSlotBits);
    if (__builtin_expect(bits_[slot] != bits, false)) {
      tables_[slot] = build(scale);
      bits_[slot] = bits;
    }
    return tables_[slot];
  }

 private:
  static constexpr int kSlotBits = 9;
  static constexpr size_t kSlots = size_t{1} << kSlotBits;

  const void* kind_ = nullptr;
  std::array<uint32_t, kSlots> bits_{};
  std::array<Planes, kSlots> tables_{};
};

inline TableMemo memo;

/// An address of its own for every format and target.
template <class Format, class Target>
inline constexpr char kKind = 0;

}  // namespace wb::kernels::simd128
