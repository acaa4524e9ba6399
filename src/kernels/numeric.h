// Numeric: one number at a time between the stored formats and float32. Everything here is exact or
// rounds once, to nearest even; every NaN comes out as one quiet pattern (0x7FC00000, 0x7FC0, 0x7E00).
// Vectors live in simd128.cpp, whose results must equal these bit for bit.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace wb::kernels {

inline constexpr uint32_t kF32Nan = 0x7FC00000;
inline constexpr uint16_t kBf16Nan = 0x7FC0;
inline constexpr uint16_t kF16Nan = 0x7E00;

/// 2^exponent as a float32, -126 <= exponent <= 127.
constexpr float exp2_f32(int exponent) { return bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23); }

// ---- fp8 -> f32 ---------------------------------------------------------------------------------------
//
//         7 6     3 2   0                          7 6       2 1 0
//        [s|e e e e|m m m]   E4M3, E4M3FNUZ       [s|e e e e e|m m]   E5M2, E5M2FNUZ
//
// e > 0: (1 + m/2^M) * 2^(e - bias). e = 0: m/2^M * 2^(1 - bias). What is not a number differs:

enum class Fp8Rule : uint8_t {
  fn,    ///< no Inf; all ones (0x7F, 0xFF) is NaN
  ieee,  ///< the top exponent is Inf (m = 0) or NaN
  fnuz,  ///< no Inf, no -0: the code of -0 (0x80) is NaN
};

template <int MantissaBits, int Bias, Fp8Rule Rule>
struct Fp8 {
  static constexpr int kMantissaBits = MantissaBits;
  static constexpr int kBias = Bias;
  static constexpr Fp8Rule kRule = Rule;
  /// The largest magnitude (code & 0x7F) that is a finite number. Magnitudes grow with their codes.
  static constexpr uint8_t kMaxCode = Rule == Fp8Rule::fn ? 0x7E : Rule == Fp8Rule::ieee ? 0x7B : 0x7F;
};

using E4M3 = Fp8<3, 7, Fp8Rule::fn>;
using E5M2 = Fp8<2, 15, Fp8Rule::ieee>;
using E4M3Fnuz = Fp8<3, 8, Fp8Rule::fnuz>;
using E5M2Fnuz = Fp8<2, 16, Fp8Rule::fnuz>;

template <class Format>
constexpr bool is_nan_f8(uint8_t code) {
  if (Format::kRule == Fp8Rule::fnuz) return code == 0x80;
  return (code & 0x7F) > (Format::kRule == Fp8Rule::ieee ? 0x7C : 0x7E);
}

template <class Format>
constexpr float f32_from_f8(uint8_t code) {
  constexpr int kMantissaBits = Format::kMantissaBits;
  if (is_nan_f8<Format>(code)) return bit_cast<float>(kF32Nan);
  const uint32_t sign = static_cast<uint32_t>(code & 0x80) << 24;
  const uint32_t magnitude = code & 0x7F;
  if (magnitude > Format::kMaxCode) return bit_cast<float>(sign | 0x7F800000);
  if (magnitude >> kMantissaBits == 0) {
    const float value = static_cast<float>(magnitude) * exp2_f32(1 - Format::kBias - kMantissaBits);
    return bit_cast<float>(sign | bit_cast<uint32_t>(value));
  }
  // Exponent and mantissa keep their order, so one shift places both; then the bias is exchanged.
  const uint32_t moved = magnitude << (23 - kMantissaBits);
  return bit_cast<float>(sign | (moved + (static_cast<uint32_t>(127 - Format::kBias) << 23)));
}

constexpr float f32_from_f8_e4m3(uint8_t code) { return f32_from_f8<E4M3>(code); }
constexpr float f32_from_f8_e5m2(uint8_t code) { return f32_from_f8<E5M2>(code); }
constexpr float f32_from_f8_e4m3fnuz(uint8_t code) { return f32_from_f8<E4M3Fnuz>(code); }
constexpr float f32_from_f8_e5m2fnuz(uint8_t code) { return f32_from_f8<E5M2Fnuz>(code); }

/// [e e e e e e e e]: 2^(e - 127), nothing else; 255 is NaN. 2^-127 is a subnormal float32.
constexpr float f32_from_f8_e8m0(uint8_t code) {
  if (code == 255) return bit_cast<float>(kF32Nan);
  return bit_cast<float>(code == 0 ? 0x00400000u : static_cast<uint32_t>(code) << 23);
}

// ---- 4 bits -> f32 -------------------------------------------------------------------------------------

/// Element i of a row of nibbles. LOW: [1111 0000] per byte; HIGH: [0000 1111].
constexpr int nibble_low_first(const uint8_t* codes, size_t i) { return codes[i / 2] >> (i % 2 * 4) & 15; }
constexpr int nibble_high_first(const uint8_t* codes, size_t i) { return codes[i / 2] >> (4 - i % 2 * 4) & 15; }

/// E2M1, [s|e e|m], bias 1, no Inf, no NaN: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; code 8 is -0.
constexpr float f32_from_e2m1(int code) {
  constexpr float kMagnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const uint32_t sign = static_cast<uint32_t>(code & 8) << 28;
  return bit_cast<float>(sign | bit_cast<uint32_t>(kMagnitudes[code & 7]));
}

