// The characters that stand for themselves inside a JSON string: all but the quote, the backslash and what is below
// 0x20.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace wb {

inline bool is_plain_json(char c) { return static_cast<uint8_t>(c) >= 0x20 && c != '"' && c != '\\'; }

/// Characters before the first that is not plain, or all. Eight at a time: a byte of `x - ones & ~x & tops` has its top
/// bit set where x has a zero byte; above the lowest such byte the answer can be wrong, and nobody looks there.
inline size_t plain_json_prefix(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kTops = 0x8080808080808080;
  constexpr auto zeros = [](uint64_t x) { return (x - kOnes) & ~x & kTops; };
  size_t at = 0;
  for (; text.size() - at >= 8; at += 8) {
    const auto x = load_le<uint64_t>(text.data() + at);
    const uint64_t below_space = (x - kOnes * 0x20) & ~x & kTops;
    const uint64_t found = below_space | zeros(x ^ kOnes * '"') | zeros(x ^ kOnes * '\\');
    if (found) return at + static_cast<size_t>(std::countr_zero(found)) / 8;
  }
  while (at < text.size() && is_plain_json(text[at])) ++at;
  return at;
}

}  // namespace wb
