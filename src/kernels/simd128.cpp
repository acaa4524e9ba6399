// simd128 kernels: the only file with wasm intrinsics, empty in native builds. Results equal scalar.cpp
// bit for bit. Three ways lead from a code to its result, and every cell (a run of codes that share one
// scale) takes the fastest that is exact for its scale:
//
//   nibble  The significand of code * scale depends on the code's mantissa alone as long as every result
//           is a normal number: 16 results in two byte planes, and the code's exponent is added in place.
//   delta   (f16) 16 results as before, and for each group of 16 codes that this misses a table of the
//           differences. Eight groups are all there are, so this is exact for any finite scale.
//   lanes   The recipe itself, four float32 lanes at a time: any code, any scale, a scale per lane.
//
// Codes that are Inf or NaN are noticed while a chunk runs, and that chunk is done again with lanes.
// No relaxed SIMD anywhere: its results depend on the machine.
#ifdef __wasm_simd128__
#include <wasm_simd128.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/kernel.h"
#include "kernels/numeric.h"

namespace wb::kernels::simd128 {
namespace {

/// Always zero, which the compiler cannot know. Vector constants mixed with it are computed once and
/// stay in registers; V8 puts literal ones back inside the loop (reference/kernels.md 2.6: 27 against
/// 20 GB/s).
volatile uint32_t opaque_zero = 0;

v128_t splat8(uint32_t zero, uint32_t value) { return wasm_i8x16_splat(static_cast<int8_t>(value ^ zero)); }
v128_t splat16(uint32_t zero, uint32_t value) { return wasm_i16x8_splat(static_cast<int16_t>(value ^ zero)); }
v128_t splat32(uint32_t zero, uint32_t value) { return wasm_i32x4_splat(static_cast<int32_t>(value ^ zero)); }

v128_t interleave8_low(v128_t a, v128_t b) {
  return wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
v128_t interleave8_high(v128_t a, v128_t b) {
  return wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
v128_t interleave16_low(v128_t a, v128_t b) { return wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
v128_t interleave16_high(v128_t a, v128_t b) { return wasm_i16x8_shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }

/// Sixteen 16-bit results.
struct Results {
  v128_t low, high;
  void store(uint8_t* out) const {
    wasm_v128_store(out, low);
    wasm_v128_store(out + 16, high);
  }
};

// ---- float32 lanes -> 16 bits -------------------------------------------------------------------------

/// All ones in the 16-bit lanes whose float32 is NaN.
v128_t nan_mask(v128_t a, v128_t b) { return wasm_i16x8_narrow_i32x4(wasm_f32x4_ne(a, a), wasm_f32x4_ne(b, b)); }

/// The upper halves of eight 32-bit lanes; an arithmetic shift cannot saturate.
v128_t upper_halves(v128_t a, v128_t b) {
  return wasm_i16x8_narrow_i32x4(wasm_i32x4_shr(a, 16), wasm_i32x4_shr(b, 16));
}

struct ToBf16 {
  static constexpr int kMantissaBits = 7;
  static constexpr int kMinExponent = -126;
  static constexpr int kMaxExponent = 127;
  v128_t one, half, nan;

  explicit ToBf16(uint32_t zero) : one(splat32(zero, 1)), half(splat32(zero, 0x7FFF)), nan(splat16(zero, kBf16Nan)) {}

  v128_t round(v128_t a) const {
    const v128_t odd = wasm_v128_and(wasm_u32x4_shr(a, 16), one);
    return wasm_i32x4_add(wasm_i32x4_add(a, half), odd);
  }
  /// Eight results, of which none may be NaN.
  v128_t narrow_numbers(v128_t a, v128_t b) const { return upper_halves(round(a), round(b)); }
  v128_t narrow(v128_t a, v128_t b) const { return wasm_v128_bitselect(nan, narrow_numbers(a, b), nan_mask(a, b)); }
};

/// To round a at 2^E's eleventh bit, add 2^(E+13): float32 then has no room for anything lower. What
/// the sum's mantissa gained counts units of 2^(E-10), hidden bit included, so adding E+14 exponent
/// steps gives the f16. E stays at -14 for subnormal results, and 2^16 and above come out as Inf.
struct ToF16 {
  static constexpr int kMantissaBits = 10;
  static constexpr int kMinExponent = -14;
  static constexpr int kMaxExponent = 15;
  v128_t magnitude, limit, exponent, min_normal, up13, sign, nan;

  explicit ToF16(uint32_t zero)
      : magnitude(splat32(zero, 0x7FFFFFFF)), limit(splat32(zero, 0x47800000)), exponent(splat32(zero, 0x7F800000)),
        min_normal(splat32(zero, 0x38800000)), up13(splat32(zero, 13u << 23)), sign(splat16(zero, 0x8000)),
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
};

// ---- fp8 tables ---------------------------------------------------------------------------------------

/// The numbers of the 128 magnitudes. Inf and NaN codes hold zero: tables never serve them.
template <class Format>
struct Magnitudes {
  alignas(16) std::array<float, 128> value;
  constexpr Magnitudes() : value() {
    for (uint8_t code = 0; code <= Format::kMaxCode; ++code) value[code] = f32_from_f8<Format>(code);
  }
};
template <class Format>
constexpr Magnitudes<Format> kMagnitudes;

/// Sixteen 16-bit values as a plane of low bytes and a plane of high bytes, for two swizzles.
struct Planes {
  v128_t low, high;
};

Planes split_planes(v128_t a, v128_t b) {
  const v128_t byte = wasm_i16x8_const_splat(0xFF);
  return {wasm_u8x16_narrow_i16x8(wasm_v128_and(a, byte), wasm_v128_and(b, byte)),
          wasm_u8x16_narrow_i16x8(wasm_u16x8_shr(a, 8), wasm_u16x8_shr(b, 8))};
}

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
  // Scales for which all results are normal: the smallest code gives at least 2^kMinExponent, and the
  // largest, below 1.9 * 2^kTop, stays below 1.9 * 2^kMaxExponent. Between is every scale of a real file
  // when the target is bf16; when it is f16, unscaled E4M3 and little else.
  static constexpr int kTop = Format::kRule == Fp8Rule::fn ? 8 : Format::kMantissaBits == 3 ? 7 : 15;
  static constexpr int kMinScaleExponent = Target::kMinExponent - (1 - Format::kBias - Format::kMantissaBits);
  static constexpr int kEndScaleExponent = Target::kMaxExponent - kTop;

  v128_t magnitude, mantissa, normal, exponents, zeros;

  explicit Nibble(uint32_t zero)
      : magnitude(splat8(zero, 0x7F)), mantissa(splat8(zero, kN - 1)), normal(splat8(zero, kN)),
        exponents(splat16(zero, kExponents)), zeros(splat8(zero, 0)) {}

  static bool is_exact_for(float scale) {
    if constexpr (kMinScaleExponent >= kEndScaleExponent) return false;
    const float size = std::fabs(scale);
    return size >= exp2_f32(kMinScaleExponent) && size < exp2_f32(kEndScaleExponent);
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

  Results operator()(v128_t codes, v128_t sizes, const Planes& table) const {
    const v128_t index = wasm_u8x16_min(sizes, wasm_v128_or(wasm_v128_and(codes, mantissa), normal));
    const v128_t low = wasm_i8x16_swizzle(table.low, index);
    const v128_t high = wasm_i8x16_swizzle(table.high, index);
    return {wasm_i16x8_add(interleave8_low(low, high), exponent_of(interleave8_low(zeros, codes))),
            wasm_i16x8_add(interleave8_high(low, high), exponent_of(interleave8_high(zeros, codes)))};
  }
};
