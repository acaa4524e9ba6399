// simd128 casts of unscaled floats; empty in native builds. Results equal scalar.cpp bit for bit.
#ifdef __wasm_simd128__
#include <algorithm>
#include <bit>

#include "kernels/kernel.h"
#include "kernels/simd128.h"

namespace wb::kernels::simd128 {
namespace {

template <class Target>
void cast_from_f32(const uint8_t* in, size_t n, uint8_t* out) {
  const Target target(opaque_zero);
  if (n == 0) return;
  for_each_16_padded<4>(in, n, out, [target](const uint8_t* x, size_t) {
    return Results{target.narrow(wasm_v128_load(x), wasm_v128_load(x + 16)),
                   target.narrow(wasm_v128_load(x + 32), wasm_v128_load(x + 48))};
  });
}

/// bf16 -> f16. From 2^-14 to 2^16 (and for zero) the bias is exchanged and three bits of mantissa are
/// added; subtraction that stops at zero leaves zero alone. Anything else goes through float32.
struct F16FromBf16 {
  ToF16 target;
  v128_t magnitude, sign, bias, min_normal, normals, zeros;

  explicit F16FromBf16(uint32_t zero)
      : target(zero),
        magnitude(splat16(zero, 0x7FFF)),
        sign(splat16(zero, 0x8000)),
        bias(splat16(zero, 112 << 7)),
        min_normal(splat16(zero, 0x3880)),
        normals(splat16(zero, 0x4780 - 0x3880)),
        zeros(splat16(zero, 0)) {}

  v128_t fast(v128_t x) const {
    const v128_t moved = wasm_i16x8_shl(wasm_u16x8_sub_sat(wasm_v128_and(x, magnitude), bias), 3);
    return wasm_v128_or(moved, wasm_v128_and(x, sign));
  }
  v128_t outside(v128_t x) const {
    const v128_t a = wasm_v128_and(x, magnitude);
    return wasm_v128_andnot(wasm_u16x8_ge(wasm_i16x8_sub(a, min_normal), normals), wasm_i16x8_eq(a, zeros));
  }
  /// Whether two vectors hold anything else.
  bool off(v128_t x, v128_t y) const { return wasm_v128_any_true(wasm_v128_or(outside(x), outside(y))); }
  v128_t slow(v128_t x) const { return target.narrow(interleave16_low(zeros, x), interleave16_high(zeros, x)); }
};

/// f16 -> bf16. Normal numbers lose three bits of mantissa and exchange the bias, all in 16-bit lanes:
///
///   f16     [s|e e e e e|m m m m m m m m m m]    rounded up and shifted right (arithmetic) by three
///   kept    [s|0 0 0 e e e e e|m m m m m m m]    then 112 exponent steps are added
///
/// Vectors that hold zero, a subnormal, Inf or NaN go through float32.
struct Bf16FromF16 {
  ToBf16 target;
  v128_t magnitude, sign, one, three, kept, bias, min_normal, normals;

  explicit Bf16FromF16(uint32_t zero)
      : target(zero),
        magnitude(splat16(zero, 0x7FFF)),
        sign(splat16(zero, 0x8000)),
        one(splat16(zero, 1)),
        three(splat16(zero, 3)),
        kept(splat16(zero, 0x8FFF)),
        bias(splat16(zero, 112 << 7)),
        min_normal(splat16(zero, 2 * 0x0400)),
        normals(splat16(zero, 2 * (0x7C00 - 0x0400))) {}

  v128_t fast(v128_t x) const {
    const v128_t odd = wasm_v128_and(wasm_u16x8_shr(x, 3), one);
    const v128_t rounded = wasm_i16x8_add(wasm_i16x8_add(x, three), odd);
    return wasm_i16x8_add(wasm_v128_and(wasm_i16x8_shr(rounded, 3), kept), bias);
  }
  /// How far twice the magnitude, which loses the sign, is above the least normal number; others wrap to the top.
  v128_t above(v128_t x) const { return wasm_i16x8_sub(wasm_i16x8_add(x, x), min_normal); }
  /// Whether two vectors hold anything but normal numbers.
  bool off(v128_t x, v128_t y) const {
    return wasm_v128_any_true(wasm_u16x8_ge(wasm_u16x8_max(above(x), above(y)), normals));
  }

