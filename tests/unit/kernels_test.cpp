// The number formats one at a time, the kernel table, stored scales, and the vectors of
// reference/formats.md 2 and 14.
#include "kernels/kernel.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>

#include "kernels/numeric.h"
#include "oracle/kernel_cases.h"
#include "oracle/numbers.h"

using namespace wb;
using namespace wb::kernels;

static uint32_t bits_of(float value) { return bit_cast<uint32_t>(value); }
static float float_of(uint32_t bits) { return bit_cast<float>(bits); }

static uint32_t crc32(const std::vector<uint8_t>& bytes) {
  uint32_t crc = ~0u;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
  }
  return ~crc;
}

// All of numeric.h is usable at compile time.
static_assert(bf16_from_f32(1.00390625f) == 0x3F80);
static_assert(bf16_from_f64(1.00390625 + 0x1p-40) == 0x3F81);
static_assert(f16_from_f64(65520.0) == 0x7C00);
static_assert(f32_from_f8_e4m3(0xC5) == -3.25f);

namespace {
struct Fp8Row {
  const char* name;
  Dtype dtype;
  float (*widen)(uint8_t);
  uint32_t crc_f32;
  uint32_t crc_bf16;  ///< 0: the reference states none
  uint32_t crc_f16;
};
constexpr Fp8Row kFp8Rows[] = {
    {"e4m3", Dtype::F8_E4M3, f32_from_f8_e4m3, 0x2FDEE9AC, 0xAF9B24DB, 0x19A5C0E6},
    {"e5m2", Dtype::F8_E5M2, f32_from_f8_e5m2, 0x3D83FD11, 0xA9488149, 0xEE52466F},
    {"e4m3fnuz", Dtype::F8_E4M3FNUZ, f32_from_f8_e4m3fnuz, 0xF2DFA052, 0, 0},
    {"e5m2fnuz", Dtype::F8_E5M2FNUZ, f32_from_f8_e5m2fnuz, 0x09C70B84, 0, 0},
    {"e8m0", Dtype::F8_E8M0, f32_from_f8_e8m0, 0x719979BA, 0, 0},
};
}  // namespace

TEST_CASE("fp8 codes widen as the reference's tables say", "[kernels]") {
  for (const Fp8Row& row : kFp8Rows) {
    INFO(row.name);
    std::vector<uint8_t> f32(1024), bf16(512), f16(512);
    int differences = 0;
    for (int code = 0; code < 256; ++code) {
      const float value = row.widen(static_cast<uint8_t>(code));
      differences += bits_of(value) != oracle::nearest(Dtype::F32, oracle::value_of(row.dtype, code));
      store_le(&f32[4 * code], value);
      store_le(&bf16[2 * code], bf16_from_f32(value));
      store_le(&f16[2 * code], f16_from_f32(value));
    }
    CHECK(differences == 0);
    CHECK(crc32(f32) == row.crc_f32);
    if (row.crc_bf16) CHECK(crc32(bf16) == row.crc_bf16);
    if (row.crc_f16) CHECK(crc32(f16) == row.crc_f16);
  }
}

TEST_CASE("16-bit numbers widen exactly", "[kernels]") {
  int differences = 0;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    differences += bits_of(f32_from_bf16(half)) != oracle::nearest(Dtype::F32, oracle::value_of(Dtype::BF16, bits));
    differences += bits_of(f32_from_f16(half)) != oracle::nearest(Dtype::F32, oracle::value_of(Dtype::F16, bits));
  }
  CHECK(differences == 0);
}

TEST_CASE("float32 narrows to nearest even", "[kernels]") {
  struct Row {
    const char* name;
    uint32_t f32;
    uint16_t bf16;
    uint16_t f16;
  };
  const Row rows[] = {
      {"zero", 0x00000000, 0x0000, 0x0000},
      {"-0", 0x80000000, 0x8000, 0x8000},
      {"bf16 tie to even, down", 0x3F808000, 0x3F80, 0x3C04},
      {"bf16 tie to even, up", 0x3F818000, 0x3F82, 0x3C0C},
      {"just above a bf16 tie", 0x3F808001, 0x3F81, 0x3C04},
      {"largest float32", 0x7F7FFFFF, 0x7F80, 0x7C00},
      {"half of the smallest bf16", 0x00008000, 0x0000, 0x0000},
      {"three halves of it", 0x00018000, 0x0002, 0x0000},
      {"65520", 0x477FF000, 0x4780, 0x7C00},
      {"one ulp below 65520", 0x477FEFFF, 0x4780, 0x7BFF},
      {"-65520", 0xC77FF000, 0xC780, 0xFC00},
      {"2^-14, smallest normal f16", 0x38800000, 0x3880, 0x0400},
      {"one ulp below 2^-14", 0x387FFFFF, 0x3880, 0x0400},
      {"2^-24", 0x33800000, 0x3380, 0x0001},
      {"2^-25, a tie", 0x33000000, 0x3300, 0x0000},
      {"just above 2^-25", 0x33000001, 0x3300, 0x0001},
      {"1.5 * 2^-24, a tie", 0x33C00000, 0x33C0, 0x0002},
      {"Inf", 0x7F800000, 0x7F80, 0x7C00},
      {"-Inf", 0xFF800000, 0xFF80, 0xFC00},
      {"NaN", 0x7FC00000, 0x7FC0, 0x7E00},
      {"-NaN with a payload", 0xFFFFFFFF, 0x7FC0, 0x7E00},
      {"signalling NaN whose upper half is Inf", 0x7F800001, 0x7FC0, 0x7E00},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(bf16_from_f32(float_of(row.f32)) == row.bf16);
    CHECK(f16_from_f32(float_of(row.f32)) == row.f16);
  }
}

