// What the kernel tests share: guarded buffers at odd addresses, a bulk comparison that names the first
// difference, and the scales worth trying.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace wb::oracle {

/// Small and the same everywhere, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint32_t bits();
  uint32_t below(uint32_t end) { return static_cast<uint32_t>((uint64_t{bits()} * end) >> 32); }

 private:
  uint64_t state_;
};

/// Zeros, Inf, NaN, subnormals, every power of two and its neighbours, both signs, near ties of both
/// targets, sizes that real checkpoints have, and random bit patterns.
std::vector<float> tricky_scales();

struct Strip {
  size_t rows;
  size_t cols;
  size_t group_cols;
  size_t in_offset = 0;  ///< odd addresses
  size_t out_offset = 0;
};

/// Runs a strip kernel on copies of its arguments and compares with `expected`. Empty when all is well,
/// else one line about the first difference, or about a byte written outside `out`.
std::string strip_difference(const kernels::Kernel& kernel, const Strip& strip, const std::vector<uint8_t>& codes,
                             const std::vector<float>& scales, const std::vector<uint16_t>& expected);

/// The same for a cast kernel; `in` holds n elements.
std::string cast_difference(const kernels::Kernel& kernel, const std::vector<uint8_t>& in, size_t n,
                            const std::vector<uint16_t>& expected, size_t in_offset = 0, size_t out_offset = 0);

}  // namespace wb::oracle
