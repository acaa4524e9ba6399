// Strips of codecs that are no fp8: every code under tricky scales against plain arithmetic in double.
// A code of at most 8 bits (or a bf16) times a float32 is exact in double, so rounding that product to
// float32 and then to the target is the recipe, computed another way.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <iterator>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/nan_codes.h"
#include "kernels/numeric.h"
#include "oracle/kernel_cases.h"
#include "oracle/numbers.h"

using namespace wb;
using namespace wb::kernels;

namespace {

struct CodecRow {
  const char* name;
  Codec codec;
  int codes;                  // how many there are; stored one a byte or two a byte
  double (*value)(int code);  // written here, not taken from src
};

double e2m1(int code) {
  const int exponent = code >> 1 & 3;
  const double magnitude = exponent == 0 ? (code & 1) * 0.5 : std::ldexp(1 + (code & 1) * 0.5, exponent - 1);
  return code & 8 ? -magnitude : magnitude;
}
double twos_complement_4(int code) { return code >= 8 ? code - 16 : code; }
double offset_8(int code) { return code - 8; }
double offset_128(int code) { return code - 128; }
double nf4(int code) { return static_cast<double>(kNf4[code]); }
double fp4_bnb(int code) { return static_cast<double>(kFp4Bnb[code]); }
double twos_complement_8(int code) { return code >= 128 ? code - 256 : code; }

const CodecRow kRows[] = {
    {"fp4, low nibble first", Codec::F4, 16, e2m1},
    {"fp4, high nibble first", Codec::F4_HIGH, 16, e2m1},
    {"int4", Codec::I4_LOW, 16, twos_complement_4},
    {"uint4 minus 8", Codec::U4B8_LOW, 16, offset_8},
    {"uint8 minus 128", Codec::U8B128, 256, offset_128},
    {"int8", Codec::I8, 256, twos_complement_8},
    {"NF4", Codec::NF4_HIGH, 16, nf4},
    {"bitsandbytes FP4", Codec::FP4_BNB_HIGH, 16, fp4_bnb},
};

const float kScales[] = {1.0f,    0.0f,     -0.0f, -1.5f,        0.0123f,  3e-39f, 1e-45f,
                         1.7e38f, INFINITY, NAN,   0.333333343f, 65504.0f, 1e-7f};

// Stores one code a byte, or two a byte in the codec's order.
std::vector<uint8_t> stored(Codec codec, const std::vector<int>& codes) {
  if (codec_info(codec).bits == 8) return {codes.begin(), codes.end()};
  std::vector<uint8_t> bytes((codes.size() + 1) / 2);
  for (size_t i = 0; i < codes.size(); ++i) {
    const bool high_first = codec == Codec::F4_HIGH || codec == Codec::NF4_HIGH || codec == Codec::FP4_BNB_HIGH;
    const bool high = (i % 2 == 0) == high_first;
    bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | codes[i] << (high ? 4 : 0));
  }
  return bytes;
}

uint16_t expected(Dtype to, double value, float scale) {
  const float product = static_cast<float>(value * static_cast<double>(scale));  // rounds once: the product is exact
  return static_cast<uint16_t>(oracle::nearest(to, static_cast<double>(product)));
}

}  // namespace

TEST_CASE("strips of integers and 4-bit floats equal plain arithmetic for every code and scale") {
  for (const CodecRow& row : kRows) {
    for (const Dtype to : {Dtype::BF16, Dtype::F16}) {
      INFO(row.name);
      const Kernel* const kernel = find_strip(row.codec, to);
      REQUIRE(kernel);
      std::vector<int> codes;
      for (int i = 0; i < row.codes; ++i) codes.push_back(i * 7 % row.codes);
      const std::vector<uint8_t> bytes = stored(row.codec, codes);
      size_t differences = 0;
      for (const float scale : kScales) {
        std::vector<uint8_t> out(codes.size() * 2);
        kernel->strip(bytes.data(), 1, codes.size(), &scale, codes.size(), out.data());
        for (size_t i = 0; i < codes.size(); ++i) {
          differences += load_le<uint16_t>(&out[2 * i]) != expected(to, row.value(codes[i]), scale);
        }
      }
      CHECK(differences == 0);
    }
  }
}

