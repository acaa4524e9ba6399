// fp8 codes to 16-bit results, sixteen at a time: the three ways that simd128_strip.cpp chooses from.
#pragma once

#include <array>
#include <cmath>

#include "kernels/simd128.h"

namespace wb::kernels::simd128 {

/// The numbers of the 128 magnitudes. Tables never serve Inf and NaN codes; they hold the numbers that
/// would stand there if all exponents were alike, which lets the tables fit.
template <class Format>
struct Magnitudes {
  alignas(16) std::array<float, 128> value;
  constexpr Magnitudes() : value() {
    for (uint32_t code = 0; code < 128; ++code) {
      const uint32_t bits = (code << (23 - Format::kMantissaBits)) + (static_cast<uint32_t>(127 - Format::kBias) << 23);
      value[code] = code <= Format::kMaxCode ? f32_from_f8<Format>(static_cast<uint8_t>(code)) : bit_cast<float>(bits);
    }
  }
};
template <class Format>
constexpr Magnitudes<Format> kMagnitudes;

/// Results of codes first..first+7 under a finite scale.
template <class Format, class Target>
v128_t eight_products(const Target& target, int first, float scale) {
  const float* magnitudes = kMagnitudes<Format>.value.data() + first;
  const v128_t factor = wasm_f32x4_splat(scale);
  return target.narrow_numbers(wasm_f32x4_mul(wasm_v128_load(magnitudes), factor),
                               wasm_f32x4_mul(wasm_v128_load(magnitudes + 4), factor));
}

/// Nibble, for one format and target. M = mantissa bits, N = 2^M:
///
///   table[i], i < N      result of code i (zero and the subnormals)
///   table[N + m]         result of code N + m (exponent field 1), minus one exponent step
///
///   code << 8   [s|e e e e|m m m|0 0 0 0 0 0 0 0]    shift right (arithmetic) until the exponents
///   result      [s|e e e e e e e e|m m m m m m m]    coincide, mask, add
template <class Format, class Target>
struct Nibble {
  static constexpr int kN = 1 << Format::kMantissaBits;
  static constexpr int kShift = 8 + Format::kMantissaBits - Target::kMantissaBits;
  static constexpr uint32_t kExponents = 0x8000u | (((0x80u >> Format::kMantissaBits) - 1) << Target::kMantissaBits);
  // Whether a scale is fit: the least code with a hidden bit must give a normal result (those below have
  // entries of their own) and the largest a finite one. Every scale of a real file is, when the target is
  // bf16; when it is f16, those from 2^-8 (E4M3) or 1 (E5M2).
  static constexpr float kMinScale = exp2_f32(Target::kMinExponent - 1 + Format::kBias);
  static constexpr float kMaxNumber = f32_from_f8<Format>(Format::kMaxCode);

  v128_t magnitude, mantissa, normal, exponents, zeros;

  explicit Nibble(uint32_t zero)
      : magnitude(splat8(zero, 0x7F)),
        mantissa(splat8(zero, kN - 1)),
        normal(splat8(zero, kN)),
        exponents(splat16(zero, kExponents)),
        zeros(splat8(zero, 0)) {}

  static bool is_exact_for(float scale) {
    const float size = std::fabs(scale);
    return size >= kMinScale && size * kMaxNumber < Target::kOverflow;
  }
  static bool is_exact_for_all(const float* scales, size_t n) {
    v128_t fit = wasm_i32x4_const_splat(-1);
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
      const v128_t size = wasm_f32x4_abs(wasm_v128_load(scales + i));
      const v128_t finite =
          wasm_f32x4_lt(wasm_f32x4_mul(size, wasm_f32x4_splat(kMaxNumber)), wasm_f32x4_splat(Target::kOverflow));
      fit = wasm_v128_and(fit, wasm_v128_and(finite, wasm_f32x4_ge(size, wasm_f32x4_splat(kMinScale))));
    }
    bool all = wasm_i32x4_all_true(fit);
    for (; i < n; ++i) all = all && is_exact_for(scales[i]);
    return all;
  }

  static Planes build(const Target& target, float scale) {
    v128_t low = eight_products<Format>(target, 0, scale);
    v128_t high = wasm_i64x2_const_splat(0);
    const v128_t step = wasm_i16x8_const_splat(1 << Target::kMantissaBits);
    if constexpr (kN == 8) {
      high = wasm_i16x8_sub(eight_products<Format>(target, 8, scale), step);
    } else {
      low = wasm_i16x8_sub(low, wasm_v128_and(step, wasm_i64x2_const(0, -1)));
    }
    return split_planes(low, high);
  }

