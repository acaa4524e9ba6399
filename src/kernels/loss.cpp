// What a conversion to f16 would lose, counted without converting. Rounding keeps order, so the lost
// magnitudes of one scale are two ranges of codes (the smallest and the largest), and counting is two
// compares a code. Where neither end of the format can be lost the codes are not even read.
#include <algorithm>
#include <cmath>

#include "kernels/kernel.h"
#include "kernels/numeric.h"

namespace wb::kernels {
namespace {

/// Magnitudes first..last, inclusive; empty when count is 0. One subtract and one compare test a value.
template <class Magnitude>
struct LostRange {
  Magnitude first = 0;
  Magnitude count = 0;
};

template <class Magnitude>
struct LostRanges {
  LostRange<Magnitude> small;
  LostRange<Magnitude> large;
};

/// Counts over n stored values of which the low bits `mask` are the magnitude. A block is short enough
/// for counters as wide as the values, which keeps the loop in full vectors.
template <class Magnitude>
F16Loss count_in_ranges(const uint8_t* in, size_t n, Magnitude mask, const LostRanges<Magnitude>& lost) {
  F16Loss loss;
  for (size_t at = 0; at < n;) {
    const size_t end = at + std::min<size_t>(n - at, 255);
    Magnitude small = 0;
    Magnitude large = 0;
    for (; at < end; ++at) {
      const Magnitude magnitude = load_le<Magnitude>(in + sizeof(Magnitude) * at) & mask;
      small = static_cast<Magnitude>(small + (static_cast<Magnitude>(magnitude - lost.small.first) < lost.small.count));
      large = static_cast<Magnitude>(large + (static_cast<Magnitude>(magnitude - lost.large.first) < lost.large.count));
    }
    loss.underflow += small;
    loss.overflow += large;
  }
  return loss;
}

// The borders of f16: half its smallest number (a tie that goes to zero), and half way from its largest to
// 2^16 (a tie that goes to Inf).
constexpr float kLostBelowOrAt = 0x1p-25f;
constexpr float kLostFrom = 65520;

/// Which codes 1..kMaxCode one scale would lose. Both searches look for a border in an ordered range.
template <class Format>
LostRanges<uint8_t> lost_codes(float scale) {
  LostRanges<uint8_t> lost;
  const float size = std::fabs(scale);
  if (!std::isfinite(scale) || scale == 0) return lost;  // the scale's doing, not the target's
  const auto product = [size](uint32_t code) { return f32_from_f8<Format>(static_cast<uint8_t>(code)) * size; };
  const auto first_code = [](const auto& reached) {
    uint32_t low = 1;
    for (uint32_t high = Format::kMaxCode + 1; low < high;) {
      const uint32_t middle = (low + high) / 2;
      if (reached(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return static_cast<uint8_t>(low);
  };
  if (product(1) <= kLostBelowOrAt) {
    const uint8_t kept = first_code([&](uint32_t code) { return product(code) > kLostBelowOrAt; });
    lost.small = {1, static_cast<uint8_t>(kept - 1)};
  }
  if (product(Format::kMaxCode) >= kLostFrom) {
    const uint8_t first = first_code([&](uint32_t code) { return product(code) >= kLostFrom; });
    lost.large = {first, static_cast<uint8_t>(Format::kMaxCode + 1 - first)};
  }
  return lost;
}

template <class Format>
F16Loss count_strip(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols) {
  F16Loss loss;
  for (size_t col = 0; col < cols; ++scales) {
    const size_t group = std::min(group_cols, cols - col);
    const LostRanges<uint8_t> lost = lost_codes<Format>(*scales);
    if (lost.small.count != 0 || lost.large.count != 0) {
      for (size_t row = 0; row < rows; ++row) {
        loss += count_in_ranges<uint8_t>(codes + row * cols + col, group, 0x7F, lost);
      }
    }
    col += group;
  }
  return loss;
}

/// Codecs without an order of codes: strips of one group each are dequantized to f16 and looked at.
F16Loss count_products(Codec from, const uint8_t* codes, size_t rows, size_t cols, const float* scales,
                       size_t group_cols) {
  const Kernel* const kernel = find_strip(from, Dtype::F16);
  const Kernel* const wide = find_strip(from, Dtype::BF16);
  F16Loss loss;
  if (!kernel || !wide) return loss;
  // bf16 has float32's range: what is zero or infinite there is so without f16's doing.
  constexpr size_t kChunk = 512;
  uint8_t half[2 * kChunk];
  uint8_t brain[2 * kChunk];
  const size_t total = rows * cols;
  for (size_t at = 0; at < total;) {
    const size_t col = at % cols;
    const size_t group = col / group_cols;
    const size_t n = std::min({kChunk, cols - col, (group + 1) * group_cols - col});
    const uint8_t* const first = codes + at * codec_info(from).bits / 8;
    kernel->strip(first, 1, n, scales + group, n, half);
    wide->strip(first, 1, n, scales + group, n, brain);
    for (size_t i = 0; i < n; ++i) {
      const uint16_t f16 = load_le<uint16_t>(half + 2 * i) & 0x7FFF;
      const uint16_t bf16 = load_le<uint16_t>(brain + 2 * i) & 0x7FFF;
      loss.overflow += f16 == 0x7C00 && bf16 < 0x7F80;
      loss.underflow += f16 == 0 && bf16 != 0;
    }
    at += n;
  }
  return loss;
}

/// Bits first..last of a float format, inclusive.
template <class Bits>
constexpr LostRange<Bits> bits_between(Bits first, Bits last) {
  return {first, static_cast<Bits>(last - first + 1)};
}

}  // namespace

F16Loss count_f16_loss_strip(Codec from, const uint8_t* codes, size_t rows, size_t cols, const float* scales,
                             size_t group_cols) {
  switch (from) {
    case Codec::F8_E4M3: return count_strip<E4M3>(codes, rows, cols, scales, group_cols);
    case Codec::F8_E5M2: return count_strip<E5M2>(codes, rows, cols, scales, group_cols);
    case Codec::F8_E4M3FNUZ: return count_strip<E4M3Fnuz>(codes, rows, cols, scales, group_cols);
    case Codec::F8_E5M2FNUZ: return count_strip<E5M2Fnuz>(codes, rows, cols, scales, group_cols);
    default: return count_products(from, codes, rows, cols, scales, group_cols);
  }
}

// The same borders in bits. 65520 is no BF16; the next one is 65536.
F16Loss count_f16_loss_cast(Dtype from, const uint8_t* in, size_t n) {
  switch (from) {
    case Dtype::F32:
      return count_in_ranges<uint32_t>(in, n, 0x7FFFFFFF,
                                       {bits_between(1u, 0x33000000u), bits_between(0x477FF000u, 0x7F7FFFFFu)});
    case Dtype::BF16:
      return count_in_ranges<uint16_t>(in, n, 0x7FFF,
                                       {bits_between<uint16_t>(1, 0x3300), bits_between<uint16_t>(0x4780, 0x7F7F)});
    case Dtype::F64:
      return count_in_ranges<uint64_t>(in, n, 0x7FFFFFFFFFFFFFFF,
                                       {bits_between<uint64_t>(1, 0x3E60000000000000),
                                        bits_between<uint64_t>(0x40EFFE0000000000, 0x7FEFFFFFFFFFFFFF)});
    default: return {};
  }
}

}  // namespace wb::kernels
