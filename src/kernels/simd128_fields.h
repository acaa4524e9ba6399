// What fields.cpp hands over to vectors in wasm builds: blocks of 4-bit fields that are turned round, as GPTQ and AWQ
// store them. A block is a cache line each way, because a transposition reads and writes everything once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wb::kernels::simd128 {

/// A word holds 8 fields straight down its column: field f of the word at (line, col) goes to
/// out[col * col_stride + 8 * line + f]. `lines` is even, `cols` a multiple of 4.
void turn_words_down(const uint8_t* words, size_t line_bytes, size_t lines, size_t cols, uint8_t* out,
                     size_t col_stride);

/// AWQ: word w of a line holds columns 8 * w.. in the order of Packing::awq; column c of a line goes to
/// out[c * col_stride + line]. `lines` is a multiple of 16, `words` of 4.
void turn_words_awq(const uint8_t* in, size_t line_bytes, size_t lines, size_t words, uint8_t* out, size_t col_stride);

}  // namespace wb::kernels::simd128