  v128_t exponent_of(v128_t shifted) const {
    if constexpr (kShift > 0) shifted = wasm_i16x8_shr(shifted, kShift);
    return wasm_v128_and(shifted, exponents);
  }

  __attribute__((always_inline)) Results operator()(v128_t codes, v128_t sizes, const Planes& table) const {
    const v128_t index = wasm_u8x16_min(sizes, wasm_v128_or(wasm_v128_and(codes, mantissa), normal));
    const v128_t low = wasm_i8x16_swizzle(table.low, index);
    const v128_t high = wasm_i8x16_swizzle(table.high, index);
    return {wasm_i16x8_add(interleave8_low(low, high), exponent_of(interleave8_low(zeros, codes))),
            wasm_i16x8_add(interleave8_high(low, high), exponent_of(interleave8_high(zeros, codes)))};
  }
};

/// Whether any code seen was Inf or NaN, at one operation a vector.
template <class Format>
struct Specials {
  v128_t seen = wasm_i64x2_const_splat(0);

  void see(v128_t codes, v128_t sizes) {
    if constexpr (Format::kRule == Fp8Rule::fnuz) {
      seen = wasm_i8x16_min(seen, codes);  // 0x80 is the least signed byte
    } else {
      seen = wasm_u8x16_max(seen, sizes);
    }
  }
  static v128_t mask(v128_t codes, v128_t sizes) {
    if constexpr (Format::kRule == Fp8Rule::fnuz) return wasm_i8x16_eq(codes, wasm_i8x16_const_splat(-128));
    return wasm_u8x16_gt(sizes, wasm_u8x16_const_splat(Format::kMaxCode));
  }
  bool any() const { return wasm_v128_any_true(mask(seen, seen)); }
};

/// Lanes. Shifted as above and masked, a code is the bf16 of its number times 2^(bias - 127), subnormals
/// included. A first multiply, by a power of two and therefore exact, puts that right; without Any the scale comes
/// multiplied by it (see unbiased), and only finite codes are served.
template <class Format, class Target, bool Any>
struct Lanes {
  static constexpr int kShift = 1 + Format::kMantissaBits;
  static constexpr uint32_t kKept = 0x8000u | 0x7F00u >> kShift;

  Target target;
  v128_t magnitude, kept, zeros, special_pattern, unbias;

  explicit Lanes(uint32_t zero)
      : target(zero),
        magnitude(splat8(zero, 0x7F)),
        kept(splat16(zero, kKept)),
        zeros(splat8(zero, 0)),
        // Setting the exponent makes E5M2's Inf and NaN; elsewhere a special code is NaN, whatever it holds.
        special_pattern(splat16(zero, Format::kRule == Fp8Rule::ieee ? 0x7F80 : 0x7FC0)),
        unbias(splat32(zero, (254u - Format::kBias) << 23)) {}

  v128_t number(v128_t shifted) const { return wasm_v128_and(wasm_i16x8_shr(shifted, kShift), kept); }

  /// What a scale becomes; not finite where the scale is too large for it, or not finite itself.
  static float unbiased(float scale) { return scale * exp2_f32(127 - Format::kBias); }

  v128_t four(v128_t lanes, v128_t scale) const {
    return wasm_f32x4_mul(Any ? wasm_f32x4_mul(lanes, unbias) : lanes, scale);
  }

  v128_t eight(v128_t numbers, v128_t scale0, v128_t scale1) const {
    const v128_t a = four(interleave16_low(zeros, numbers), scale0);
    const v128_t b = four(interleave16_high(zeros, numbers), scale1);
    if constexpr (Any) return target.narrow(a, b);
    return target.narrow_numbers(a, b);
  }

  Results operator()(v128_t codes, v128_t sizes, const std::array<v128_t, 4>& scales) const {
    v128_t low = number(interleave8_low(zeros, codes));
    v128_t high = number(interleave8_high(zeros, codes));
    if constexpr (Any) {
      const v128_t special = Specials<Format>::mask(codes, sizes);
      low = wasm_v128_or(low, wasm_v128_and(interleave8_low(special, special), special_pattern));
      high = wasm_v128_or(high, wasm_v128_and(interleave8_high(special, special), special_pattern));
    }
    return {eight(low, scales[0], scales[1]), eight(high, scales[2], scales[3])};
  }
};

