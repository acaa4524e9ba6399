// A float weight times its scale: the rare case of a scale beside a weight that is not quantized, when
// the user decided to multiply. Plain code; the kernels' table holds only what is met often.
#pragma once

#include "kernels/kernel.h"

namespace wb {

/// As kernels::DequantizeStrip, for codes that are F32, BF16 or F16: multiplied in float32, rounded once
/// to `to`. `out` may be null: then only the losses of f16 are counted.
kernels::F16Loss multiply_float_strip(Dtype from, Dtype to, const uint8_t* codes, size_t rows, size_t cols,
                                      const float* scales, size_t group_cols, uint8_t* out);

}  // namespace wb
