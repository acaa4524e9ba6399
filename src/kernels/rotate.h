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

namespace wb::kernels {

/// 4, 16, 64, 256 or 1024: what can be undone.
bool is_rotation_group(uint64_t group);
inline constexpr size_t kRotationGroupMax = 1024;

/// Un-rotates one group of float32 values in place; `group` satisfies is_rotation_group.
void unrotate_group(float* values, size_t group);

}  // namespace wb::kernels
