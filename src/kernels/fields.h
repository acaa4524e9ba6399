// Fields: codes of 1..8 bits out of the words that hold them. Every packing of the census that is not plainly
// one row after another is one row of this list, a picture of its bits and one function.
//
// A packing describes a *stored matrix* of `rows` x `cols` fields. "Stored line": what stands without a gap in
// the file; a piece is a run of whole lines, or the same part of each.
//
//   rows_low   line = row. Field j at bits j*b of the line's little-endian bit stream; b = 3, 5, 6, 7 straddle bytes.
//   rows_high  line = row, b = 4. Byte j/2: the even field in bits 4..7.
//   down_8     line = 8/b rows. Byte j of line l holds rows l*8/b + i of column j at bits i*b.
//   down_32    line of 32-bit words. Word j of line l is bits 32*l.. of the bit stream down column j.
//   awq        line = row. Word j/8; column j in nibble {0,4,1,5,2,6,3,7}[j%8] (AutoAWQ "gemm").
//   parts_8    one line of all fields, cut into 8/b parts: byte i holds field i + p*n at bits 8 - (p+1)*b, n bytes in
//   all
//              (HQQ).
//   parts_30   HQQ's 3 bits: word i holds field i + p*n at bits 27 - 3*p, p = 0..9, n words in all.
//
// Source: reference/formats.md 7.2, 7.3, 9, 10.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wb::kernels {

enum class Packing : uint8_t { rows_low, rows_high, down_8, down_32, awq, parts_8, parts_30 };

/// Lines of a stored matrix, and what one of them takes.
struct StoredLines {
  uint64_t lines = 0;
  uint64_t line_bytes = 0;
};
/// Of rows x cols fields of `bits` bits, 1..8; rows * cols must have been checked against a tensor's size.
StoredLines stored_lines(Packing packing, uint64_t rows, uint64_t cols, uint32_t bits);

/// Part of a stored matrix as it was read: lines [line_begin, line_end), of each the bytes [byte_begin, byte_end).
/// byte_begin is a multiple of 4 and of `bits`, or 0.
struct StoredPart {
  uint64_t line_begin = 0;
  uint64_t line_end = 0;
  uint64_t byte_begin = 0;
  uint64_t byte_end = 0;
};

/// The fields that are wanted, and where each goes: field (i, j) to out[(i - row_begin) * row_stride + (j - col_begin)
/// * col_stride]. Strides of (1, n) transpose.
struct FieldTarget {
  uint64_t row_begin = 0;
  uint64_t row_end = 0;
  uint64_t col_begin = 0;
  uint64_t col_end = 0;
  uint8_t* out = nullptr;
  size_t row_stride = 0;
  size_t col_stride = 1;
};

/// Puts the fields of `part` that `target` wants where they belong; the others are left alone. A field that straddles
/// two lines arrives in two calls: `out` must be zero before the first (only down_32 with 3, 5, 6 or 7 bits).
void unpack_fields(Packing packing, uint32_t bits, uint64_t rows, uint64_t cols, const StoredPart& part,
                   const uint8_t* bytes, const FieldTarget& target);

}  // namespace wb::kernels
