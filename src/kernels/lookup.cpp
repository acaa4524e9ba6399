#include "kernels/lookup.h"

#include "kernels/kernel.h"
#include "kernels/numeric.h"
#ifdef __wasm_simd128__
#include "kernels/simd128.h"
#endif

namespace wb::kernels {

#ifdef __wasm_simd128__
namespace simd128 {

template <class Target>
static void look_up(const float* values, const uint8_t* codes, size_t n, uint8_t* out) {
  const Target target(opaque_zero);
  const v128_t a = wasm_v128_load(values);
  const v128_t b = wasm_v128_load(values + 4);
  const v128_t c = wasm_v128_load(values + 8);
  const v128_t d = wasm_v128_load(values + 12);
  const bool any_nan = wasm_v128_any_true(wasm_v128_or(nan_mask(a, b), nan_mask(c, d)));
  const Planes table = any_nan ? split_planes(target.narrow(a, b), target.narrow(c, d)) : target.table(a, b, c, d);
  for_each_16_padded(codes, n, out, [table](const uint8_t* at, size_t) { return table.at(wasm_v128_load(at)); });
}

}  // namespace simd128
#endif

void look_up_16(const float* values, Dtype to, const uint8_t* codes, size_t n, uint8_t* out) {
  if (n == 0) return;
#ifdef __wasm_simd128__
  (to == Dtype::BF16 ? simd128::look_up<simd128::ToBf16> : simd128::look_up<simd128::ToF16>)(values, codes, n, out);
#else
  uint16_t results[16];
  for (int code = 0; code < 16; ++code)
    results[code] = to == Dtype::BF16 ? bf16_from_f32(values[code]) : f16_from_f32(values[code]);
  for (size_t i = 0; i < n; ++i) store_le<uint16_t>(out + 2 * i, results[codes[i]]);
#endif
}

}  // namespace wb::kernels
