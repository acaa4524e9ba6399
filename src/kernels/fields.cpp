#include "kernels/fields.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/checked.h"
#include "kernels/simd128_fields.h"

namespace wb::kernels {
namespace {

struct Source {
  uint32_t bits;
  uint64_t rows;
  uint64_t cols;
  const StoredPart& part;
  const uint8_t* bytes;

  uint8_t mask() const { return static_cast<uint8_t>((1u << bits) - 1); }
  size_t line_bytes() const { return static_cast<size_t>(part.byte_end - part.byte_begin); }
  const uint8_t* line(uint64_t index) const {
    return bytes + static_cast<size_t>(index - part.line_begin) * line_bytes();
  }
};

uint8_t* place(const FieldTarget& t, uint64_t row, uint64_t col) {
  return t.out + static_cast<size_t>(row - t.row_begin) * t.row_stride +
         static_cast<size_t>(col - t.col_begin) * t.col_stride;
}

void unpack_rows(const Source& s, const FieldTarget& t, bool high_first) {
  const uint64_t first = s.part.byte_begin * 8 / s.bits;  // a whole field begins here
  const uint64_t begin = std::max(t.col_begin, first);
  const uint64_t end = std::min({t.col_end, s.cols, s.part.byte_end * 8 / s.bits});
  for (uint64_t row = std::max(t.row_begin, s.part.line_begin); row < std::min(t.row_end, s.part.line_end); ++row) {
    const uint8_t* const line = s.line(row);
    if (begin >= end) continue;
    uint8_t* out = place(t, row, begin);
    if (s.bits == 8 && t.col_stride == 1) {
      std::copy_n(line + static_cast<size_t>(begin - first), static_cast<size_t>(end - begin), out);
      continue;
    }
    for (uint64_t col = begin; col < end; ++col, out += t.col_stride) {
      const auto bit = static_cast<size_t>((col - first) * s.bits);
      uint32_t window = line[bit / 8];
      if (bit % 8 + s.bits > 8) window |= static_cast<uint32_t>(line[bit / 8 + 1]) << 8;
      const size_t shift = high_first ? 4 - bit % 8 : bit % 8;
      *out = static_cast<uint8_t>(window >> shift) & s.mask();
    }
  }
}

// Whole lines of words whose fields end where they end, straight down a column of `out`: what GPTQ mostly is.
template <class Word>
void unpack_whole_words(const Source& s, const FieldTarget& t, uint64_t line, uint64_t col_begin, uint64_t col_end) {
  const auto fields = static_cast<uint32_t>(sizeof(Word) * 8 / s.bits);
  const uint8_t* words = s.line(line) + static_cast<size_t>(col_begin * sizeof(Word) - s.part.byte_begin);
  uint8_t* out = place(t, line * fields, col_begin);
  const auto mask = static_cast<Word>(s.mask());
  for (uint64_t col = col_begin; col < col_end; ++col, words += sizeof(Word), out += t.col_stride) {
    Word word = load_le<Word>(words);
    for (uint32_t field = 0; field < fields; ++field, word = static_cast<Word>(word >> s.bits))
      out[field] = static_cast<uint8_t>(word & mask);
  }
}

// What vectors did: lines [line_begin, line_end) of the columns before col_end.
struct Turned {
  uint64_t line_begin = 0;
  uint64_t line_end = 0;
  uint64_t col_end = 0;
};

// Whole words of eight fields, by blocks of an even number of lines and four columns.
template <class Word>
Turned turn_down([[maybe_unused]] const Source& s, [[maybe_unused]] const FieldTarget& t,
                 [[maybe_unused]] uint64_t col_begin, [[maybe_unused]] uint64_t col_end) {
  Turned done;
#ifdef __wasm_simd128__
  if (sizeof(Word) != 4 || s.bits != 4 || t.row_stride != 1 || col_begin >= col_end) return done;
  const uint64_t first = std::max(s.part.line_begin, ceil_div(t.row_begin, 8));
  const uint64_t last = std::min(s.part.line_end, std::min(t.row_end, s.rows) / 8);
  if (first >= last) return done;
  done = {first, first + (last - first) / 2 * 2, col_begin + (col_end - col_begin) / 4 * 4};
  simd128::turn_words_down(s.line(first) + static_cast<size_t>(col_begin * 4 - s.part.byte_begin), s.line_bytes(),
                           static_cast<size_t>(done.line_end - first), static_cast<size_t>(done.col_end - col_begin),
                           place(t, first * 8, col_begin), t.col_stride);
#endif
  return done;
}

// A line is `unit` bits of the stream down every column; Word is the type of that unit.
template <class Word>
void unpack_down(const Source& s, const FieldTarget& t) {
  constexpr uint64_t kUnit = sizeof(Word) * 8;
  const uint64_t col_begin = std::max(t.col_begin, s.part.byte_begin / sizeof(Word));
  const uint64_t col_end = std::min({t.col_end, s.cols, s.part.byte_end / sizeof(Word)});
  const auto turned = turn_down<Word>(s, t, col_begin, col_end);
  for (uint64_t line = s.part.line_begin; line < s.part.line_end; ++line) {
    // Fields that have bits in this line, the first and last of them perhaps only a part.
    const uint64_t row_begin = std::max(t.row_begin, line * kUnit / s.bits);
    const uint64_t row_end = std::min({t.row_end, s.rows, ceil_div((line + 1) * kUnit, s.bits)});
    const uint64_t fields = kUnit / s.bits;
    const bool whole_words = kUnit % s.bits == 0 && s.bits < 8 && t.row_stride == 1;
    if (whole_words && row_begin == line * fields && row_end == row_begin + fields) {
      const uint64_t begin = line >= turned.line_begin && line < turned.line_end ? turned.col_end : col_begin;
      if (begin < col_end) unpack_whole_words<Word>(s, t, line, begin, col_end);
      continue;
    }
    const uint8_t* words = s.line(line);
    for (uint64_t col = col_begin; col < col_end; ++col) {
      const auto word =
          load_le<Word>(words + static_cast<size_t>(col - s.part.byte_begin / sizeof(Word)) * sizeof(Word));
      for (uint64_t row = row_begin; row < row_end; ++row) {
        const auto shift = static_cast<int64_t>(row * s.bits) - static_cast<int64_t>(line * kUnit);
        const auto field = shift >= 0 ? static_cast<uint32_t>(word) >> shift : static_cast<uint32_t>(word) << -shift;
        uint8_t* const out = place(t, row, col);
        const bool whole = shift >= 0 && static_cast<uint64_t>(shift) + s.bits <= kUnit;
        *out = static_cast<uint8_t>((whole ? 0 : *out) | (field & s.mask()));
      }
    }
  }
}

void unpack_awq(const Source& s, const FieldTarget& t) {
  constexpr uint32_t kNibble[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  const uint64_t begin = std::max(t.col_begin, s.part.byte_begin * 2);
  const uint64_t end = std::min({t.col_end, s.cols, s.part.byte_end * 2});
  const uint64_t row_begin = std::max(t.row_begin, s.part.line_begin);
  const uint64_t row_end = std::min(t.row_end, s.part.line_end);
  uint64_t turned_rows = row_begin;
  uint64_t turned_cols = begin;
#ifdef __wasm_simd128__
  if (t.row_stride == 1 && begin < end && begin % 8 == 0 && row_begin < row_end) {
    turned_rows += (row_end - row_begin) / 16 * 16;
    turned_cols += (end - begin) / 32 * 32;
    simd128::turn_words_awq(s.line(row_begin) + static_cast<size_t>(begin / 2 - s.part.byte_begin), s.line_bytes(),
                            static_cast<size_t>(turned_rows - row_begin),
                            static_cast<size_t>((turned_cols - begin) / 8), place(t, row_begin, begin), t.col_stride);
  }
#endif
  for (uint64_t row = row_begin; row < row_end; ++row) {
    const uint8_t* const line = s.line(row);
    for (uint64_t col = row < turned_rows ? turned_cols : begin; col < end; ++col) {
      const auto word = load_le<uint32_t>(line + static_cast<size_t>(col / 8 * 4 - s.part.byte_begin));
      *place(t, row, col) = static_cast<uint8_t>(word >> (4 * kNibble[col % 8]) & 15);
    }
  }
}

// One line of units (bytes or words), each with one field of every part, part 0 in the highest bits.
template <class Unit>
void unpack_parts(const Source& s, const FieldTarget& t, uint64_t units, uint32_t parts) {
  const uint64_t unit_begin = s.part.byte_begin / sizeof(Unit);
  const uint64_t unit_end = s.part.byte_end / sizeof(Unit);
  for (uint32_t p = 0; p < parts; ++p) {
    const uint32_t shift = (parts - 1 - p) * s.bits;
    const uint64_t begin = std::max(t.col_begin, p * units + unit_begin);
    const uint64_t end = std::min({t.col_end, s.cols, p * units + std::min(unit_end, units)});
    for (uint64_t col = begin; col < end; ++col) {
      const auto unit = load_le<Unit>(s.bytes + static_cast<size_t>(col - p * units - unit_begin) * sizeof(Unit));
      *place(t, 0, col) = static_cast<uint8_t>(static_cast<uint32_t>(unit) >> shift) & s.mask();
    }
  }
}

}  // namespace

StoredLines stored_lines(Packing packing, uint64_t rows, uint64_t cols, uint32_t bits) {
  switch (packing) {
    case Packing::rows_low:
    case Packing::rows_high: return {rows, ceil_div(cols * bits, 8)};
    case Packing::down_8: return {ceil_div(rows * bits, 8), cols};
    case Packing::down_32: return {ceil_div(rows * bits, 32), cols * 4};
    case Packing::awq: return {rows, ceil_div(cols, 8) * 4};
    case Packing::parts_8: return {1, ceil_div(rows * cols, 8 / bits)};
    case Packing::parts_30: return {1, ceil_div(rows * cols, 10) * 4};
  }
  return {};
}

void unpack_fields(Packing packing, uint32_t bits, uint64_t rows, uint64_t cols, const StoredPart& part,
                   const uint8_t* bytes, const FieldTarget& target) {
  const Source source{bits, rows, cols, part, bytes};
  switch (packing) {
    case Packing::rows_low: return unpack_rows(source, target, false);
    case Packing::rows_high: return unpack_rows(source, target, true);
    case Packing::down_8: return unpack_down<uint8_t>(source, target);
    case Packing::down_32: return unpack_down<uint32_t>(source, target);
    case Packing::awq: return unpack_awq(source, target);
    case Packing::parts_8: return unpack_parts<uint8_t>(source, target, ceil_div(cols, 8 / bits), 8 / bits);
    case Packing::parts_30: return unpack_parts<uint32_t>(source, target, ceil_div(cols, 10), 10);
  }
}

}  // namespace wb::kernels
