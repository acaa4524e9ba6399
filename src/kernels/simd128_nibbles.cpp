// simd128 kernels for strips of 4-bit codes; empty in native builds. Whatever the codes mean, a scale leaves sixteen
// results: a table in two byte planes, computed by the recipe itself, so that no scale is special. Two swizzles look
// up sixteen codes.
#ifdef __wasm_simd128__
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/kernel.h"
#include "kernels/simd128.h"
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

/// How the sixteen values hang together, which halves the work of a table.
enum class Order : uint8_t {
  sign_magnitude,   ///< codes 8..15 are codes 0..7 with the sign set
  twos_complement,  ///< 0..7, -8..-1
  offset_binary,    ///< -8..7
  none
};

/// kFewScales: groups of 16 or 32 whose scales have few bits themselves.
struct E2M1 {
  alignas(16) static constexpr Values kValues = values_of(f32_from_e2m1);
  static constexpr Order kOrder = Order::sign_magnitude;
  static constexpr bool kFewScales = true;
};
struct Int4 {
  alignas(16) static constexpr Values kValues = values_of([](int code) { return static_cast<float>((code ^ 8) - 8); });
  static constexpr Order kOrder = Order::twos_complement;
  static constexpr bool kFewScales = false;
};
struct Offset8 {
  alignas(16) static constexpr Values kValues = values_of([](int code) { return static_cast<float>(code - 8); });
  static constexpr Order kOrder = Order::offset_binary;
  static constexpr bool kFewScales = false;
};
struct Nf4 {
  alignas(16) static constexpr Values kValues = values_of([](int code) { return kNf4[code]; });
  static constexpr Order kOrder = Order::none;
  static constexpr bool kFewScales = false;
};
struct Fp4Bnb {
  alignas(16) static constexpr Values kValues = values_of([](int code) { return kFp4Bnb[code]; });
  static constexpr Order kOrder = Order::sign_magnitude;
  static constexpr bool kFewScales = false;
};

// How eight results become the planes of sixteen: the byte of each entry, then what its upper byte keeps, then the sign
// that is flipped. An index past 15 gives 0; the entry of 0 keeps the sign of the result for 1, as 0 * scale does.
#define WB_NONE 0x80
struct Mirror {
  v128_t low, high, kept, flipped;
};
template <Order kOrder>
Mirror mirror() {
  if constexpr (kOrder == Order::sign_magnitude) {  // from the results of codes 0..7
    return {wasm_i8x16_const(0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14),
            wasm_i8x16_const(1, 3, 5, 7, 9, 11, 13, 15, 1, 3, 5, 7, 9, 11, 13, 15), wasm_i8x16_const_splat(-1),
            wasm_i64x2_const(0, INT64_C(-0x7F7F7F7F7F7F7F80))};
  } else if constexpr (kOrder == Order::twos_complement) {  // from those of the numbers 1..8
    return {wasm_u8x16_const(WB_NONE, 0, 2, 4, 6, 8, 10, 12, 14, 12, 10, 8, 6, 4, 2, 0),
            wasm_i8x16_const(1, 1, 3, 5, 7, 9, 11, 13, 15, 13, 11, 9, 7, 5, 3, 1), wasm_i64x2_const(-0x80, -1),
            wasm_i64x2_const(0, INT64_C(-0x7F7F7F7F7F7F7F80))};
  } else {
    return {wasm_u8x16_const(14, 12, 10, 8, 6, 4, 2, 0, WB_NONE, 0, 2, 4, 6, 8, 10, 12),
            wasm_i8x16_const(15, 13, 11, 9, 7, 5, 3, 1, 1, 1, 3, 5, 7, 9, 11, 13), wasm_i64x2_const(-1, -0x80),
            wasm_i64x2_const(INT64_C(-0x7F7F7F7F7F7F7F80), 0)};
  }
}
#undef WB_NONE

/// The table of a finite scale.
template <class Format, class Target>
inline __attribute__((always_inline)) Planes finite_table(const Target& target, float scale) {
  const v128_t factor = wasm_f32x4_splat(scale);
  const auto four = [=](int i) { return wasm_f32x4_mul(wasm_v128_load(Format::kValues.data() + i), factor); };
  if constexpr (Format::kOrder == Order::none) {
    return target.table(four(0), four(4), four(8), four(12));
  } else {
    constexpr bool kCodes = Format::kOrder == Order::sign_magnitude;
    const v128_t a = kCodes ? four(0) : wasm_f32x4_mul(wasm_f32x4_const(1, 2, 3, 4), factor);
    const v128_t b = kCodes ? four(4) : wasm_f32x4_mul(wasm_f32x4_const(5, 6, 7, 8), factor);
    const v128_t eight = target.narrow_numbers(a, b);
    const Mirror m = mirror<Format::kOrder>();
    const v128_t high = wasm_v128_xor(wasm_v128_and(wasm_i8x16_swizzle(eight, m.high), m.kept), m.flipped);
    return {wasm_i8x16_swizzle(eight, m.low), high};
  }
}

/// The table of any scale.
template <class Format, class Target>
Planes build_table(const Target& target, float scale) {
  if (std::isfinite(scale)) return finite_table<Format>(target, scale);
  const float* const values = Format::kValues.data();
  const v128_t factor = wasm_f32x4_splat(scale);
  const auto four = [=](int i) { return wasm_f32x4_mul(wasm_v128_load(values + i), factor); };
  return split_planes(target.narrow(four(0), four(4)), target.narrow(four(8), four(12)));
}

