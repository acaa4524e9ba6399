// Look-up: codes to 16-bit results through a table of sixteen.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtype/dtype.h"

namespace wb::kernels {

/// Rounds values[code] to the target for n codes, one a byte and each below 16. `values`: sixteen. to: BF16 or F16.
void look_up_16(const float* values, Dtype to, const uint8_t* codes, size_t n, uint8_t* out);

}  // namespace wb::kernels
