// Stored scales -> float32. Widening is exact for every dtype here.
#include <cmath>

#include "kernels/kernel.h"
#include "kernels/numeric.h"

namespace wb::kernels {

template <class Stored, class Widen>
static void widen_each(const uint8_t* in, size_t n, float* out, Widen widen) {
  for (size_t i = 0; i < n; ++i) out[i] = widen(load_le<Stored>(in + sizeof(Stored) * i));
}

bool widen_scales(Dtype dtype, const uint8_t* in, size_t n, float* out) {
  switch (dtype) {
    case Dtype::F32: widen_each<float>(in, n, out, [](float scale) { return scale; }); return true;
    case Dtype::BF16: widen_each<uint16_t>(in, n, out, f32_from_bf16); return true;
    case Dtype::F16: widen_each<uint16_t>(in, n, out, f32_from_f16); return true;
    case Dtype::F8_E8M0:
    case Dtype::U8: widen_each<uint8_t>(in, n, out, f32_from_f8_e8m0); return true;
    case Dtype::F8_E4M3: widen_each<uint8_t>(in, n, out, f32_from_f8_e4m3); return true;
    default: return false;
  }
}

float round_scale(Dtype to, float scale, F16Loss& loss) {
  if (to == Dtype::BF16) return f32_from_bf16(bf16_from_f32(scale));
  const float rounded = f32_from_f16(f16_from_f32(scale));
  loss.overflow += std::isinf(rounded) && std::isfinite(scale);
  return rounded;
}

}  // namespace wb::kernels
