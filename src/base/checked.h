// uint64 arithmetic that cannot wrap silently. Sizes come from untrusted headers, and size_t has
// 32 bits in wasm32, so every size and offset is a uint64_t and every sum and product goes through here.
#pragma once

#include <cstdint>
#include <optional>

namespace wb {

inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

/// ceil(a / b) without a + b; b > 0.
constexpr uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

}  // namespace wb
