// Kernels: payload + scale -> bf16 or f16 for a strip of elements. One table row per kernel
// (kernels.inc); dispatch, tests and benchmarks all read that table.
//
// The recipe of every kernel here is `f32-mul-rne`: widen the code exactly to float32, one IEEE
// float32 multiply with the scale, round once to nearest even to the target. No double, no FMA, no
// relaxed SIMD, no bf16 step on the way to f16. NaN becomes 0x7FC0 (bf16) or 0x7E00 (f16), sign and
// payload dropped. Overflow becomes a signed infinity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "dtype/codec.h"

namespace wb::kernels {

enum class Isa : uint8_t { scalar, simd128 };

/// Dequantizes a strip: `rows` x `cols` codes, row-major without gaps; codes of 4 bits fill their bytes,
/// so that rows * cols codes take ceil(rows * cols / 2) bytes. All rows share one
/// row of scales: element (r, c) is codes[r * cols + c] times scales[c / group_cols]. Writes
/// rows * cols 16-bit values to `out`. No pointer need be aligned; in and out do not overlap.
/// group_cols > 0; `scales` holds ceil(cols / group_cols) values; rows or cols may be 0.
/// Per tensor: rows = 1, cols = group_cols = n. 128 x 128 blocks: rows <= 128, group_cols = 128.
using DequantizeStrip = void (*)(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols,
                                 uint8_t* out);

/// Casts n unscaled elements (F32, F16, BF16, F64) to the 16-bit target, rounding once.
using CastRun = void (*)(const uint8_t* in, size_t n, uint8_t* out);

/// One row of the table. Exactly one of the two functions is set: `strip` for payloads that take a scale,
/// `cast` for floats that are only narrowed.
struct Kernel {
  std::string_view name;  ///< to_from_source__shape__isa, e.g. "bf16_from_f8_e4m3__strip__simd128"
  Codec from;
  Dtype to;
  Isa isa;
  DequantizeStrip strip;
  CastRun cast;
};

/// Every kernel of this build, the scalar reference first. simd128 rows exist in wasm builds only.
std::span<const Kernel> all_kernels();

/// The fastest strip kernel of this build, or null where the product has none. to: BF16 or F16.
const Kernel* find_strip(Codec from, Dtype to);

/// The fastest cast of this build, or null. from: F32, F16, BF16, F64, from != to. to: BF16 or F16.
const Kernel* find_cast(Dtype from, Dtype to);

/// What a conversion to f16 would lose: values whose rounded magnitude is infinite although the
/// product was finite, and non-zero values that round to zero.
struct F16Loss {
  uint64_t overflow = 0;
  uint64_t underflow = 0;
  F16Loss& operator+=(const F16Loss& other) {
    overflow += other.overflow;
    underflow += other.underflow;
    return *this;
  }
};

/// Counts without writing; same arguments as DequantizeStrip, `from` a codec that has strips. A code
/// that is itself Inf or NaN is neither overflow nor underflow; a finite code times a finite scale
/// that leaves float32's or f16's range is overflow.
F16Loss count_f16_loss_strip(Codec from, const uint8_t* codes, size_t rows, size_t cols, const float* scales,
                             size_t group_cols);

/// The same for the unscaled floats F32, BF16, F64.
F16Loss count_f16_loss_cast(Dtype from, const uint8_t* in, size_t n);

/// Widens n stored scales exactly to float32. dtype: F32, BF16, F16, F8_E8M0, U8 (an E8M0 exponent
/// byte: 2^(x-127), 0 is 2^-127, 255 is NaN) or F8_E4M3. `out` holds n floats, any alignment of `in`.
/// False, and nothing written, for any other dtype.
bool widen_scales(Dtype dtype, const uint8_t* in, size_t n, float* out);

/// The scale as the target dtype holds it, back in float32. A finite scale that becomes infinite counts as one
/// overflow in `loss`: every weight under it would be infinite. to: BF16 or F16.
float round_scale(Dtype to, float scale, F16Loss& loss);

}  // namespace wb::kernels