bool all_finite(const float* scales, size_t n) {
  v128_t largest = wasm_i64x2_const_splat(0);  // as integers, magnitudes stand in the order of their sizes
  size_t i = 0;
  for (; i + 4 <= n; i += 4) largest = wasm_i32x4_max(largest, wasm_f32x4_abs(wasm_v128_load(scales + i)));
  bool all = !wasm_v128_any_true(wasm_i32x4_ge(largest, wasm_i32x4_const_splat(0x7F800000)));
  for (; i < n; ++i) all = all && std::isfinite(scales[i]);
  return all;
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

  void group_of_16(Planes table, const uint8_t* in, uint8_t* out) const {
    const v128_t x = wasm_v128_load64_zero(in);
    table.at(first_16(x, wasm_u16x8_shr(x, 4))).store(out);
  }
  void two_groups_of_16(Planes first, Planes second, const uint8_t* in, uint8_t* out) const {
    const v128_t x = wasm_v128_load(in);
    const v128_t shifted = wasm_u16x8_shr(x, 4);
    first.at(first_16(x, shifted)).store(out);
    second.at(last_16(x, shifted)).store(out + 32);
  }
  void group_of_32(Planes table, const uint8_t* in, uint8_t* out) const {
    const v128_t x = wasm_v128_load(in);
    const v128_t shifted = wasm_u16x8_shr(x, 4);
    table.at(first_16(x, shifted)).store(out);
    table.at(last_16(x, shifted)).store(out + 32);
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

/// A row of groups of 16 codes or a multiple of 32: loops without calls, so that all constants stay in registers.
template <class Format, bool HighFirst, class Target>
struct RowStrip {
  static constexpr size_t kShort = 64;  ///< codes that pay for a table of their own although scales are few
  static constexpr size_t kBatchGroups = 64;
  static inline TableMemo<Planes, 4, 9> memo;

  Target target;
  NibbleRun<HighFirst> run;

  explicit RowStrip(uint32_t zero) : target(zero), run(zero) {}

  static bool serves(size_t group_cols) { return group_cols % 32 == 0 || (Format::kFewScales && group_cols == 16); }

  void operator()(const uint8_t* codes, size_t cols, const float* scales, size_t group_cols, uint8_t* out) const {
    for (size_t left = cols / group_cols; left > 0;) {
      const size_t groups = std::min(left, kBatchGroups);
      run_batch(codes, groups, group_cols, scales, out);
      codes += groups * group_cols / 2;
      out += 2 * groups * group_cols;
      scales += groups;
      left -= groups;
    }
    if (const size_t rest = cols % group_cols) run(build_table<Format>(target, *scales), codes, 0, rest, out);
  }

  void run_batch(const uint8_t* codes, size_t groups, size_t group_cols, const float* scales, uint8_t* out) const {
    const auto build = [this](float scale) { return build_table<Format>(target, scale); };
    const auto by_memo = [&] {
      auto table_of = memo.reader(scales);
      run_groups(codes, groups, group_cols, out, table_of);
      return !table_of.missed();
    };
    if (Format::kFewScales && group_cols < kShort) {
      if (by_memo()) return;
      memo.fill(scales, groups, build);
      if (by_memo()) return;
    }
    if (all_finite(scales, groups)) {
      return run_groups(codes, groups, group_cols, out,
                        [target = target, scales](size_t g) { return finite_table<Format>(target, scales[g]); });
    }
    run_groups(codes, groups, group_cols, out, [&](size_t g) { return build(scales[g]); });
  }

  template <class TableOf>
  void run_groups(const uint8_t* codes, size_t groups, size_t group_cols, uint8_t* out, TableOf&& table_of) const {
    const NibbleRun<HighFirst> step = run;
    if (Format::kFewScales && group_cols == 16) {
      size_t g = 0;
      for (; g + 2 <= groups; g += 2, codes += 16, out += 64)
        step.two_groups_of_16(table_of(g), table_of(g + 1), codes, out);
      if (g < groups) step.group_of_16(table_of(g), codes, out);
      return;
    }
    if (group_cols == 32) {
      for (size_t g = 0; g < groups; ++g, codes += 16, out += 64) step.group_of_32(table_of(g), codes, out);
      return;
    }
    for (size_t g = 0; g < groups; ++g) {
      const Planes table = table_of(g);
      for (const uint8_t* const end = codes + group_cols / 2; codes != end; codes += 16, out += 64)
        step.group_of_32(table, codes, out);
    }
  }
};

template <class Format, bool HighFirst, class Target>
void dequantize(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols, uint8_t* out) {
  group_cols = std::min(group_cols, cols);
  const RowStrip<Format, HighFirst, Target> row(opaque_zero);
  if (rows == 1 && cols > 0 && row.serves(group_cols)) return row(codes, cols, scales, group_cols, out);
  for (size_t col = 0; col < cols; ++scales) {
    const size_t n = std::min(group_cols, cols - col);
    const Planes table = build_table<Format>(row.target, *scales);
    for (size_t r = 0; r < rows; ++r) {
      const size_t first = r * cols + col;
      row.run(table, codes, first, n, out + 2 * first);
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