TEST_CASE("strips take one scale by group, all rows share them, and nothing beside the output is written") {
  for (const CodecRow& row : kRows) {
    for (const size_t group : {2u, 16u, 32u, 100u}) {
      for (const size_t rows : {1u, 3u}) {
        INFO(row.name << ", groups of " << group << ", " << rows << " rows");
        constexpr size_t kCols = 70;
        std::vector<int> codes(rows * kCols);
        for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int>(i * 5 + i / 13) % row.codes;
        std::vector<uint8_t> bytes = stored(row.codec, codes);
        bytes.insert(bytes.begin(), 0);  // an odd address
        std::vector<float> scales;
        for (size_t i = 0; i <= kCols / group; ++i) scales.push_back(0.37f * static_cast<float>(i + 1));
        std::vector<uint8_t> out(codes.size() * 2 + 3, 0xAB);
        find_strip(row.codec, Dtype::BF16)->strip(bytes.data() + 1, rows, kCols, scales.data(), group, out.data() + 1);
        size_t differences = out.front() != 0xAB || out[out.size() - 1] != 0xAB || out[out.size() - 2] != 0xAB;
        for (size_t i = 0; i < codes.size(); ++i) {
          const float scale = scales[i % kCols / group];
          differences += load_le<uint16_t>(&out[1 + 2 * i]) != expected(Dtype::BF16, row.value(codes[i]), scale);
        }
        CHECK(differences == 0);
      }
    }
  }
}

// The scalar rows are what the tests above compare with plain arithmetic (natively; as wasm, the vectors).
TEST_CASE("every vector strip equals the scalar one: random shapes, odd addresses, tricky scales") {
  oracle::Random random(5);
  const std::vector<float> tricky = oracle::tricky_scales();
  const uint32_t groups[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 48, 63, 64, 100, 128, 5000};
  for (const Kernel& kernel : all_kernels()) {
    if (!kernel.strip || kernel.isa == Isa::scalar) continue;
    const auto scalar = std::find_if(all_kernels().begin(), all_kernels().end(), [&](const Kernel& each) {
      return each.strip && each.isa == Isa::scalar && each.from == kernel.from && each.to == kernel.to;
    });
    REQUIRE(scalar != all_kernels().end());
    for (int round = 0; round < 150; ++round) {
      const oracle::Strip strip{1 + random.below(random.below(2) == 0 ? 1 : 5), 1 + random.below(2100),
                                groups[random.below(std::size(groups))], random.below(16), random.below(16)};
      const size_t n = strip.rows * strip.cols;
      std::vector<uint8_t> codes((n * codec_info(kernel.from).bits + 7) / 8);
      for (uint8_t& code : codes) code = static_cast<uint8_t>(random.bits() >> 9);
      if (random.below(4) > 0) {  // what is fast serves numbers only
        for (uint8_t& code : codes) code = count_nan_codes(kernel.from, &code, 1) > 0 ? 0x5A : code;
      }
      // Few scales or many, mild or tricky or powers of two: memo hits, memo misses and every fallback.
      const uint32_t kind = random.below(5);
      const uint32_t few = random.below(2) == 0 ? 4 : 4000;
      std::vector<float> scales(strip.cols / strip.group_cols + 1);
      for (float& scale : scales) {
        if (kind < 2) scale = 1e-3f * static_cast<float>(1 + random.below(few));
        if (kind == 2) scale = std::ldexp(1.0f, static_cast<int>(random.below(few > 4 ? 40 : 3)) - 20);
        if (kind > 2) scale = tricky[random.below(static_cast<uint32_t>(tricky.size()))];
      }
      std::vector<uint8_t> out(2 * n);
      scalar->strip(codes.data(), strip.rows, strip.cols, scales.data(), strip.group_cols, out.data());
      std::vector<uint16_t> expected(n);
      std::memcpy(expected.data(), out.data(), out.size());
      INFO(kernel.name << ": " << strip.rows << " x " << strip.cols << ", groups of " << strip.group_cols);
      REQUIRE(oracle::strip_difference(kernel, strip, codes, scales, expected) == "");
    }
  }
}

