// Rotated integers (ComfyUI's "convrot"): a row was multiplied, group by group, with a Hadamard matrix
// before it was quantized. The matrix is its own inverse, so the same butterflies undo it.
//
//   H4 = 1/2 * [ 1  1  1 -1 ]     H(4^k) = H4 (x) H4 (x) ... (x) H4, symmetric and orthogonal
//              [ 1  1 -1  1 ]
//              [ 1 -1  1  1 ]
//              [-1  1  1  1 ]
//
// Source: reference/formats.md 5.2e. The tools multiply with the whole matrix in an order of their own, so
// their last bit is not defined; results agree to one unit in the last place of bf16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel.h"

namespace wb::kernels {

/// 4, 16, 64, 256 or 1024: what can be undone.
bool is_rotation_group(uint64_t group);
inline constexpr size_t kRotationGroupMax = 1024;

/// Un-rotates one group of float32 values in place; `group` satisfies is_rotation_group.
void unrotate_group(float* values, size_t group);

/// n int8 codes that share one scale, n a multiple of `group`: code f32* scale, un-rotated in float32, rounded
/// once to `to`. `out` may be null: then only what f16 would lose is counted, which it is in any case.
F16Loss unrotate_i8(const uint8_t* codes, size_t n, float scale, size_t group, Dtype to, uint8_t* out);

}  // namespace wb::kernels