/// Delta, built for one scale. Code = 16 g + i; with M mantissa bits a group of 16 spans 16 >> M binades:
///
///   result(16 g + i) = table[i] + g * (16 >> M) exponent steps + difference[g][i]
///
/// The table is group 6 (results are normal there under any usual scale), and only the range of groups that
/// have a difference is kept: those with subnormal results or, under large scales, infinite ones. Addition
/// is by bytes; differences are too, so no carry matters.
template <class Format>
struct DeltaTables {
  static constexpr int kGroups = 8;
  static constexpr int kReference = 6;
  static constexpr int kGroupStep = (16 >> Format::kMantissaBits) * 4;  // an exponent step is 4 in the upper byte

  Planes table;
  uint8_t sign;        ///< the scale's: 0x80 or 0
  uint8_t first_code;  ///< of the first group in `difference`
  uint8_t count;
  std::array<Planes, kGroups> difference;

  void build(const ToF16& target, float scale) {
    const float size = std::fabs(scale);
    sign = std::signbit(scale) ? 0x80 : 0;
    table = group(target, kReference, size);
    table.high = wasm_i8x16_sub(table.high, wasm_i8x16_splat(kReference * kGroupStep));
    int first = 0;
    int end = 0;
    for (int g = 0; g < kGroups; ++g) {
      const Planes actual = group(target, g, size);
      const v128_t expected_high = wasm_i8x16_add(table.high, wasm_i8x16_splat(static_cast<int8_t>(g * kGroupStep)));
      const Planes off = {wasm_i8x16_sub(actual.low, table.low), wasm_i8x16_sub(actual.high, expected_high)};
      if (wasm_v128_any_true(wasm_v128_or(off.low, off.high))) {
        if (end == 0) first = g;
        end = g + 1;
      }
      difference[g - first] = off;  // while first is 0 and end too, off is zero
    }
    first_code = static_cast<uint8_t>(16 * first);
    count = static_cast<uint8_t>(end - first);
    // The loops exist for some counts only; what they look up beyond `count` must add nothing.
    for (int k = count; k < kGroups; ++k) difference[k] = {};
  }

  static Planes group(const ToF16& target, int g, float size) {
    return split_planes(eight_products<Format>(target, 16 * g, size), eight_products<Format>(target, 16 * g + 8, size));
  }
};

/// The loop's share of Delta, for up to Count groups with differences.
template <class Format, int Count>
struct Delta {
  using Tables = DeltaTables<Format>;
  v128_t nibble, group_steps, sign, first_code, sixteen;
  Planes table;
  std::array<Planes, Count> difference;

  Delta(uint32_t zero, const Tables& tables)
      : nibble(splat8(zero, 15)),
        group_steps(splat8(zero, 7 * Tables::kGroupStep)),
        sign(splat8(zero, tables.sign)),
        first_code(splat8(zero, tables.first_code)),
        sixteen(splat8(zero, 16)),
        table(tables.table) {
    for (int k = 0; k < Count; ++k) difference[k] = tables.difference[k];
  }

  Results operator()(v128_t codes, v128_t sizes) const {
    const v128_t index = wasm_v128_and(codes, nibble);
    // (size >> 4) * kGroupStep, which is 8 or 16: a shift by one or none, and a mask.
    const v128_t placed = Tables::kGroupStep == 8 ? wasm_u16x8_shr(codes, 1) : codes;
    v128_t low = wasm_i8x16_swizzle(table.low, index);
    v128_t high = wasm_i8x16_add(wasm_i8x16_swizzle(table.high, index), wasm_v128_and(placed, group_steps));
    v128_t in_group = wasm_i8x16_sub(sizes, first_code);
    for (int k = 0; k < Count; ++k) {  // a swizzle gives 0 for the codes of other groups
      if (k > 0) in_group = wasm_i8x16_sub(in_group, sixteen);
      low = wasm_i8x16_add(low, wasm_i8x16_swizzle(difference[k].low, in_group));
      high = wasm_i8x16_add(high, wasm_i8x16_swizzle(difference[k].high, in_group));
    }
    const v128_t code_signs = wasm_v128_xor(codes, sizes);
    high = wasm_v128_xor(high, wasm_v128_xor(code_signs, sign));
    return {interleave8_low(low, high), interleave8_high(low, high)};
  }
};

}  // namespace wb::kernels::simd128
