// Affine rows: codes that need more than one multiplication. One row at a time through float32, in an order that
// every scheme of this family shares; what a scheme does not have is left out:
//
//   x = table[code]            x -= zero             x *= scale
//   x = clamp(rne(x), -127, 127) * row_scale         (codes on an int8 grid: ComfyUI's asym_w4a8_int8)
//   x += addend                x *= factor[column]   x = x * H, by groups of columns (rotate.h)
//
// and one rounding to the target at the end. Every step is one IEEE float32 operation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel.h"

namespace wb::kernels {

/// Zero, scale and addend of the group that a column belongs to stand at [group]; null: not part of the scheme.
struct AffineRow {
  const float* table = nullptr;  ///< 256 values
  size_t codes = 256;            ///< how many of them codes can name
  const float* zero = nullptr;
  const float* scale = nullptr;
  const float* addend = nullptr;
  bool subtract_addend = false;
  bool to_int8 = false;
  float row_scale = 1;
  const float* factor = nullptr;    ///< one a column
  size_t rotation = 0;              ///< columns of a rotated group; 0: none
  const uint32_t* order = nullptr;  ///< the group of each column; null: (col + into_group) / group_cols
  uint64_t group_cols = 1;
  uint64_t into_group = 0;  ///< where in its group column 0 stands
};

/// n codes to bf16 or f16; n is a multiple of `rotation` where there is one. `out` may be null: then only what f16
/// would lose is counted, as it is whenever `to` is F16.
F16Loss dequantize_affine_row(const uint8_t* codes, size_t n, const AffineRow& row, Dtype to, uint8_t* out);

}  // namespace wb::kernels
