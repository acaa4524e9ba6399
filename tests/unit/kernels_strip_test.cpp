// Every strip kernel against the oracle, bit for bit: all codes under tricky scales, all short lengths at
// odd addresses, and many shapes.
#include <catch2/catch.hpp>
#include <map>

#include "kernels/kernel.h"
#include "oracle/kernel_cases.h"
#include "oracle/numbers.h"

using namespace wb;
using namespace wb::kernels;
using oracle::Random;
using oracle::Strip;

namespace {

using Codes = std::vector<uint8_t>;
using Expected = std::vector<uint16_t>;

bool is_number(Dtype from, uint8_t code) { return std::isfinite(oracle::value_of(from, code)); }

/// Tables of expected results, kept: the shapes below use few scales and many elements.
class Expectations {
 public:
  const Expected& of(Dtype from, Dtype to, float scale) {
    uint32_t bits;
    __builtin_memcpy(&bits, &scale, sizeof bits);
    Expected& results = tables_[{from, to, bits}];
    if (results.empty()) results = oracle::dequantized_codes(from, to, scale);
    return results;
  }

 private:
  std::map<std::tuple<Dtype, Dtype, uint32_t>, Expected> tables_;
};

Expected expected_strip(Expectations& expectations, const Kernel& kernel, const Strip& strip, const Codes& codes,
                        const std::vector<float>& scales) {
  Expected expected(codes.size());
  for (size_t col = 0; col < strip.cols; ++col) {
    const Expected& results = expectations.of(dtype_of(kernel.from), kernel.to, scales[col / strip.group_cols]);
    for (size_t row = 0; row < strip.rows; ++row)
      expected[row * strip.cols + col] = results[codes[row * strip.cols + col]];
  }
  return expected;
}

/// Scales of which each makes some kernel choose another way.
const float kWays[] = {3e-4f,
                       0.0123f,
                       1.0f,
                       -2e-5f,
                       1e-7f,
                       40.0f,
                       200.0f,
                       1e-38f,
                       1e36f,
                       -1e-44f,
                       0.0f,
                       -0.0f,
                       5e4f,
                       0x1p-9f,
                       -0x1p-12f,
                       std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN()};

float pick_scale(Random& random, bool usual) { return usual ? kWays[random.below(6)] : kWays[random.below(17)]; }

Codes random_codes(Random& random, Dtype from, size_t n, bool numbers_only) {
  Codes codes(n);
  for (uint8_t& code : codes) {
    do code = static_cast<uint8_t>(random.bits());
    while (numbers_only && !is_number(from, code));
  }
  return codes;
}

template <class Body>
void for_each_strip_kernel(Body body) {
  for (const Kernel& kernel : all_kernels()) {
    if (kernel.strip && is_wire_dtype(kernel.from) && is_fp8_payload(dtype_of(kernel.from))) body(kernel);
  }
}

}  // namespace

TEST_CASE("all 256 codes under every tricky scale", "[kernels]") {
  const std::vector<float> scales = oracle::tricky_scales();
  for (const auto& [from, to] : std::initializer_list<std::pair<Dtype, Dtype>>{{Dtype::F8_E4M3, Dtype::BF16},
                                                                               {Dtype::F8_E5M2, Dtype::BF16},
                                                                               {Dtype::F8_E4M3FNUZ, Dtype::BF16},
                                                                               {Dtype::F8_E5M2FNUZ, Dtype::BF16},
                                                                               {Dtype::F8_E4M3, Dtype::F16},
                                                                               {Dtype::F8_E5M2, Dtype::F16},
                                                                               {Dtype::F8_E4M3FNUZ, Dtype::F16},
                                                                               {Dtype::F8_E5M2FNUZ, Dtype::F16}}) {
    Codes all(256), numbers;  // one has Inf and NaN in it; the other has none and is long enough for any table
    for (int code = 0; code < 256; ++code) all[code] = static_cast<uint8_t>(code);
    while (numbers.size() < 512) {
      for (const uint8_t code : all) {
        if (is_number(from, code)) numbers.push_back(code);
      }
    }
    Expected expected_numbers(numbers.size());
    for (const float scale : scales) {
      const Expected expected = oracle::dequantized_codes(from, to, scale);
      for (size_t i = 0; i < numbers.size(); ++i) expected_numbers[i] = expected[numbers[i]];
      for (const Kernel& kernel : all_kernels()) {
        if (kernel.from != codec_of(from) || kernel.to != to) continue;
        const size_t n = numbers.size();
        const std::string with_specials = oracle::strip_difference(kernel, {1, 256, 256}, all, {scale}, expected);
        const std::string without = oracle::strip_difference(kernel, {1, n, n}, numbers, {scale}, expected_numbers);
        if (with_specials.empty() && without.empty()) continue;
        FAIL_CHECK(kernel.name << ", scale " << std::hexfloat << scale << ": " << with_specials << " / " << without);
        break;
      }
    }
  }
  SUCCEED();
}

