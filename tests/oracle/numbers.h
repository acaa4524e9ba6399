// The oracle of the kernels: what each stored number means and what it becomes, by the definitions, in
// double arithmetic. Written apart from src/kernels and sharing nothing with it: no bit tricks, no tables,
// and no float32 arithmetic either, which is derived here from rounding doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dtype/dtype.h"

namespace wb::oracle {

/// The number a stored element stands for. Every dtype that the kernels read or write, and F8_E8M0.
double value_of(Dtype dtype, uint64_t bits);

/// The element whose number is nearest to `value`, ties to even, rounding once. to: F32, F16 or BF16.
/// NaN is 0x7FC00000, 0x7E00 or 0x7FC0.
uint32_t nearest(Dtype to, double value);

/// The recipe f32-mul-rne for one code: widen, multiply as float32 does, round.
uint16_t dequantized(Dtype from, Dtype to, uint8_t code, float scale);

/// The same for all 256 codes.
std::vector<uint16_t> dequantized_codes(Dtype from, Dtype to, float scale);

/// Whether f16 would lose the value: to Inf (overflow) or to zero (underflow).
enum class Lost : uint8_t { no, overflow, underflow };
Lost lost_in_f16(Dtype from, uint64_t bits, float scale = 1.0f);

}  // namespace wb::oracle
