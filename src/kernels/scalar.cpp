// Scalar kernels: the reference, one element at a time and plainly the recipe of kernel.h. Native
// builds run these; wasm builds keep them for F64 and to test simd128.cpp against.
#include <algorithm>

#include "kernels/kernel.h"
#include "kernels/numeric.h"

namespace wb::kernels::scalar {
namespace {

using Narrow = uint16_t (*)(float);

template <class Format, Narrow narrow>
void dequantize(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols, uint8_t* out) {
  for (size_t row = 0; row < rows; ++row) {
    size_t col = 0;
    for (size_t group = 0; col < cols; ++group) {
      const float scale = scales[group];
      const size_t end = col + std::min(group_cols, cols - col);
      for (; col < end; ++col, ++codes, out += 2) {
        store_le<uint16_t>(out, narrow(f32_from_f8<Format>(*codes) * scale));
      }
    }
  }
}

/// The same for any codec: `value_at(codes, i)` is element i of the strip, before its scale.
template <auto value_at, Narrow narrow>
void dequantize_elements(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols,
                         uint8_t* out) {
  for (size_t i = 0; i < rows * cols; ++i) {
    store_le<uint16_t>(out + 2 * i, narrow(value_at(codes, i) * scales[i % cols / group_cols]));
  }
}

constexpr float e2m1_at_low(const uint8_t* codes, size_t i) { return f32_from_e2m1(nibble_low_first(codes, i)); }
constexpr float e2m1_at_high(const uint8_t* codes, size_t i) { return f32_from_e2m1(nibble_high_first(codes, i)); }
constexpr float i4_at(const uint8_t* codes, size_t i) {
  return static_cast<float>((nibble_low_first(codes, i) ^ 8) - 8);
}
constexpr float u4b8_at(const uint8_t* codes, size_t i) { return static_cast<float>(nibble_low_first(codes, i) - 8); }
constexpr float i8_at(const uint8_t* codes, size_t i) { return static_cast<float>(static_cast<int8_t>(codes[i])); }
constexpr float u8b128_at(const uint8_t* codes, size_t i) { return static_cast<float>(codes[i] - 128); }
constexpr float nf4_at(const uint8_t* codes, size_t i) { return kNf4[nibble_high_first(codes, i)]; }
constexpr float fp4_bnb_at(const uint8_t* codes, size_t i) { return kFp4Bnb[nibble_high_first(codes, i)]; }
float bf16_at(const uint8_t* codes, size_t i) { return f32_from_bf16(load_le<uint16_t>(codes + 2 * i)); }
float f16_at(const uint8_t* codes, size_t i) { return f32_from_f16(load_le<uint16_t>(codes + 2 * i)); }
float f32_at(const uint8_t* codes, size_t i) { return load_le<float>(codes + 4 * i); }

/// LLM.int8: two multiplications, in the order of its own code.
template <Narrow narrow>
void dequantize_by_127(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols,
                       uint8_t* out) {
  for (size_t i = 0; i < rows * cols; ++i) {
    const float scaled = i8_at(codes, i) * scales[i % cols / group_cols];
    store_le<uint16_t>(out + 2 * i, narrow(scaled * bit_cast<float>(0x3C010204u)));
  }
}

template <class From, auto convert>
void cast_run(const uint8_t* in, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; ++i) store_le<uint16_t>(out + 2 * i, convert(load_le<From>(in + sizeof(From) * i)));
}

constexpr uint16_t bf16_from_f16(uint16_t bits) { return bf16_from_f32(f32_from_f16(bits)); }
constexpr uint16_t f16_from_bf16(uint16_t bits) { return f16_from_f32(f32_from_bf16(bits)); }

}  // namespace

#define WB_STRIP(to, from, Format)                                                                   \
  void strip_##to##_from_##from(const uint8_t* codes, size_t rows, size_t cols, const float* scales, \
                                size_t group_cols, uint8_t* out) {                                   \
    dequantize<Format, to##_from_f32>(codes, rows, cols, scales, group_cols, out);                   \
  }
WB_STRIP(bf16, f8_e4m3, E4M3)
WB_STRIP(bf16, f8_e5m2, E5M2)
WB_STRIP(bf16, f8_e4m3fnuz, E4M3Fnuz)
WB_STRIP(bf16, f8_e5m2fnuz, E5M2Fnuz)
WB_STRIP(f16, f8_e4m3, E4M3)
WB_STRIP(f16, f8_e5m2, E5M2)
WB_STRIP(f16, f8_e4m3fnuz, E4M3Fnuz)
WB_STRIP(f16, f8_e5m2fnuz, E5M2Fnuz)
#undef WB_STRIP

#define WB_ELEMENTS(from, function)                                                                                   \
  void strip_bf16_from_##from(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols, \
                              uint8_t* out) {                                                                         \
    function<bf16_from_f32>(codes, rows, cols, scales, group_cols, out);                                              \
  }                                                                                                                   \
  void strip_f16_from_##from(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols,  \
                             uint8_t* out) {                                                                          \
    function<f16_from_f32>(codes, rows, cols, scales, group_cols, out);                                               \
  }
#define WB_EACH(from, at)                                                                                         \
  template <Narrow narrow>                                                                                        \
  static void each_##from(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols, \
                          uint8_t* out) {                                                                         \
    dequantize_elements<at, narrow>(codes, rows, cols, scales, group_cols, out);                                  \
  }                                                                                                               \
  WB_ELEMENTS(from, each_##from)
WB_EACH(i8, i8_at)
WB_EACH(f4_low, e2m1_at_low)
WB_EACH(f4_high, e2m1_at_high)
WB_EACH(i4_low, i4_at)
WB_EACH(u4b8_low, u4b8_at)
WB_EACH(u8b128, u8b128_at)
WB_EACH(nf4_high, nf4_at)
WB_EACH(fp4_bnb_high, fp4_bnb_at)
WB_EACH(bf16, bf16_at)
WB_EACH(f16, f16_at)
WB_EACH(f32, f32_at)
WB_ELEMENTS(i8_by_127, dequantize_by_127)
#undef WB_EACH
#undef WB_ELEMENTS

#define WB_CAST(to, from, From)                                             \
  void cast_##to##_from_##from(const uint8_t* in, size_t n, uint8_t* out) { \
    cast_run<From, to##_from_##from>(in, n, out);                           \
  }
WB_CAST(bf16, f32, float)
WB_CAST(bf16, f16, uint16_t)
WB_CAST(bf16, f64, double)
WB_CAST(f16, f32, float)
WB_CAST(f16, bf16, uint16_t)
WB_CAST(f16, f64, double)
#undef WB_CAST

}  // namespace wb::kernels::scalar
