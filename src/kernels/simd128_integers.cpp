// simd128 kernels for strips of 8-bit integers; empty in native builds. The recipe itself, four float32 lanes at a
// time: an integer under a finite scale is never NaN.
#ifdef __wasm_simd128__
#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.h"
#include "kernels/kernel.h"
#include "kernels/simd128.h"

namespace wb::kernels::simd128 {
namespace {

constexpr size_t kPanelCols = 256;

/// Flip: what turns a code into two's complement. By127: LLM.int8's second multiplication.
template <class Target, uint32_t Flip, bool By127>
struct Integers {
  Target target;
  v128_t flip, by_127, zeros;

  explicit Integers(uint32_t zero)
      : target(zero), flip(splat8(zero, Flip)), by_127(splat32(zero, 0x3C010204)), zeros(splat8(zero, 0)) {}

  /// `high`: the integers in the upper bytes of their lanes. (clang 14 takes a chain of extends apart into scalars.)
  /// Without Any the scale comes divided by 2^24, which saves the shift.
  template <bool Any>
  v128_t four(v128_t high, v128_t scale) const {
    const v128_t integers = Any ? wasm_i32x4_shr(high, 24) : high;
    const v128_t scaled = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(integers), scale);
    return By127 ? wasm_f32x4_mul(scaled, by_127) : scaled;
  }
  template <bool Any>
  v128_t eight(v128_t high, v128_t scale0, v128_t scale1) const {
    const v128_t a = four<Any>(interleave16_low(zeros, high), scale0);
    const v128_t b = four<Any>(interleave16_high(zeros, high), scale1);
    return Any ? target.narrow(a, b) : target.narrow_numbers(a, b);
  }
  template <bool Any>
  Results sixteen(const uint8_t* codes, const std::array<v128_t, 4>& scales) const {
    const v128_t x = wasm_v128_xor(wasm_v128_load(codes), flip);
    return {eight<Any>(interleave8_low(zeros, x), scales[0], scales[1]),
            eight<Any>(interleave8_high(zeros, x), scales[2], scales[3])};
  }

  template <bool Any>
  __attribute__((noinline)) void run(const uint8_t* codes, size_t n, float scale, uint8_t* out) const {
    const v128_t factor = wasm_f32x4_splat(scale);
    for_each_16_padded(codes, n, out, [self = *this, factor](const uint8_t* at, size_t) {
      return self.template sixteen<Any>(at, {factor, factor, factor, factor});
    });
  }

  /// Finite, and still exact when divided by 2^24.
  static bool is_plain(const float* scales, size_t n) {
    bool all = true;
    for (size_t i = 0; i < n; ++i)
      all = all && std::isfinite(scales[i]) && (std::fabs(scales[i]) >= 0x1p-102f || scales[i] == 0);
    return all;
  }

  /// Whole groups of a multiple of 16 codes under plain scales. No calls, so that all constants stay in registers.
  void run_plain(const uint8_t* codes, size_t groups, size_t group_cols, const float* scales, uint8_t* out) const {
    const Integers self = *this;
    for (size_t g = 0; g < groups; ++g) {
      const v128_t factor = wasm_f32x4_splat(scales[g] * 0x1p-24f);
      for (const uint8_t* const end = codes + group_cols; codes != end; codes += 16, out += 32)
        self.template sixteen<false>(codes, {factor, factor, factor, factor}).store(out);
    }
  }

  /// Groups of 16 columns and more.
  void by_groups(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols,
                 uint8_t* out) const {
    const bool plain = is_plain(scales, static_cast<size_t>(ceil_div(cols, group_cols)));
    const size_t groups = plain && group_cols % 16 == 0 ? cols / group_cols : 0;
    for (size_t row = 0; row < rows; ++row) {
      run_plain(codes + row * cols, groups, group_cols, scales, out + 2 * row * cols);
      for (size_t group = groups, col = groups * group_cols; col < cols; col += group_cols, ++group) {
        const size_t first = row * cols + col;
        const size_t n = std::min(group_cols, cols - col);
        if (plain) {
          run<false>(codes + first, n, scales[group] * 0x1p-24f, out + 2 * first);
        } else {
          run<true>(codes + first, n, scales[group], out + 2 * first);
        }
      }
    }
  }

  /// Shorter ones: the scales of a panel of columns are spread out, one a column.
  void spread(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols,
              uint8_t* out) const {
    alignas(16) float factors[kPanelCols] = {};  // all set even if cols < 16: the codes get padded
    for (size_t col = 0; col < cols; col += kPanelCols) {
      const size_t n = std::min(kPanelCols, cols - col);
      for (size_t i = 0; i < n; ++i) factors[i] = scales[(col + i) / group_cols];
      for (size_t row = 0; row < rows; ++row) {
        const size_t first = row * cols + col;
        for_each_16_padded(codes + first, n, out + 2 * first, [this, &factors](const uint8_t* in, size_t at) {
          const float* f = factors + at;
          return sixteen<true>(
              in, {wasm_v128_load(f), wasm_v128_load(f + 4), wasm_v128_load(f + 8), wasm_v128_load(f + 12)});
        });
      }
    }
  }
};

template <class Target, uint32_t Flip, bool By127>
void dequantize(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols, uint8_t* out) {
  if (rows == 0 || cols == 0) return;
  const Integers<Target, Flip, By127> integers(opaque_zero);
  group_cols = std::min(group_cols, cols);
  if (group_cols < 16) return integers.spread(codes, rows, cols, scales, group_cols, out);
  integers.by_groups(codes, rows, cols, scales, group_cols, out);
}

}  // namespace

#define WB_STRIP(from, flip, by_127)                                                                                  \
  void strip_bf16_from_##from(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols, \
                              uint8_t* out) {                                                                         \
    dequantize<ToBf16, flip, by_127>(codes, rows, cols, scales, group_cols, out);                                     \
  }                                                                                                                   \
  void strip_f16_from_##from(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols,  \
                             uint8_t* out) {                                                                          \
    dequantize<ToF16, flip, by_127>(codes, rows, cols, scales, group_cols, out);                                      \
  }
WB_STRIP(i8, 0x00, false)
WB_STRIP(u8b128, 0x80, false)
WB_STRIP(i8_by_127, 0x00, true)
#undef WB_STRIP

}  // namespace wb::kernels::simd128
#endif
