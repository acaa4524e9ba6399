// Every cast kernel against the oracle, bit for bit, and the counting of what f16 loses.
#include <catch2/catch.hpp>
#include <cmath>

#include "base/bytes.h"
#include "kernels/kernel.h"
#include "oracle/kernel_cases.h"
#include "oracle/numbers.h"

using namespace wb;
using namespace wb::kernels;
using oracle::Random;

namespace {

/// Stored elements, and the bits of each.
struct Elements {
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> bits;
};

Elements store(Dtype dtype, const std::vector<uint64_t>& bits) {
  const size_t element = dtype_info(dtype).bits / 8;
  Elements elements{std::vector<uint8_t>(bits.size() * element), bits};
  for (size_t i = 0; i < bits.size(); ++i) __builtin_memcpy(&elements.bytes[i * element], &bits[i], element);
  return elements;
}

std::vector<uint16_t> expected_cast(const Kernel& kernel, const std::vector<uint64_t>& bits) {
  std::vector<uint16_t> expected;
  for (const uint64_t element : bits) {
    expected.push_back(
        static_cast<uint16_t>(oracle::nearest(kernel.to, oracle::value_of(dtype_of(kernel.from), element))));
  }
  return expected;
}

/// All 65,536, in order and again shuffled: vectors of one kind and vectors that mix kinds.
std::vector<uint64_t> all_halves() {
  std::vector<uint64_t> bits;
  for (uint64_t i = 0; i < 65536; ++i) bits.push_back(i);
  for (uint64_t i = 0; i < 65536; ++i) bits.push_back(i * 40503 % 65536);  // an odd factor permutes
  return bits;
}

/// Ties of both targets and their neighbours at every exponent and sign, and random bit patterns.
std::vector<uint64_t> tricky_singles() {
  std::vector<uint64_t> bits;
  Random random(7);
  for (uint64_t upper = 0; upper < 65536; upper += 1 + random.below(3)) {
    for (const uint64_t lower : {0x0000, 0x7FFF, 0x8000, 0x8001}) bits.push_back(upper << 16 | lower);
  }
  for (uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (int dropped = 1; dropped < 24; ++dropped) {  // f16 drops 13 bits, subnormals more
      const uint32_t kept = random.below(1u << 23) >> dropped << dropped;
      const uint32_t tie = (random.below(2) << 31) + (exponent << 23) + (kept | 1u << (dropped - 1));
      for (const uint32_t bits32 : {tie - 1, tie, tie + 1}) bits.push_back(bits32);
    }
  }
  for (int i = 0; i < 30000; ++i) bits.push_back(random.bits());
  for (int i = 0; i < 30000; ++i)
    bits.push_back(random.below(2) << 31 | (98 + random.below(48)) << 23 | random.below(1u << 23));
  return bits;
}

/// The same as doubles: exact, and off a tie by less than a float32 can say.
std::vector<uint64_t> tricky_doubles() {
  std::vector<uint64_t> bits;
  Random random(8);
  for (const uint64_t single : tricky_singles()) {
    const double value = static_cast<double>(bit_cast<float>(static_cast<uint32_t>(single)));
    if (std::isnan(value)) continue;
    const uint64_t exact = bit_cast<uint64_t>(value);
    bits.push_back(exact + random.below(3) - 1);
  }
  for (uint64_t exponent = 0; exponent < 2048; ++exponent) {
    for (const uint64_t mantissa : {uint64_t{0}, uint64_t{1}, uint64_t{0x8000000000000}, uint64_t{0xFFFFFFFFFFFFF}}) {
      bits.push_back(uint64_t{random.below(2)} << 63 | exponent << 52 | mantissa);
    }
  }
  for (int i = 0; i < 20000; ++i) bits.push_back(uint64_t{random.bits()} << 32 | random.bits());
  return bits;
}

std::vector<uint64_t> tricky_elements(Dtype dtype) {
  return dtype == Dtype::F32 ? tricky_singles() : dtype == Dtype::F64 ? tricky_doubles() : all_halves();
}

}  // namespace

TEST_CASE("casts of every tricky number", "[kernels]") {
  for (const Kernel& kernel : all_kernels()) {
    if (!kernel.cast) continue;
    const Elements elements = store(dtype_of(kernel.from), tricky_elements(dtype_of(kernel.from)));
    INFO(kernel.name);
    CHECK(oracle::cast_difference(kernel, elements.bytes, elements.bits.size(), expected_cast(kernel, elements.bits)) ==
          "");
  }
}

TEST_CASE("short casts at odd addresses", "[kernels]") {
  Random random(9);
  for (const Kernel& kernel : all_kernels()) {
    if (!kernel.cast) continue;
    const std::vector<uint64_t> pool = tricky_elements(dtype_of(kernel.from));
    for (size_t n = 0; n <= 70; ++n) {
      for (size_t offset = 0; offset < 4; ++offset) {
        std::vector<uint64_t> bits;
        for (size_t i = 0; i < n; ++i) bits.push_back(pool[random.below(static_cast<uint32_t>(pool.size()))]);
        const std::string difference = oracle::cast_difference(kernel, store(dtype_of(kernel.from), bits).bytes, n,
                                                               expected_cast(kernel, bits), offset, (offset + n) % 3);
        if (!difference.empty())
          FAIL_CHECK(kernel.name << ", " << n << " elements, offset " << offset << ": " << difference);
      }
    }
  }
  SUCCEED();
}