TEST_CASE("short strips at odd addresses", "[kernels]") {
  Expectations expectations;
  Random random(3);
  for_each_strip_kernel([&](const Kernel& kernel) {
    for (size_t n = 0; n <= 70; ++n) {
      for (size_t offset = 0; offset < 5; ++offset) {
        const Strip strip{1, n, std::max<size_t>(n, 1), offset, (offset * 3 + n) % 4};
        const Codes codes = random_codes(random, dtype_of(kernel.from), n, offset % 2 == 0);
        const std::vector<float> scales = {pick_scale(random, offset < 3)};
        const Expected expected = expected_strip(expectations, kernel, strip, codes, scales);
        const std::string difference = oracle::strip_difference(kernel, strip, codes, scales, expected);
        if (!difference.empty())
          FAIL_CHECK(kernel.name << ", " << n << " codes, offset " << offset << ": " << difference);
      }
    }
  });
  SUCCEED();
}

TEST_CASE("strips of every shape", "[kernels]") {
  const size_t all_cols[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 100, 127, 128, 129, 255, 257, 300, 1000, 4133};
  const size_t all_groups[] = {1, 2, 5, 15, 16, 17, 32, 48, 64, 100, 128, 1000, SIZE_MAX};
  Expectations expectations;
  Random random(4);
  for_each_strip_kernel([&](const Kernel& kernel) {
    for (const size_t cols : all_cols) {
      for (const size_t group_cols : all_groups) {
        for (size_t rows = 0; rows <= 5; ++rows) {
          if (cols > 1000 && rows > 2) continue;
          const Strip strip{rows, cols, group_cols, random.below(4), random.below(4)};
          const bool usual = rows % 2 == 0;
          const Codes codes = random_codes(random, dtype_of(kernel.from), rows * cols, usual || rows == 3);
          std::vector<float> scales(cols / group_cols + (cols % group_cols != 0));
          for (float& scale : scales) scale = pick_scale(random, usual);
          const Expected expected = expected_strip(expectations, kernel, strip, codes, scales);
          const std::string difference = oracle::strip_difference(kernel, strip, codes, scales, expected);
          if (!difference.empty()) {
            FAIL_CHECK(kernel.name << ", " << rows << " x " << cols << " by " << group_cols << ": " << difference);
          }
        }
      }
    }
  });
  SUCCEED();
}

TEST_CASE("blocks of 128 x 128", "[kernels]") {
  Expectations expectations;
  Random random(5);
  for_each_strip_kernel([&](const Kernel& kernel) {
    for (const size_t cols : {size_t{576}, size_t{5000}}) {  // more groups than a panel of tables has
      const Strip strip{cols < 1000 ? size_t{128} : size_t{9}, cols, 128, 1, 1};
      const Codes codes = random_codes(random, dtype_of(kernel.from), strip.rows * cols, true);
      std::vector<float> scales(cols / 128 + 1);
      for (float& scale : scales) scale = pick_scale(random, true);
      const Expected expected = expected_strip(expectations, kernel, strip, codes, scales);
      INFO(kernel.name);
      CHECK(oracle::strip_difference(kernel, strip, codes, scales, expected) == "");
    }
  });
}

TEST_CASE("one Inf or NaN anywhere in a long run", "[kernels]") {
  Expectations expectations;
  Random random(6);
  for_each_strip_kernel([&](const Kernel& kernel) {
    const size_t n = 2 * 4096 + 21;
    for (const size_t at :
         {size_t{0}, size_t{15}, size_t{16}, size_t{4095}, size_t{4096}, size_t{8191}, n - 17, n - 1}) {
      for (int code = 0; code < 256; ++code) {
        if (is_number(dtype_of(kernel.from), static_cast<uint8_t>(code))) continue;
        Codes codes = random_codes(random, dtype_of(kernel.from), n, true);
        codes[at] = static_cast<uint8_t>(code);
        for (const size_t group_cols : {n, size_t{128}, size_t{33}}) {
          const std::vector<float> scales(n / group_cols + 1, at % 2 ? 3e-4f : 1.0f);
          const Strip strip{1, n, group_cols};
          const Expected expected = expected_strip(expectations, kernel, strip, codes, scales);
          const std::string difference = oracle::strip_difference(kernel, strip, codes, scales, expected);
          if (!difference.empty()) FAIL_CHECK(kernel.name << ", code " << code << " at " << at << ": " << difference);
        }
      }
    }
  });
  SUCCEED();
}
