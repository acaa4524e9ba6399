// Fields: every packing, width and shape against a reader that finds each field by its bits, one at a time.
#include <algorithm>
#include <catch2/catch.hpp>

#include "kernels/fields.h"
#include "oracle/kernel_cases.h"

using namespace wb;
using namespace wb::kernels;
using oracle::Random;

namespace {

struct Matrix {
  Packing packing;
  uint32_t bits;
  uint64_t rows;
  uint64_t cols;
};

/// Test sizes are small: the cast is for wasm32.
size_t sz(uint64_t n) { return static_cast<size_t>(n); }

int bit_of(const std::vector<uint8_t>& bytes, uint64_t bit) { return bytes.at(sz(bit / 8)) >> (bit % 8) & 1; }

/// Where bit b of field (i, j) stands, counted from the first bit of the stored matrix; by the pictures in fields.h.
uint64_t place_of(const Matrix& m, uint64_t i, uint64_t j, uint32_t b) {
  const uint64_t flat = i * m.cols + j;
  const uint64_t total = m.rows * m.cols;
  constexpr uint32_t kAwq[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  switch (m.packing) {
    case Packing::rows_low: return i * ((m.cols * m.bits + 7) / 8) * 8 + j * m.bits + b;
    case Packing::rows_high: return i * ((m.cols * 4 + 7) / 8) * 8 + j / 2 * 8 + (j % 2 == 0 ? 4 : 0) + b;
    case Packing::down_8: {
      const uint64_t stream = i * m.bits + b;
      return (stream / 8 * m.cols + j) * 8 + stream % 8;
    }
    case Packing::down_32: {
      const uint64_t stream = i * m.bits + b;
      return (stream / 32 * m.cols + j) * 32 + stream % 32;
    }
    case Packing::awq: return (i * ((m.cols + 7) / 8) + j / 8) * 32 + kAwq[j % 8] * 4 + b;
    case Packing::parts_8: {
      const uint64_t parts = 8 / m.bits;
      const uint64_t units = (total + parts - 1) / parts;
      return flat % units * 8 + (parts - 1 - flat / units) * m.bits + b;
    }
    case Packing::parts_30: {
      const uint64_t units = (total + 9) / 10;
      return flat % units * 32 + (9 - flat / units) * 3 + b;
    }
  }
  return 0;
}

uint8_t naive_field(const Matrix& m, const std::vector<uint8_t>& bytes, uint64_t i, uint64_t j) {
  uint8_t field = 0;
  for (uint32_t b = 0; b < m.bits; ++b) field = static_cast<uint8_t>(field | bit_of(bytes, place_of(m, i, j, b)) << b);
  return field;
}

bool is_flat(Packing packing) { return packing == Packing::parts_8 || packing == Packing::parts_30; }

/// The first difference over a random window, read in random parts; empty when there is none.
std::string difference(const Matrix& m, Random& random, bool transpose) {
  const StoredLines stored = stored_lines(m.packing, m.rows, m.cols, m.bits);
  std::vector<uint8_t> bytes(static_cast<size_t>(stored.lines * stored.line_bytes));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.bits() >> 7);
  const auto pick = [&](uint64_t n) { return static_cast<uint64_t>(random.below(static_cast<uint32_t>(n))); };
  FieldTarget target;
  target.row_begin = pick(m.rows);
  target.row_end = target.row_begin + 1 + pick(m.rows - target.row_begin);
  target.col_begin = pick(m.cols);
  target.col_end = target.col_begin + 1 + pick(m.cols - target.col_begin);
  const size_t high = sz(target.row_end - target.row_begin);
  const size_t wide = sz(target.col_end - target.col_begin);
  std::vector<uint8_t> out(high * wide);
  target.out = out.data();
  target.row_stride = transpose ? 1 : wide;
  target.col_stride = transpose ? high : 1;

  // Runs of whole lines, or every line in parts that end at whole words and fields.
  const uint64_t unit = 4 * m.bits;
  for (uint64_t line = 0; line < stored.lines;) {
    const uint64_t lines = std::min(stored.lines - line, 1 + pick(random.below(2) == 0 ? 4 : 60));
    const bool cut = random.below(2) == 0;
    const uint64_t step = cut ? unit * (1 + pick(3)) : stored.line_bytes;
    for (uint64_t l = line; l < line + (cut ? lines : 1); ++l) {
      for (uint64_t byte = 0; byte < stored.line_bytes; byte += step) {
        const StoredPart part{l, cut ? l + 1 : line + lines, byte, std::min(stored.line_bytes, byte + step)};
        std::vector<uint8_t> read;
        for (uint64_t each = part.line_begin; each < part.line_end; ++each) {
          const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(each * stored.line_bytes);
          read.insert(read.end(), from + static_cast<std::ptrdiff_t>(part.byte_begin),
                      from + static_cast<std::ptrdiff_t>(part.byte_end));
        }
        unpack_fields(m.packing, m.bits, m.rows, m.cols, part, read.data(), target);
      }
    }
    line += lines;
  }
  for (uint64_t i = target.row_begin; i < target.row_end; ++i) {
    for (uint64_t j = target.col_begin; j < target.col_end; ++j) {
      const uint8_t got =
          out[sz(i - target.row_begin) * target.row_stride + sz(j - target.col_begin) * target.col_stride];
      const uint8_t want = naive_field(m, bytes, i, j);
      if (got != want)
        return "field (" + std::to_string(i) + ", " + std::to_string(j) + "): " + std::to_string(got) + ", not " +
               std::to_string(want);
    }
  }
  return {};
}

}  // namespace

TEST_CASE("fields: every packing, width and shape, whole and in parts, straight and transposed") {
  struct Family {
    Packing packing;
    std::vector<uint32_t> bits;
    uint64_t row_unit;  ///< dims are multiples of these
    uint64_t col_unit;
  };
  const Family families[] = {
      {Packing::rows_low, {1, 2, 3, 4, 5, 6, 7, 8}, 1, 1},
      {Packing::rows_high, {4}, 1, 1},
      {Packing::down_8, {1, 2, 4, 8}, 1, 1},
      {Packing::down_32, {2, 3, 4, 5, 6, 7, 8}, 1, 1},
      {Packing::awq, {4}, 1, 8},
      {Packing::parts_8, {1, 2, 4, 8}, 1, 1},
      {Packing::parts_30, {3}, 1, 1},
  };
  Random random(11);
  for (const Family& family : families) {
    for (const uint32_t bits : family.bits) {
      for (int round = 0; round < 60; ++round) {
        const uint64_t rows = is_flat(family.packing) ? 1 : (1 + random.below(70)) * family.row_unit;
        const Matrix m{family.packing, bits, rows,
                       (1 + random.below(is_flat(family.packing) ? 900 : 90)) * family.col_unit};
        INFO(static_cast<int>(m.packing) << ": " << m.bits << " bits, " << m.rows << " x " << m.cols);
        CHECK(difference(m, random, round % 2 == 1) == "");
      }
    }
  }
}