TEST_CASE("f16 loses up to 2^-25 and from 65520", "[kernels]") {
  const auto lost = [](Dtype from, uint64_t bits) {
    const F16Loss loss = count_f16_loss_cast(from, reinterpret_cast<const uint8_t*>(&bits), 1);
    return std::pair(loss.underflow, loss.overflow);
  };
  using Lost = std::pair<uint64_t, uint64_t>;
  const Lost none{0, 0}, underflow{1, 0}, overflow{0, 1};
  struct Row {
    const char* name;
    Dtype from;
    uint64_t bits;
    Lost lost;
  };
  const Row rows[] = {
      {"-0", Dtype::F32, 0x80000000, none},
      {"smallest", Dtype::F32, 0x80000001, underflow},
      {"2^-25", Dtype::F32, 0x33000000, underflow},
      {"above it", Dtype::F32, 0x33000001, none},
      {"below 65520", Dtype::F32, 0x477FEFFF, none},
      {"65520", Dtype::F32, 0x477FF000, overflow},
      {"-largest", Dtype::F32, 0xFF7FFFFF, overflow},
      {"Inf", Dtype::F32, 0x7F800000, none},
      {"NaN", Dtype::F32, 0xFFFFFFFF, none},
      {"2^-25", Dtype::BF16, 0x3300, underflow},
      {"above it", Dtype::BF16, 0x3301, none},
      {"65280", Dtype::BF16, 0x477F, none},
      {"65536", Dtype::BF16, 0x4780, overflow},
      {"-largest", Dtype::BF16, 0xFF7F, overflow},
      {"-Inf", Dtype::BF16, 0xFF80, none},
      {"smallest", Dtype::F64, 0x0000000000000001, underflow},
      {"2^-25", Dtype::F64, 0x3E60000000000000, underflow},
      {"above it", Dtype::F64, 0x3E60000000000001, none},
      {"below 65520", Dtype::F64, 0xC0EFFDFFFFFFFFFF, none},
      {"65520", Dtype::F64, 0x40EFFE0000000000, overflow},
      {"largest", Dtype::F64, 0x7FEFFFFFFFFFFFFF, overflow},
      {"Inf", Dtype::F64, 0x7FF0000000000000, none},
  };
  for (const Row& row : rows) {
    INFO(dtype_info(row.from).name << ": " << row.name);
    CHECK(lost(row.from, row.bits) == row.lost);
  }
}

TEST_CASE("counting what f16 would lose of plain floats", "[kernels]") {
  for (const Dtype from : {Dtype::F32, Dtype::BF16, Dtype::F64}) {
    INFO(dtype_info(from).name);
    const Elements elements = store(from, tricky_elements(from));
    F16Loss expected;
    for (const uint64_t bits : elements.bits) {
      expected.overflow += oracle::lost_in_f16(from, bits) == oracle::Lost::overflow;
      expected.underflow += oracle::lost_in_f16(from, bits) == oracle::Lost::underflow;
    }
    CHECK(expected.overflow > 1000);
    CHECK(expected.underflow > 1000);
    const F16Loss loss = count_f16_loss_cast(from, elements.bytes.data(), elements.bits.size());
    CHECK(loss.overflow == expected.overflow);
    CHECK(loss.underflow == expected.underflow);
  }
  CHECK(count_f16_loss_cast(Dtype::F32, nullptr, 0).overflow == 0);
}

TEST_CASE("counting what f16 would lose of scaled codes", "[kernels]") {
  std::vector<uint8_t> codes(2 * 256);  // every code, in one row up and in the other down
  for (int code = 0; code < 256; ++code) codes[code] = codes[511 - code] = static_cast<uint8_t>(code);
  for (const Dtype from : {Dtype::F8_E4M3, Dtype::F8_E5M2, Dtype::F8_E4M3FNUZ, Dtype::F8_E5M2FNUZ}) {
    for (const float scale : oracle::tricky_scales()) {
      F16Loss expected;
      for (int code = 0; code < 256; ++code) {
        const oracle::Lost lost = oracle::lost_in_f16(from, code, scale);
        expected.overflow += 2 * (lost == oracle::Lost::overflow);
        expected.underflow += 2 * (lost == oracle::Lost::underflow);
      }
      const F16Loss loss = count_f16_loss_strip(codec_of(from), codes.data(), 2, 256, &scale, 256);
      if (loss.overflow == expected.overflow && loss.underflow == expected.underflow) continue;
      FAIL_CHECK(dtype_info(from).name << ", scale " << std::hexfloat << scale << ": overflow " << loss.overflow
                                       << " of " << expected.overflow << ", underflow " << loss.underflow << " of "
                                       << expected.underflow);
      break;
    }
  }
  SUCCEED();
}

TEST_CASE("losses are counted group by group", "[kernels]") {
  const float scales[] = {1.0f, 200.0f, 1e-7f};
  const uint8_t row[] = {0x7E, 0x01, 0x7F, /**/ 0x7E, 0x01, 0xFE, /**/ 0x01, 0x80};  // groups of three, the last of two
  std::vector<uint8_t> codes(3 * std::size(row));
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = row[i % std::size(row)];
  const F16Loss loss = count_f16_loss_strip(Codec::F8_E4M3, codes.data(), 3, 8, scales, 3);
  CHECK(loss.overflow == 6);
  CHECK(loss.underflow == 3);
  const std::vector<uint8_t> many(1000, 0x7E);  // more than a block of the counter holds
  CHECK(count_f16_loss_strip(Codec::F8_E4M3, many.data(), 1, 1000, &scales[1], 1000).overflow == 1000);
  CHECK(count_f16_loss_strip(Codec::F8_E4M3, many.data(), 0, 1000, scales, 1000).overflow == 0);
  CHECK(count_f16_loss_strip(Codec::F8_E4M3, nullptr, 4, 0, nullptr, 128).overflow == 0);
}
