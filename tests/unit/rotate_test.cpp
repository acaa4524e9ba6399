// ConvRot: the butterflies against the matrix they stand for, built by its definition.
#include "kernels/rotate.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "kernels/affine.h"
#include "kernels/numeric.h"
#include "quant/tiling.h"

using namespace wb;
using namespace wb::kernels;

namespace {

// Entry (row, col) of the normalised Kronecker power of H4; in H4 the one -1 of row r stands in column 3 - r.
double hadamard(size_t group, size_t row, size_t col) {
  double value = 1 / std::sqrt(static_cast<double>(group));
  for (; group > 1; group /= 4, row /= 4, col /= 4) value *= col % 4 == 3 - row % 4 ? -1 : 1;
  return value;
}

/// int8 codes that share one scale, rotated by groups.
F16Loss unrotate_i8(const uint8_t* codes, size_t n, float scale, size_t group, Dtype to, uint8_t* out) {
  const auto table = code_table(Codec::I8);
  AffineRow row;
  row.table = table.data();
  row.scale = &scale;
  row.group_cols = n;
  row.rotation = group;
  return dequantize_affine_row(codes, n, row, to, out);
}

}  // namespace

TEST_CASE("rotated int8 equals the product with the Hadamard matrix, to a bf16 unit") {
  for (const size_t group : {4u, 16u, 64u, 256u}) {
    INFO("group " << group);
    REQUIRE(is_rotation_group(group));
    std::vector<uint8_t> codes(3 * group);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i * 37 + i / 7);
    std::vector<uint8_t> out(codes.size() * 2 + 2, 0xAB);
    const float scale = 0.0123f;
    unrotate_i8(codes.data(), codes.size(), scale, group, Dtype::BF16, out.data());
    size_t differences = 0;
    for (size_t i = 0; i < codes.size(); ++i) {
      double expected = 0;
      for (size_t k = 0; k < group; ++k) {
        expected += static_cast<double>(static_cast<int8_t>(codes[i / group * group + k])) *
                    static_cast<double>(scale) * hadamard(group, i % group, k);
      }
      const double got = static_cast<double>(f32_from_bf16(load_le<uint16_t>(&out[2 * i])));
      differences += std::fabs(got - expected) > std::ldexp(std::fabs(expected), -8) + 1e-6;
    }
    CHECK(differences == 0);
    CHECK(out[codes.size() * 2] == 0xAB);
  }
}

TEST_CASE("rotation groups are powers of four up to 1024") {
  for (const uint64_t group : {0u, 1u, 2u, 8u, 32u, 128u, 512u, 2048u, 4096u}) CHECK_FALSE(is_rotation_group(group));
  CHECK(is_rotation_group(1024));
}

TEST_CASE("what fp16 loses of a rotated row is counted, also without an output") {
  const std::vector<uint8_t> codes(4, 127);
  CHECK(unrotate_i8(codes.data(), 4, 1000.0f, 4, Dtype::F16, nullptr).overflow == 4);  // 127,000 each
  CHECK(unrotate_i8(codes.data(), 4, 1e-11f, 4, Dtype::F16, nullptr).underflow == 4);
  CHECK(unrotate_i8(codes.data(), 4, 1.0f, 4, Dtype::F16, nullptr).overflow == 0);
}