// reference/formats.md 14, rows 7 (MXFP4), 8, 11 and 12.
TEST_CASE("the census' vectors for packed payloads") {
  const auto dequantize = [](Codec codec, std::vector<uint8_t> bytes, size_t n, float scale) {
    std::vector<uint8_t> out(n * 2);
    find_strip(codec, Dtype::BF16)->strip(bytes.data(), 1, n, &scale, n, out.data());
    std::vector<float> values;
    for (size_t i = 0; i < n; ++i) values.push_back(f32_from_bf16(load_le<uint16_t>(&out[2 * i])));
    return values;
  };
  CHECK(dequantize(Codec::F4, {0xA3}, 2, 2.0f) == std::vector<float>{3, -2});
  CHECK(dequantize(Codec::F4_HIGH, {0x2B}, 2, 1.0f) == std::vector<float>{1, -1.5f});
  CHECK(dequantize(Codec::F4, {0x2B}, 2, 1.0f) == std::vector<float>{-1.5f, 1});
  CHECK(dequantize(Codec::U4B8_LOW, {0x10, 0x32, 0x54, 0x76}, 8, 1.0f) ==
        std::vector<float>{-8, -7, -6, -5, -4, -3, -2, -1});
  CHECK(dequantize(Codec::NF4_HIGH, {0x7F}, 2, 2.0f) == std::vector<float>{0, 2});
  // -77 * 3.7 / 127 = -2.2433071 in float32, and 0xC010 (-2.25) as the nearest bf16.
  CHECK(dequantize(Codec::I8_BY_127, {static_cast<uint8_t>(-77)}, 1, 3.7f) ==
        std::vector<float>{f32_from_bf16(bf16_from_f32(-2.2433071f))});
}

TEST_CASE("what fp16 would lose is counted for every codec") {
  const float scale = 20000;
  const std::vector<uint8_t> bytes = stored(Codec::F4, {7, 15, 1, 0});  // 6, -6, 0.5, 0
  const F16Loss loss = count_f16_loss_strip(Codec::F4, bytes.data(), 1, 4, &scale, 4);
  CHECK(loss.overflow == 2);
  CHECK(loss.underflow == 0);
  const float tiny = 1e-9f;
  CHECK(count_f16_loss_strip(Codec::F4, bytes.data(), 1, 4, &tiny, 4).underflow == 3);
  const float infinite = INFINITY;  // the scale's doing, not the target's
  CHECK(count_f16_loss_strip(Codec::F4, bytes.data(), 1, 4, &infinite, 4).overflow == 0);
}

TEST_CASE("nan codes: counted as the formats define them, at any length and address") {
  for (const Dtype dtype : {Dtype::F8_E4M3, Dtype::F8_E5M2, Dtype::F8_E4M3FNUZ, Dtype::F8_E5M2FNUZ}) {
    const Codec codec = codec_of(dtype);
    INFO(dtype_info(dtype).name);
    std::vector<uint8_t> codes(14000);
    std::vector<uint64_t> before(codes.size() + 1);  // NaN codes among the first i
    for (size_t i = 0; i < codes.size(); ++i) {
      // every code in turn, then runs longer than a counter of 255 rounds of one that is NaN and of one that is not
      codes[i] = i < 1024 ? static_cast<uint8_t>(i * 7) : i < 12000 ? (dtype == Dtype::F8_E5M2 ? 0xFF : 0x80) : 0x01;
      if (dtype == Dtype::F8_E4M3 && i >= 1024 && i < 12000) codes[i] = i % 2 ? 0x7F : 0xFF;
      before[i + 1] = before[i] + std::isnan(oracle::value_of(dtype, codes[i]));
    }
    for (size_t begin = 0; begin < 20; ++begin) {
      for (size_t n = 0; n < 70; ++n)
        CHECK(count_nan_codes(codec, &codes[begin], n) == before[begin + n] - before[begin]);
      for (const size_t end : {size_t{4096 + 15}, size_t{12000}, codes.size()})
        CHECK(count_nan_codes(codec, &codes[begin], end - begin) == before[end] - before[begin]);
    }
  }
  const uint8_t all[] = {0x7F, 0x80, 0xFF};
  CHECK(count_nan_codes(Codec::I8, all, 3) == 0);
  CHECK(count_nan_codes(Codec::I4_LOW, all, 3) == 0);
}
