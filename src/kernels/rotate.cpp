#include "kernels/rotate.h"

#include <cmath>

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

}  // namespace wb::kernels