/// bitsandbytes' NF4: quantiles of a normal distribution, by their float32 bits.
constexpr float f32_bits(uint32_t bits) { return bit_cast<float>(bits); }
inline constexpr float kNf4[16] = {
    f32_bits(0xBF800000), f32_bits(0xBF3239B1), f32_bits(0xBF066B30), f32_bits(0xBECA32A0),
    f32_bits(0xBE91A24D), f32_bits(0xBE3D353F), f32_bits(0xBDBA7871), f32_bits(0x00000000),
    f32_bits(0x3DA2FAFF), f32_bits(0x3E24CAE3), f32_bits(0x3E7C04DD), f32_bits(0x3EAD033A),
    f32_bits(0x3EE1A4B8), f32_bits(0x3F1007AB), f32_bits(0x3F3913B3), f32_bits(0x3F800000)};

/// bitsandbytes' FP4, which is not E2M1: twelfths, 8..15 the negatives of 0..7.
inline constexpr float kFp4Bnb[16] = {0.0f,         0.0052083333f, 0.6666667f,   1.0f,           0.33333334f, 0.5f,
                                      0.16666667f,  0.25f,         -0.0f,        -0.0052083333f, -0.6666667f, -1.0f,
                                      -0.33333334f, -0.5f,         -0.16666667f, -0.25f};

// ---- 16 bits -> f32 -----------------------------------------------------------------------------------
//
//         15 14        7 6         0               15 14    10 9            0
//        [s |e e .8. e e|m m .7. m m]   BF16      [s |e .5. e|m m ..10.. m m]   F16

/// The upper half of a float32.
constexpr float f32_from_bf16(uint16_t bits) {
  return bit_cast<float>((bits & 0x7FFF) > 0x7F80 ? kF32Nan : static_cast<uint32_t>(bits) << 16);
}

constexpr float f32_from_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t magnitude = bits & 0x7FFF;
  if (magnitude > 0x7C00) return bit_cast<float>(kF32Nan);
  if (magnitude == 0x7C00) return bit_cast<float>(sign | 0x7F800000);
  if (magnitude < 0x0400) {
    return bit_cast<float>(sign | bit_cast<uint32_t>(static_cast<float>(magnitude) * exp2_f32(-24)));
  }
  return bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
}

// ---- f32 -> 16 bits, to nearest even ------------------------------------------------------------------

/// Drops the low `count` bits of `value` and rounds what is left to nearest even; 1 <= count <= 31.
constexpr uint32_t shift_right_rne(uint32_t value, int count) {
  const uint32_t half = 1u << (count - 1);
  return (value + (half - 1) + ((value >> count) & 1)) >> count;
}

///   [s|e e e e e e e e|m m m m m m m : m m m ..16.. m m]
///    '------------ kept ------------' '--- rounded ---'
/// A carry runs into the exponent, and from the largest binade into Inf, as it should.
constexpr uint16_t bf16_from_f32(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return kBf16Nan;
  return static_cast<uint16_t>(shift_right_rne(bits, 16));
}

/// Normal results drop 13 mantissa bits after the bias is exchanged (127 -> 15). Below 2^-14 the result
/// counts units of 2^-24, so the significand with its hidden bit moves further right. 65520, halfway
/// between the largest value and 2^16, rounds to Inf.
constexpr uint16_t f16_from_f32(float value) {
  const uint32_t bits = bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return kF16Nan;
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7C00);  // 2^16 and above
  if (magnitude >= 0x38800000) return static_cast<uint16_t>(sign | shift_right_rne(magnitude - (112u << 23), 13));
  const int exponent = static_cast<int>(magnitude >> 23);
  if (exponent < 102) return static_cast<uint16_t>(sign);  // below 2^-25: less than half a unit
  const uint32_t significand = (magnitude & 0x7FFFFF) | 0x800000;
  return static_cast<uint16_t>(sign | shift_right_rne(significand, 126 - exponent));
}

// ---- f64 -> 16 bits -----------------------------------------------------------------------------------

/// f64 -> f32 rounded to odd: cut the bits that do not fit and, if any was set, set the last one kept.
/// The result still tells which side of every 16-bit tie the double lay on (float32 has at least two
/// more bits than either target at every exponent), so rounding it again rounds the double once.
///
///   f64 [s|e ..11.. e|m ...23... m : m ...29... m]     exponents below float32's shift further right
///                     '-- kept --'  '-- sticky -'      exponents above become the largest finite
constexpr float f32_odd_from_f64(double value) {
  const uint64_t bits = bit_cast<uint64_t>(value);
  const uint32_t sign = static_cast<uint32_t>(bits >> 32) & 0x80000000;
  const uint64_t magnitude = bits & 0x7FFFFFFFFFFFFFFF;
  constexpr uint64_t kInf = 0x7FF0000000000000;
  if (magnitude > kInf) return bit_cast<float>(kF32Nan);
  if (magnitude == kInf) return bit_cast<float>(sign | 0x7F800000);
  if (magnitude == 0) return bit_cast<float>(sign);
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent > 127) return bit_cast<float>(sign | 0x7F7FFFFF);          // odd, and rounds to Inf in both targets
  uint64_t kept = magnitude - (static_cast<uint64_t>(1023 - 127) << 52);  // normal float32
  int dropped = 29;
  if (exponent < -126) {
    kept = (magnitude & 0x000FFFFFFFFFFFFF) | 0x0010000000000000;
    dropped += -126 - exponent;
    if (dropped > 63) return bit_cast<float>(sign | 1);
  }
  const bool sticky = (kept & ((uint64_t{1} << dropped) - 1)) != 0;
  return bit_cast<float>(sign | static_cast<uint32_t>(kept >> dropped) | static_cast<uint32_t>(sticky));
}

constexpr uint16_t bf16_from_f64(double value) { return bf16_from_f32(f32_odd_from_f64(value)); }
constexpr uint16_t f16_from_f64(double value) { return f16_from_f32(f32_odd_from_f64(value)); }

}  // namespace wb::kernels
