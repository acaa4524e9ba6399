#include "kernels/rotate.h"

#include <cmath>

#include "kernels/numeric.h"

namespace wb::kernels {
namespace {

// One stage per factor H4, without its 1/2: rows of four values `stride` apart.
void butterflies(float* values, size_t group) {
  for (size_t stride = 1; stride < group; stride *= 4) {
    for (size_t block = 0; block < group; block += 4 * stride) {
      for (size_t i = block; i < block + stride; ++i) {
        const float a = values[i];
        const float b = values[i + stride];
        const float c = values[i + 2 * stride];
        const float d = values[i + 3 * stride];
        values[i] = (a + b) + (c - d);
        values[i + stride] = (a + b) - (c - d);
        values[i + 2 * stride] = (a - b) + (c + d);
        values[i + 3 * stride] = (c + d) - (a - b);
      }
    }
  }
}

}  // namespace

bool is_rotation_group(uint64_t group) {
  for (uint64_t size = 4; size <= kRotationGroupMax; size *= 4) {
    if (size == group) return true;
  }
  return false;
}

void unrotate_group(float* values, size_t group) {
  butterflies(values, group);
  // 1/sqrt(4^k) is a power of two: exact.
  const float factor = 1 / std::sqrt(static_cast<float>(group));
  for (size_t i = 0; i < group; ++i) values[i] *= factor;
}

F16Loss unrotate_i8(const uint8_t* codes, size_t n, float scale, size_t group, Dtype to, uint8_t* out) {
  float values[kRotationGroupMax];
  F16Loss loss;
  for (size_t at = 0; at < n; at += group) {
    for (size_t i = 0; i < group; ++i) values[i] = static_cast<float>(static_cast<int8_t>(codes[at + i])) * scale;
    unrotate_group(values, group);
    for (size_t i = 0; i < group; ++i) {
      const float value = values[i];
      const uint16_t half = f16_from_f32(value);
      loss.overflow += (half & 0x7FFF) == 0x7C00 && std::isfinite(value);
      loss.underflow += (half & 0x7FFF) == 0 && value != 0;
      if (out) store_le<uint16_t>(out + 2 * (at + i), to == Dtype::F16 ? half : bf16_from_f32(value));
    }
  }
  return loss;
}

}  // namespace wb::kernels