TEST_CASE("float64 is rounded once", "[kernels]") {
  struct Row {
    const char* name;
    double f64;
    uint16_t bf16;
    uint16_t f16;
  };
  const Row rows[] = {
      {"above a bf16 tie by less than float32 can hold", 1.00390625 + 0x1p-40, 0x3F81, 0x3C04},
      {"the tie itself", 1.00390625, 0x3F80, 0x3C04},
      {"below it", 1.00390625 - 0x1p-40, 0x3F80, 0x3C04},
      {"1/3", 1.0 / 3, 0x3EAB, 0x3555},
      {"above an f16 tie", 1 + 0x1p-11 + 0x1p-50, 0x3F80, 0x3C01},
      {"below an f16 tie", 1 + 0x3p-11 - 0x1p-50, 0x3F80, 0x3C01},
      {"just below 65520", 65520 - 0x1p-36, 0x4780, 0x7BFF},
      {"just above 2^-25", 0x1p-25 + 0x1p-76, 0x3300, 0x0001},
      {"just above half of the smallest bf16", 0x1p-134 + 0x1p-180, 0x0001, 0x0000},
      {"that half", 0x1p-134, 0x0000, 0x0000},
      {"smallest double", 0x1p-1074, 0x0000, 0x0000},
      {"minus the smallest double", -0x1p-1074, 0x8000, 0x8000},
      {"above float32", 0x1p128, 0x7F80, 0x7C00},
      {"just below the bf16 overflow tie", 0x1.FEFFFFFFFFp127, 0x7F7F, 0x7C00},
      {"the bf16 overflow tie", 0x1.FFp127, 0x7F80, 0x7C00},
      {"minus the largest double", -0x1.FFFFFFFFFFFFFp1023, 0xFF80, 0xFC00},
      {"Inf", HUGE_VAL, 0x7F80, 0x7C00},
      {"NaN", std::nan(""), 0x7FC0, 0x7E00},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(bf16_from_f64(row.f64) == row.bf16);
    CHECK(f16_from_f64(row.f64) == row.f16);
    CHECK(oracle::nearest(Dtype::BF16, row.f64) == row.bf16);
    CHECK(oracle::nearest(Dtype::F16, row.f64) == row.f16);
  }
}

TEST_CASE("every kernel gives the reference's vectors", "[kernels]") {
  struct Row {
    const char* name;
    Dtype from;
    Dtype to;
    uint8_t code;
    uint32_t scale;
    uint16_t result;
  };
  const Row rows[] = {
      {"-3.25 * 0.0123", Dtype::F8_E4M3, Dtype::BF16, 0xC5, 0x3C4985F0, 0xBD24},
      {"-3.25 * 0.0123, f16", Dtype::F8_E4M3, Dtype::F16, 0xC5, 0x3C4985F0, 0xA91E},
      {"0x03 * 0.0123: the multiply in float32", Dtype::F8_E4M3, Dtype::BF16, 0x03, 0x3C4985F0, 0x3897},
      {"0x03 * bf16(0.0123)", Dtype::F8_E4M3, Dtype::BF16, 0x03, 0x3C4A0000, 0x3898},
      {"1.5 * 0.0123: no bf16 on the way to f16", Dtype::F8_E4M3, Dtype::F16, 0x3C, 0x3C4985F0, 0x24B9},
      {"448 * 200, f16", Dtype::F8_E4M3, Dtype::F16, 0x7E, 0x43480000, 0x7C00},
      {"448 * 200, bf16", Dtype::F8_E4M3, Dtype::BF16, 0x7E, 0x43480000, 0x47AF},
      {"fnuz 0x80 is NaN", Dtype::F8_E4M3FNUZ, Dtype::BF16, 0x80, 0x3F800000, 0x7FC0},
      {"fnuz 0x80 is NaN, f16", Dtype::F8_E5M2FNUZ, Dtype::F16, 0x80, 0x3F800000, 0x7E00},
      {"e4m3fnuz 0x40 is 1", Dtype::F8_E4M3FNUZ, Dtype::BF16, 0x40, 0x3F800000, 0x3F80},
      {"e5m2 0xFC is -Inf", Dtype::F8_E5M2, Dtype::BF16, 0xFC, 0x3F800000, 0xFF80},
      {"e4m3 0x80 is -0", Dtype::F8_E4M3, Dtype::BF16, 0x80, 0x3F800000, 0x8000},
      {"Inf * 0 is NaN", Dtype::F8_E5M2, Dtype::BF16, 0x7C, 0x00000000, 0x7FC0},
  };
  for (const Row& row : rows) {
    for (const Kernel& kernel : all_kernels()) {
      if (kernel.from != codec_of(row.from) || kernel.to != row.to) continue;
      INFO(kernel.name << ": " << row.name);
      for (const size_t n : {size_t{1}, size_t{40}, size_t{700}}) {
        CHECK(oracle::strip_difference(kernel, {1, n, n}, std::vector<uint8_t>(n, row.code), {float_of(row.scale)},
                                       std::vector<uint16_t>(n, row.result)) == "");
      }
    }
  }
}

