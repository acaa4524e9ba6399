#ifdef __wasm_simd128__
#include "kernels/simd128_fields.h"

#include <algorithm>
#include <array>

#include "kernels/simd128.h"

namespace wb::kernels::simd128 {
namespace {

/// The nibbles of sixteen bytes, low and high.
struct Nibbles {
  v128_t low, high;
  explicit Nibbles(v128_t x)
      : low(wasm_v128_and(x, wasm_u8x16_const_splat(15))),
        high(wasm_v128_and(wasm_u16x8_shr(x, 4), wasm_u8x16_const_splat(15))) {}
};

/// Two lines of four words: sixteen fields down each of four columns.
void turn_four_columns(const uint8_t* in, size_t line_bytes, uint8_t* out, size_t col_stride) {
  const Nibbles upper(wasm_v128_load(in));
  const Nibbles lower(wasm_v128_load(in + line_bytes));
  const v128_t a = interleave8_low(upper.low, upper.high);  // columns 0 and 1, eight fields each
  const v128_t b = interleave8_high(upper.low, upper.high);
  const v128_t c = interleave8_low(lower.low, lower.high);
  const v128_t d = interleave8_high(lower.low, lower.high);
  wasm_v128_store(out, wasm_i64x2_shuffle(a, c, 0, 2));
  wasm_v128_store(out + col_stride, wasm_i64x2_shuffle(a, c, 1, 3));
  wasm_v128_store(out + 2 * col_stride, wasm_i64x2_shuffle(b, d, 0, 2));
  wasm_v128_store(out + 3 * col_stride, wasm_i64x2_shuffle(b, d, 1, 3));
}

using Square = std::array<v128_t, 16>;

/// Four times the perfect shuffle of all bytes turns sixteen lines into sixteen columns.
inline __attribute__((always_inline)) Square transposed(Square x) {
  for (int round = 0; round < 4; ++round) {
    Square y;
    for (size_t i = 0; i < 8; ++i) {
      y[2 * i] = interleave8_low(x[i], x[i + 8]);
      y[2 * i + 1] = interleave8_high(x[i], x[i + 8]);
    }
    x = y;
  }
  return x;
}

/// The column of a word that each nibble holds: the inverse of {0, 4, 1, 5, 2, 6, 3, 7}.
constexpr size_t kAwqColumn[8] = {0, 2, 4, 6, 1, 3, 5, 7};

/// Sixteen lines of four words. Bytes are turned first, each with its two columns.
void turn_awq_square(const uint8_t* in, size_t line_bytes, uint8_t* out, size_t col_stride) {
  Square bytes;
  for (size_t line = 0; line < 16; ++line) bytes[line] = wasm_v128_load(in + line * line_bytes);
  bytes = transposed(bytes);
  for (size_t i = 0; i < 16; ++i) {
    const Nibbles nibbles(bytes[i]);
    uint8_t* const word = out + i / 4 * 8 * col_stride;
    wasm_v128_store(word + kAwqColumn[i % 4 * 2] * col_stride, nibbles.low);
    wasm_v128_store(word + kAwqColumn[i % 4 * 2 + 1] * col_stride, nibbles.high);
  }
}

}  // namespace

void turn_words_down(const uint8_t* words, size_t line_bytes, size_t lines, size_t cols, uint8_t* out,
                     size_t col_stride) {
  constexpr size_t kLines = 8;  // 64 fields
  constexpr size_t kCols = 16;  // 64 bytes
  for (size_t line = 0; line < lines; line += kLines) {
    const size_t line_end = std::min(lines, line + kLines);
    for (size_t col = 0; col < cols; col += kCols) {
      const size_t col_end = std::min(cols, col + kCols);
      for (size_t c = col; c < col_end; c += 4) {
        for (size_t l = line; l < line_end; l += 2)
          turn_four_columns(words + l * line_bytes + 4 * c, line_bytes, out + c * col_stride + 8 * l, col_stride);
      }
    }
  }
}

void turn_words_awq(const uint8_t* in, size_t line_bytes, size_t lines, size_t words, uint8_t* out, size_t col_stride) {
  constexpr size_t kLines = 64;  // a cache line of each column
  for (size_t line = 0; line < lines; line += kLines) {
    const size_t line_end = std::min(lines, line + kLines);
    for (size_t word = 0; word < words; word += 4) {
      for (size_t l = line; l < line_end; l += 16)
        turn_awq_square(in + l * line_bytes + 4 * word, line_bytes, out + 8 * word * col_stride + l, col_stride);
    }
  }
}

}  // namespace wb::kernels::simd128
#endif