  /// Four magnitudes in 32-bit lanes -> float32. Subnormals are counted in units of 2^-24.
  static v128_t widen(v128_t a) {
    const v128_t moved = wasm_i32x4_shl(a, 13);
    const v128_t normal = wasm_i32x4_add(moved, wasm_i32x4_const_splat(112 << 23));
    const v128_t subnormal = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(a), wasm_f32x4_const_splat(0x1p-24f));
    const v128_t special = wasm_v128_or(moved, wasm_i32x4_const_splat(0x7F800000));
    const v128_t finite = wasm_v128_bitselect(subnormal, normal, wasm_i32x4_lt(a, wasm_i32x4_const_splat(0x0400)));
    return wasm_v128_bitselect(special, finite, wasm_i32x4_ge(a, wasm_i32x4_const_splat(0x7C00)));
  }
  /// The magnitude is rounded and the sign put back, but not where the result is NaN.
  v128_t slow(v128_t x) const {
    const v128_t a = wasm_v128_and(x, magnitude);
    const v128_t result = target.narrow(widen(wasm_u32x4_extend_low_u16x8(a)), widen(wasm_u32x4_extend_high_u16x8(a)));
    const v128_t is_number = wasm_i16x8_ne(result, target.nan);
    return wasm_v128_or(result, wasm_v128_and(wasm_v128_and(x, sign), is_number));
  }
};

/// Up to 64 steps of sixteen elements by 16-bit lanes; bit i: step i must go through float32 instead.
template <class Cast>
__attribute__((noinline)) uint64_t by_lanes(const uint8_t* in, size_t steps, uint8_t* out) {
  const Cast cast(opaque_zero);
  uint64_t off = 0;
  for (size_t i = 0; i < steps; ++i) {
    const v128_t x = wasm_v128_load(in + 32 * i);
    const v128_t y = wasm_v128_load(in + 32 * i + 16);
    Results{cast.fast(x), cast.fast(y)}.store(out + 32 * i);
    off |= uint64_t{cast.off(x, y)} << i;
  }
  return off;
}

template <class Cast>
__attribute__((noinline)) void through_f32(const uint8_t* in, uint64_t steps, uint8_t* out) {
  const Cast cast(opaque_zero);
  for (; steps != 0; steps &= steps - 1) {
    const auto at = static_cast<size_t>(32 * std::countr_zero(steps));
    Results{cast.slow(wasm_v128_load(in + at)), cast.slow(wasm_v128_load(in + at + 16))}.store(out + at);
  }
}

/// Functions of their own, because a branch to float32 in the loop of lanes would cost it its registers.
template <class Cast>
void cast_from_16(const uint8_t* in, size_t n, uint8_t* out) {
  for (size_t left = n / 16; left > 0;) {
    const size_t steps = std::min<size_t>(left, 64);
    if (const uint64_t off = by_lanes<Cast>(in, steps, out)) through_f32<Cast>(in, off, out);
    in += 32 * steps;
    out += 32 * steps;
    left -= steps;
  }
  if (n % 16 == 0) return;
  const Cast cast(opaque_zero);
  for_each_16_padded<2>(in, n % 16, out, [&cast](const uint8_t* at, size_t) {
    return Results{cast.slow(wasm_v128_load(at)), cast.slow(wasm_v128_load(at + 16))};
  });
}

}  // namespace

void cast_bf16_from_f32(const uint8_t* in, size_t n, uint8_t* out) { cast_from_f32<ToBf16>(in, n, out); }
void cast_f16_from_f32(const uint8_t* in, size_t n, uint8_t* out) { cast_from_f32<ToF16>(in, n, out); }
void cast_bf16_from_f16(const uint8_t* in, size_t n, uint8_t* out) { cast_from_16<Bf16FromF16>(in, n, out); }
void cast_f16_from_bf16(const uint8_t* in, size_t n, uint8_t* out) { cast_from_16<F16FromBf16>(in, n, out); }

}  // namespace wb::kernels::simd128
#endif
