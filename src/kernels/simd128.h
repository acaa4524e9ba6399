// What the simd128_*.cpp files share: vector primitives, and float32 lanes -> 16 bits. Only they include
// this, and only in wasm builds. No relaxed SIMD anywhere: its results depend on the machine.
#pragma once

#include <wasm_simd128.h>

#include <cstddef>
#include <cstdint>

#include "kernels/numeric.h"

namespace wb::kernels::simd128 {

/// Always zero, which the compiler cannot know. Vector constants mixed with it are computed once and
/// stay in registers; V8 puts literal ones back inside the loop (reference/kernels.md 2.6: 27 against
/// 20 GB/s).
inline volatile uint32_t opaque_zero = 0;

inline v128_t splat8(uint32_t zero, uint32_t value) { return wasm_i8x16_splat(static_cast<int8_t>(value ^ zero)); }
inline v128_t splat16(uint32_t zero, uint32_t value) { return wasm_i16x8_splat(static_cast<int16_t>(value ^ zero)); }
inline v128_t splat32(uint32_t zero, uint32_t value) { return wasm_i32x4_splat(static_cast<int32_t>(value ^ zero)); }

inline v128_t interleave8_low(v128_t a, v128_t b) {
  return wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
inline v128_t interleave8_high(v128_t a, v128_t b) {
  return wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
inline v128_t interleave16_low(v128_t a, v128_t b) { return wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
inline v128_t interleave16_high(v128_t a, v128_t b) { return wasm_i16x8_shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }

/// Sixteen 16-bit results.
struct Results {
  v128_t low, high;
  void store(uint8_t* out) const {
    wasm_v128_store(out, low);
    wasm_v128_store(out + 16, high);
  }
};

/// Sixteen 16-bit values as a plane of low bytes and a plane of high bytes: a table for two swizzles.
struct Planes {
  v128_t low, high;

  /// The values at sixteen indices, each below 16.
  Results at(v128_t indices) const {
    const v128_t lows = wasm_i8x16_swizzle(low, indices);
    const v128_t highs = wasm_i8x16_swizzle(high, indices);
    return {interleave8_low(lows, highs), interleave8_high(lows, highs)};
  }
};

/// The upper halves of sixteen 32-bit lanes.
inline Planes upper_planes(v128_t a, v128_t b, v128_t c, v128_t d) {
  const v128_t ab = wasm_i8x16_shuffle(a, b, 2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
  const v128_t cd = wasm_i8x16_shuffle(c, d, 2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
  return {wasm_i64x2_shuffle(ab, cd, 0, 2), wasm_i64x2_shuffle(ab, cd, 1, 3)};
}

inline Planes split_planes(v128_t a, v128_t b) {
  const v128_t byte = wasm_i16x8_const_splat(0xFF);
  return {wasm_u8x16_narrow_i16x8(wasm_v128_and(a, byte), wasm_v128_and(b, byte)),
          wasm_u8x16_narrow_i16x8(wasm_u16x8_shr(a, 8), wasm_u16x8_shr(b, 8))};
}

// ---- runs ---------------------------------------------------------------------------------------------

/// step(pointer to 16 elements, index of the first) -> Results over n elements, Width at a time, n >= Width. The
/// last Width lie flush with the end, over elements that are already done. One loop with one body: every way
/// through a kernel is a copy of it (with a body for the end, the wasm was 70 KB larger and no faster).
template <size_t Width, size_t ElementBytes = 1, class Step>
void for_each_16(const uint8_t* in, size_t n, uint8_t* out, Step step) {
  const size_t last = n - Width;
  for (size_t at = 0;; at = last) {
    for (; at <= last; at += Width) {
      for (size_t i = 0; i < Width; i += 16) step(in + (at + i) * ElementBytes, at + i).store(out + 2 * (at + i));
    }
    if (at == n) break;
  }
}

/// The same for any n > 0: fewer than 16 elements go through a copy.
template <size_t ElementBytes = 1, class Step>
void for_each_16_padded(const uint8_t* in, size_t n, uint8_t* out, Step step) {
  if (n >= 16) return for_each_16<16, ElementBytes>(in, n, out, step);
  uint8_t padded[16 * ElementBytes] = {};
  uint8_t results[32];
  __builtin_memcpy(padded, in, n * ElementBytes);
  step(padded, 0).store(results);
  __builtin_memcpy(out, results, 2 * n);
}

// ---- float32 lanes -> 16 bits -------------------------------------------------------------------------

/// All ones in the 16-bit lanes whose float32 is NaN.
inline v128_t nan_mask(v128_t a, v128_t b) { return wasm_i16x8_narrow_i32x4(wasm_f32x4_ne(a, a), wasm_f32x4_ne(b, b)); }

/// The upper halves of eight 32-bit lanes; an arithmetic shift cannot saturate.
inline v128_t upper_halves(v128_t a, v128_t b) {
  return wasm_i16x8_narrow_i32x4(wasm_i32x4_shr(a, 16), wasm_i32x4_shr(b, 16));
}

struct ToBf16 {
  static constexpr int kMantissaBits = 7;
  static constexpr int kMinExponent = -126;
  static constexpr float kOverflow = 0x1.FFp127f;  ///< the least float32 that rounds to Inf
  v128_t one, half, nan;

  explicit ToBf16(uint32_t zero) : one(splat32(zero, 1)), half(splat32(zero, 0x7FFF)), nan(splat16(zero, kBf16Nan)) {}

  v128_t round(v128_t a) const {
    const v128_t odd = wasm_v128_and(wasm_u32x4_shr(a, 16), one);
    return wasm_i32x4_add(wasm_i32x4_add(a, half), odd);
  }
  /// Eight results, of which none may be NaN.
  v128_t narrow_numbers(v128_t a, v128_t b) const { return upper_halves(round(a), round(b)); }
  v128_t narrow(v128_t a, v128_t b) const { return wasm_v128_bitselect(nan, narrow_numbers(a, b), nan_mask(a, b)); }
  /// Sixteen results as a table; none may be NaN.
  Planes table(v128_t a, v128_t b, v128_t c, v128_t d) const {
    return upper_planes(round(a), round(b), round(c), round(d));
  }
};

/// To round a at 2^E's eleventh bit, add 2^(E+13): float32 then has no room for anything lower. What
/// the sum's mantissa gained counts units of 2^(E-10), hidden bit included, so adding E+14 exponent
/// steps gives the f16. E stays at -14 for subnormal results, and 2^16 and above come out as Inf.
struct ToF16 {
  static constexpr int kMantissaBits = 10;
  static constexpr int kMinExponent = -14;
  static constexpr float kOverflow = 65520;
  v128_t magnitude, limit, exponent, min_normal, up13, sign, nan;

  explicit ToF16(uint32_t zero)
      : magnitude(splat32(zero, 0x7FFFFFFF)),
        limit(splat32(zero, 0x47800000)),
        exponent(splat32(zero, 0x7F800000)),
        min_normal(splat32(zero, 0x38800000)),
        up13(splat32(zero, 13u << 23)),
        sign(splat16(zero, 0x8000)),
        nan(splat16(zero, kF16Nan)) {}

  v128_t round(v128_t value) const {
    const v128_t a = wasm_i32x4_min(wasm_v128_and(value, magnitude), limit);
    const v128_t e = wasm_i32x4_max(wasm_v128_and(a, exponent), min_normal);
    const v128_t magic = wasm_i32x4_add(e, up13);
    const v128_t units = wasm_i32x4_sub(wasm_f32x4_add(a, magic), magic);
    return wasm_i32x4_add(units, wasm_u32x4_shr(wasm_i32x4_sub(e, min_normal), 13));
  }
  v128_t narrow_numbers(v128_t a, v128_t b) const {
    const v128_t rounded = wasm_u16x8_narrow_i32x4(round(a), round(b));
    return wasm_v128_or(rounded, wasm_v128_and(upper_halves(a, b), sign));
  }
  v128_t narrow(v128_t a, v128_t b) const { return wasm_v128_bitselect(nan, narrow_numbers(a, b), nan_mask(a, b)); }
  Planes table(v128_t a, v128_t b, v128_t c, v128_t d) const {
    return split_planes(narrow_numbers(a, b), narrow_numbers(c, d));
  }
};

}  // namespace wb::kernels::simd128
