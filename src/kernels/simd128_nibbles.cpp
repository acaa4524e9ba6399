// simd128 kernels for strips of 4-bit codes; empty in native builds. Whatever the codes mean, a scale leaves sixteen
// results: a table in two byte planes, computed by the recipe itself, so that no scale is special. Two swizzles look
// up sixteen codes.
#ifdef __wasm_simd128__
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/kernel.h"
#include "kernels/simd128_memo.h"

namespace wb::kernels::simd128 {
namespace {

using Values = std::array<float, 16>;

template <class At>
constexpr Values values_of(At at) {
  Values values{};
  for (int code = 0; code < 16; ++code) values[static_cast<size_t>(code)] = at(code);
  return values;
}

/// kFewScales: groups of 16 or 32 whose scales have few bits themselves.
struct E2M1 {
  alignas(16) static constexpr Values kValues = values_of(f32_from_e2m1);
  static constexpr bool kFewScales = true;
};
struct Int4 {
  alignas(16) static constexpr Values kValues = values_of([](int code) { return static_cast<float>((code ^ 8) - 8); });
  static constexpr bool kFewScales = false;
};
struct Offset8 {
  alignas(16) static constexpr Values kValues = values_of([](int code) { return static_cast<float>(code - 8); });
  static constexpr bool kFewScales = false;
};
struct Nf4 {
  alignas(16) static constexpr Values kValues = values_of([](int code) { return kNf4[code]; });
  static constexpr bool kFewScales = false;
};
struct Fp4Bnb {
  alignas(16) static constexpr Values kValues = values_of([](int code) { return kFp4Bnb[code]; });
  static constexpr bool kFewScales = false;
};

template <class Format, class Target>
Planes build_table(const Target& target, float scale) {
  const float* const values = Format::kValues.data();
  const v128_t factor = wasm_f32x4_splat(scale);
  const auto four = [=](int i) { return wasm_f32x4_mul(wasm_v128_load(values + i), factor); };
  if (std::isfinite(scale)) return target.table(four(0), four(4), four(8), four(12));
  return split_planes(target.narrow(four(0), four(4)), target.narrow(four(8), four(12)));
}

/// Codes of one scale: elements [first, first + n) of a strip.
template <bool HighFirst>
struct NibbleRun {
  v128_t mask;

  explicit NibbleRun(uint32_t zero) : mask(splat8(zero, 15)) {}

  static uint8_t code_at(const uint8_t* codes, size_t i) {
    return static_cast<uint8_t>(HighFirst ? nibble_high_first(codes, i) : nibble_low_first(codes, i));
  }
  v128_t first_16(v128_t x, v128_t shifted) const {
    return wasm_v128_and(HighFirst ? interleave8_low(shifted, x) : interleave8_low(x, shifted), mask);
  }
  v128_t last_16(v128_t x, v128_t shifted) const {
    return wasm_v128_and(HighFirst ? interleave8_high(shifted, x) : interleave8_high(x, shifted), mask);
  }

  void group_of_16(const Planes& table, const uint8_t* in, uint8_t* out) const {
    const v128_t x = wasm_v128_load64_zero(in);
    table.at(first_16(x, wasm_u16x8_shr(x, 4))).store(out);
  }
  void group_of_32(const Planes& table, const uint8_t* in, uint8_t* out) const {
    const v128_t x = wasm_v128_load(in);
    const v128_t shifted = wasm_u16x8_shr(x, 4);
    const Planes t = table;  // a copy: `out` might otherwise be the table
    t.at(first_16(x, shifted)).store(out);
    t.at(last_16(x, shifted)).store(out + 32);
  }

  void operator()(Planes table, const uint8_t* codes, size_t first, size_t n, uint8_t* out) const {
    if (first % 2 != 0 && n > 0) {  // the second half of a byte
      one_by_one(table, codes, first++, 1, out);
      out += 2;
      --n;
    }
    const uint8_t* in = codes + first / 2;
    for (; n >= 32; n -= 32, in += 16, out += 64) group_of_32(table, in, out);
    if (n >= 16) {
      group_of_16(table, in, out);
      n -= 16, in += 8, out += 32;
    }
    if (n > 0) one_by_one(table, in, 0, n, out);
  }

  __attribute__((noinline)) static void one_by_one(const Planes& table, const uint8_t* codes, size_t first, size_t n,
                                                   uint8_t* out) {
    alignas(16) uint8_t low[16];
    alignas(16) uint8_t high[16];
    wasm_v128_store(low, table.low);
    wasm_v128_store(high, table.high);
    for (size_t i = 0; i < n; ++i) {
      const uint8_t code = code_at(codes, first + i);
      out[2 * i] = low[code];
      out[2 * i + 1] = high[code];
    }
  }
};

template <class Format, bool HighFirst, class Target>
void dequantize(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols, uint8_t* out) {
  constexpr size_t kOwnTable = 64;  // codes that pay for a table of their own
  const uint32_t zero = opaque_zero;
  const Target target(zero);
  const NibbleRun<HighFirst> run(zero);
  const auto build = [&target](float scale) { return build_table<Format>(target, scale); };
  if (Format::kFewScales && rows == 1 && group_cols < kOwnTable) {
    memo.hold(&kKind<Format, Target>, build);  // both byte orders share the tables
    size_t col = 0;
    if (group_cols == 16) {
      for (; col + 16 <= cols; col += 16) run.group_of_16(memo.find(*scales++, build), codes + col / 2, out + 2 * col);
    } else if (group_cols == 32) {
      for (; col + 32 <= cols; col += 32) run.group_of_32(memo.find(*scales++, build), codes + col / 2, out + 2 * col);
    }
    for (; col < cols; col += group_cols, ++scales)
      run(memo.find(*scales, build), codes, col, std::min(group_cols, cols - col), out + 2 * col);
    return;
  }
  for (size_t col = 0; col < cols; ++scales) {
    const size_t n = std::min(group_cols, cols - col);
    const Planes table = build(*scales);
    for (size_t row = 0; row < rows; ++row) {
      const size_t first = row * cols + col;
      run(table, codes, first, n, out + 2 * first);
    }
    col += n;
  }
}

}  // namespace

#define WB_STRIP(from, Format, high_first)                                                                            \
  void strip_bf16_from_##from(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols, \
                              uint8_t* out) {                                                                         \
    dequantize<Format, high_first, ToBf16>(codes, rows, cols, scales, group_cols, out);                               \
  }                                                                                                                   \
  void strip_f16_from_##from(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols,  \
                             uint8_t* out) {                                                                          \
    dequantize<Format, high_first, ToF16>(codes, rows, cols, scales, group_cols, out);                                \
  }
WB_STRIP(f4_low, E2M1, false)
WB_STRIP(f4_high, E2M1, true)
WB_STRIP(i4_low, Int4, false)
WB_STRIP(u4b8_low, Offset8, false)
WB_STRIP(nf4_high, Nf4, true)
WB_STRIP(fp4_bnb_high, Fp4Bnb, true)
#undef WB_STRIP

}  // namespace wb::kernels::simd128
#endif
