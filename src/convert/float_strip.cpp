#include "convert/float_strip.h"

#include <cmath>

#include "base/bytes.h"
#include "kernels/numeric.h"

namespace wb {
namespace {

template <class Stored, class Widen>
kernels::F16Loss multiply(Dtype to, const uint8_t* codes, size_t rows, size_t cols, const float* scales,
                          size_t group_cols, uint8_t* out, Widen widen) {
  kernels::F16Loss loss;
  for (size_t i = 0; i < rows * cols; ++i) {
    const float stored = widen(load_le<Stored>(codes + i * sizeof(Stored)));
    const float scale = scales[i % cols / group_cols];
    const float product = stored * scale;
    uint16_t bits;
    if (to == Dtype::F16) {
      bits = kernels::f16_from_f32(product);
      const bool finite = std::isfinite(stored) && std::isfinite(scale);
      loss.overflow += finite && (bits & 0x7FFF) == 0x7C00;
      loss.underflow += finite && stored != 0 && scale != 0 && (bits & 0x7FFF) == 0;
    } else {
      bits = kernels::bf16_from_f32(product);
    }
    if (out) store_le(out + 2 * i, bits);
  }
  return loss;
}

}  // namespace

kernels::F16Loss multiply_float_strip(Dtype from, Dtype to, const uint8_t* codes, size_t rows, size_t cols,
                                      const float* scales, size_t group_cols, uint8_t* out) {
  switch (from) {
    case Dtype::F32:
      return multiply<float>(to, codes, rows, cols, scales, group_cols, out, [](float value) { return value; });
    case Dtype::BF16: return multiply<uint16_t>(to, codes, rows, cols, scales, group_cols, out, kernels::f32_from_bf16);
    case Dtype::F16: return multiply<uint16_t>(to, codes, rows, cols, scales, group_cols, out, kernels::f32_from_f16);
    default: return {};
  }
}

}  // namespace wb
