// simd128 casts of unscaled floats; empty in native builds. Results equal scalar.cpp bit for bit.
#ifdef __wasm_simd128__
#include "kernels/simd128.h"

#include "kernels/kernel.h"

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
/// added; subtraction that stops at zero leaves zero alone. A vector that holds anything else goes
/// through float32.
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

  v128_t fast(v128_t x, v128_t a) const {
    const v128_t moved = wasm_i16x8_shl(wasm_u16x8_sub_sat(a, bias), 3);
    return wasm_v128_or(moved, wasm_v128_and(x, sign));
  }
  v128_t off(v128_t a) const {
    const v128_t outside = wasm_u16x8_ge(wasm_i16x8_sub(a, min_normal), normals);
    return wasm_v128_andnot(outside, wasm_i16x8_eq(a, zeros));
  }
  v128_t slow(v128_t x) const { return target.narrow(interleave16_low(zeros, x), interleave16_high(zeros, x)); }

  Results operator()(const uint8_t* in, size_t) const {
    const v128_t x = wasm_v128_load(in);
    const v128_t y = wasm_v128_load(in + 16);
    const v128_t a = wasm_v128_and(x, magnitude);
    const v128_t b = wasm_v128_and(y, magnitude);
    if (wasm_v128_any_true(wasm_v128_or(off(a), off(b)))) return {slow(x), slow(y)};
    return {fast(x, a), fast(y, b)};
  }
};

/// f16 -> bf16. Normal numbers lose three bits of mantissa and exchange the bias, all in 16-bit lanes.
/// A vector that holds zero, a subnormal, Inf or NaN goes through float32.
struct Bf16FromF16 {
  ToBf16 target;
  v128_t magnitude, sign, one, three, bias, min_normal, normals;

  explicit Bf16FromF16(uint32_t zero)
      : target(zero),
        magnitude(splat16(zero, 0x7FFF)),
        sign(splat16(zero, 0x8000)),
        one(splat16(zero, 1)),
        three(splat16(zero, 3)),
        bias(splat16(zero, 112 << 7)),
        min_normal(splat16(zero, 0x0400)),
        normals(splat16(zero, 0x7C00 - 0x0400)) {}

  v128_t fast(v128_t x, v128_t a) const {
    const v128_t odd = wasm_v128_and(wasm_u16x8_shr(a, 3), one);
    const v128_t rounded = wasm_u16x8_shr(wasm_i16x8_add(wasm_i16x8_add(a, three), odd), 3);
    return wasm_v128_or(wasm_i16x8_add(rounded, bias), wasm_v128_and(x, sign));
  }
  /// Whether two vectors hold anything but normal numbers.
  bool off(v128_t a, v128_t b) const {
    const v128_t above = wasm_u16x8_max(wasm_i16x8_sub(a, min_normal), wasm_i16x8_sub(b, min_normal));
    return wasm_v128_any_true(wasm_u16x8_ge(above, normals));
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
  v128_t slow(v128_t x, v128_t a) const {
    const v128_t result = target.narrow(widen(wasm_u32x4_extend_low_u16x8(a)), widen(wasm_u32x4_extend_high_u16x8(a)));
    const v128_t is_number = wasm_i16x8_ne(result, target.nan);
    return wasm_v128_or(result, wasm_v128_and(wasm_v128_and(x, sign), is_number));
  }

  Results operator()(const uint8_t* in, size_t) const {
    const v128_t x = wasm_v128_load(in);
    const v128_t y = wasm_v128_load(in + 16);
    const v128_t a = wasm_v128_and(x, magnitude);
    const v128_t b = wasm_v128_and(y, magnitude);
    if (off(a, b)) return {slow(x, a), slow(y, b)};
    return {fast(x, a), fast(y, b)};
  }
};

}  // namespace

void cast_bf16_from_f32(const uint8_t* in, size_t n, uint8_t* out) { cast_from_f32<ToBf16>(in, n, out); }
void cast_f16_from_f32(const uint8_t* in, size_t n, uint8_t* out) { cast_from_f32<ToF16>(in, n, out); }
void cast_bf16_from_f16(const uint8_t* in, size_t n, uint8_t* out) {
  if (n > 0) for_each_16_padded<2>(in, n, out, Bf16FromF16(opaque_zero));
}
void cast_f16_from_bf16(const uint8_t* in, size_t n, uint8_t* out) {
  if (n > 0) for_each_16_padded<2>(in, n, out, F16FromBf16(opaque_zero));
}

}  // namespace wb::kernels::simd128
#endif
