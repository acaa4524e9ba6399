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