TEST_CASE("the kernel table is sound", "[kernels]") {
  std::set<std::string_view> names;
  bool seen_simd = false;
  for (const Kernel& kernel : all_kernels()) {
    INFO(kernel.name);
    CHECK(names.insert(kernel.name).second);
    CHECK((kernel.cast != nullptr) != (kernel.strip != nullptr));
    seen_simd = seen_simd || kernel.isa == Isa::simd128;
    CHECK((kernel.isa == Isa::simd128) == seen_simd);  // the reference comes first
    const Kernel* best =
        kernel.strip ? find_strip(kernel.from, kernel.to) : find_cast(dtype_of(kernel.from), kernel.to);
    REQUIRE(best);
    CHECK(best->isa >= kernel.isa);
  }
#ifdef __wasm_simd128__
  CHECK(seen_simd);
  CHECK(find_strip(Codec::F8_E4M3, Dtype::BF16)->name == "bf16_from_f8_e4m3__strip__simd128");
#else
  CHECK(!seen_simd);
  CHECK(find_strip(Codec::F8_E4M3, Dtype::BF16)->name == "bf16_from_f8_e4m3__strip__scalar");
#endif
  CHECK(find_cast(Dtype::F64, Dtype::F16)->name == "f16_from_f64__cast__scalar");
  int pairs = 0;
  for (int from = 0; from < kDtypeCount; ++from) {
    for (int to = 0; to < kDtypeCount; ++to) {
      pairs += find_cast(static_cast<Dtype>(from), static_cast<Dtype>(to)) != nullptr;
    }
  }
  CHECK(pairs == 6);
  CHECK(find_cast(Dtype::BF16, Dtype::BF16) == nullptr);
  CHECK(find_strip(Codec::F8_E8M0, Dtype::BF16) == nullptr);
}

TEST_CASE("codec_info knows the payload's largest number", "[kernels]") {
  CHECK(codec_info(Codec::F8_E4M3).max_finite == 448);
  CHECK(codec_info(Codec::F8_E5M2).max_finite == 57344);
  CHECK(codec_info(Codec::F8_E4M3FNUZ).max_finite == 240);
  CHECK(codec_info(Codec::F8_E5M2FNUZ).max_finite == 57344);
}

TEST_CASE("stored scales widen exactly", "[kernels]") {
  struct Row {
    Dtype dtype;
    Dtype means;
    size_t bytes;
  };
  const Row rows[] = {{Dtype::F32, Dtype::F32, 4},    {Dtype::BF16, Dtype::BF16, 2},
                      {Dtype::F16, Dtype::F16, 2},    {Dtype::F8_E8M0, Dtype::F8_E8M0, 1},
                      {Dtype::U8, Dtype::F8_E8M0, 1}, {Dtype::F8_E4M3, Dtype::F8_E4M3, 1}};
  oracle::Random random(2);
  for (const Row& row : rows) {
    INFO(dtype_info(row.dtype).name);
    const size_t n = row.bytes == 1 ? 256 : 65536;
    std::vector<uint8_t> stored(1 + n * row.bytes);
    std::vector<double> expected(n);
    for (size_t i = 0; i < n; ++i) {
      const uint32_t bits = row.bytes == 4 ? random.bits() : static_cast<uint32_t>(i);
      __builtin_memcpy(&stored[1 + i * row.bytes], &bits, row.bytes);
      expected[i] = oracle::value_of(row.means, bits);
    }
    std::vector<float> widened(n);
    REQUIRE(widen_scales(row.dtype, stored.data() + 1, n, widened.data()));
    size_t differences = 0;
    for (size_t i = 0; i < n; ++i) {
      const bool same = std::isnan(expected[i]) ? std::isnan(widened[i])
                                                : static_cast<double>(widened[i]) == expected[i] &&
                                                      std::signbit(widened[i]) == std::signbit(expected[i]);
      differences += !same;
    }
    CHECK(differences == 0);
  }
  float untouched = 7;
  const uint8_t bytes[8] = {};
  for (const Dtype refused : {Dtype::F64, Dtype::I8, Dtype::F8_E5M2, Dtype::F8_E4M3FNUZ, Dtype::F4, Dtype::I32}) {
    CHECK(!widen_scales(refused, bytes, 1, &untouched));
  }
  CHECK(untouched == 7);
  CHECK(widen_scales(Dtype::F32, nullptr, 0, nullptr));
}
