// simd128 kernels for fp8 strips; empty in native builds. Results equal scalar.cpp bit for bit. Three ways
// lead from a code to its result, and every cell (the codes of a row that share one scale) takes the
// fastest that is exact for its scale and worth its tables:
//
//   nibble  The significand of code * scale depends on the code's mantissa alone as long as every result
//           is a normal number: 16 results in two byte planes, and the code's exponent is added in place.
//   delta   (f16) 16 results as before, and for each group of 16 codes that this misses a table of the
//           differences. Eight groups are all there are, so this is exact for any finite scale.
//           Groups of 32 codes take theirs from a memo.
//   lanes   The recipe itself, four float32 lanes at a time: any code, any scale, a scale per lane.
//
// The fast forms serve numbers only. Inf and NaN codes are noticed as a row runs, and it is done again
// with the form of lanes that serves any code.
#ifdef __wasm_simd128__
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "kernels/kernel.h"
#include "kernels/simd128_memo.h"

namespace wb::kernels::simd128 {
namespace {

// ---- fp8 tables ---------------------------------------------------------------------------------------

/// The numbers of the 128 magnitudes. Tables never serve Inf and NaN codes; they hold the numbers that
/// would stand there if all exponents were alike, which lets the tables fit.
template <class Format>
struct Magnitudes {
  alignas(16) std::array<float, 128> value;
  constexpr Magnitudes() : value() {
    for (uint32_t code = 0; code < 128; ++code) {
      const uint32_t bits = (code << (23 - Format::kMantissaBits)) + (static_cast<uint32_t>(127 - Format::kBias) << 23);
      value[code] = code <= Format::kMaxCode ? f32_from_f8<Format>(static_cast<uint8_t>(code)) : bit_cast<float>(bits);
    }
  }
};
template <class Format>
constexpr Magnitudes<Format> kMagnitudes;

/// Results of codes first..first+7 under a finite scale.
template <class Format, class Target>
v128_t eight_products(const Target& target, int first, float scale) {
  const float* magnitudes = kMagnitudes<Format>.value.data() + first;
  const v128_t factor = wasm_f32x4_splat(scale);
  return target.narrow_numbers(wasm_f32x4_mul(wasm_v128_load(magnitudes), factor),
                               wasm_f32x4_mul(wasm_v128_load(magnitudes + 4), factor));
}

/// Nibble, for one format and target. M = mantissa bits, N = 2^M:
///
///   table[i], i < N      result of code i (zero and the subnormals)
///   table[N + m]         result of code N + m (exponent field 1), minus one exponent step
///
///   code << 8   [s|e e e e|m m m|0 0 0 0 0 0 0 0]    shift right (arithmetic) until the exponents
///   result      [s|e e e e e e e e|m m m m m m m]    coincide, mask, add
template <class Format, class Target>
struct Nibble {
  static constexpr int kN = 1 << Format::kMantissaBits;
  static constexpr int kShift = 8 + Format::kMantissaBits - Target::kMantissaBits;
  static constexpr uint32_t kExponents = 0x8000u | (((0x80u >> Format::kMantissaBits) - 1) << Target::kMantissaBits);
  // Whether a scale is fit: the least code with a hidden bit must give a normal result (those below have
  // entries of their own) and the largest a finite one. Every scale of a real file is, when the target is
  // bf16; when it is f16, those from 2^-8 (E4M3) or 1 (E5M2).
  static constexpr float kMinScale = exp2_f32(Target::kMinExponent - 1 + Format::kBias);
  static constexpr float kMaxNumber = f32_from_f8<Format>(Format::kMaxCode);

  v128_t magnitude, mantissa, normal, exponents, zeros;

  explicit Nibble(uint32_t zero)
      : magnitude(splat8(zero, 0x7F)),
        mantissa(splat8(zero, kN - 1)),
        normal(splat8(zero, kN)),
        exponents(splat16(zero, kExponents)),
        zeros(splat8(zero, 0)) {}

  static bool is_exact_for(float scale) {
    const float size = std::fabs(scale);
    return size >= kMinScale && size * kMaxNumber < Target::kOverflow;
  }

  static Planes build(const Target& target, float scale) {
    v128_t low = eight_products<Format>(target, 0, scale);
    v128_t high = wasm_i64x2_const_splat(0);
    const v128_t step = wasm_i16x8_const_splat(1 << Target::kMantissaBits);
    if constexpr (kN == 8) {
      high = wasm_i16x8_sub(eight_products<Format>(target, 8, scale), step);
    } else {
      low = wasm_i16x8_sub(low, wasm_v128_and(step, wasm_i64x2_const(0, -1)));
    }
    return split_planes(low, high);
  }

  v128_t exponent_of(v128_t shifted) const {
    if constexpr (kShift > 0) shifted = wasm_i16x8_shr(shifted, kShift);
    return wasm_v128_and(shifted, exponents);
  }

  __attribute__((always_inline)) Results operator()(v128_t codes, v128_t sizes, const Planes& table) const {
    const v128_t index = wasm_u8x16_min(sizes, wasm_v128_or(wasm_v128_and(codes, mantissa), normal));
    const v128_t low = wasm_i8x16_swizzle(table.low, index);
    const v128_t high = wasm_i8x16_swizzle(table.high, index);
    return {wasm_i16x8_add(interleave8_low(low, high), exponent_of(interleave8_low(zeros, codes))),
            wasm_i16x8_add(interleave8_high(low, high), exponent_of(interleave8_high(zeros, codes)))};
  }
};

/// Whether any code seen was Inf or NaN, at one operation a vector.
template <class Format>
struct Specials {
  v128_t seen = wasm_i64x2_const_splat(0);

  void see(v128_t codes, v128_t sizes) {
    if constexpr (Format::kRule == Fp8Rule::fnuz) {
      seen = wasm_i8x16_min(seen, codes);  // 0x80 is the least signed byte
    } else {
      seen = wasm_u8x16_max(seen, sizes);
    }
  }
  static v128_t mask(v128_t codes, v128_t sizes) {
    if constexpr (Format::kRule == Fp8Rule::fnuz) return wasm_i8x16_eq(codes, wasm_i8x16_const_splat(-128));
    return wasm_u8x16_gt(sizes, wasm_u8x16_const_splat(Format::kMaxCode));
  }
  bool any() const { return wasm_v128_any_true(mask(seen, seen)); }
};

/// Lanes. Shifted as above and masked, a code is the bf16 of its number times 2^(bias - 127), subnormals
/// included; a first multiply, by a power of two and therefore exact, puts that right. Without Any it
/// serves finite codes and scales only, and takes two thirds of the time.
template <class Format, class Target, bool Any>
struct Lanes {
  static constexpr int kShift = 1 + Format::kMantissaBits;
  static constexpr uint32_t kKept = 0x8000u | 0x7F00u >> kShift;

  Target target;
  v128_t magnitude, kept, zeros, special_pattern, unbias;

  explicit Lanes(uint32_t zero)
      : target(zero),
        magnitude(splat8(zero, 0x7F)),
        kept(splat16(zero, kKept)),
        zeros(splat8(zero, 0)),
        // Setting the exponent makes E5M2's Inf and NaN; elsewhere a special code is NaN, whatever it holds.
        special_pattern(splat16(zero, Format::kRule == Fp8Rule::ieee ? 0x7F80 : 0x7FC0)),
        unbias(splat32(zero, (254u - Format::kBias) << 23)) {}

  v128_t number(v128_t shifted) const { return wasm_v128_and(wasm_i16x8_shr(shifted, kShift), kept); }

  v128_t four(v128_t lanes, v128_t scale) const { return wasm_f32x4_mul(wasm_f32x4_mul(lanes, unbias), scale); }

  v128_t eight(v128_t numbers, v128_t scale0, v128_t scale1) const {
    const v128_t a = four(interleave16_low(zeros, numbers), scale0);
    const v128_t b = four(interleave16_high(zeros, numbers), scale1);
    if constexpr (Any) return target.narrow(a, b);
    return target.narrow_numbers(a, b);
  }

  Results operator()(v128_t codes, v128_t sizes, const std::array<v128_t, 4>& scales) const {
    v128_t low = number(interleave8_low(zeros, codes));
    v128_t high = number(interleave8_high(zeros, codes));
    if constexpr (Any) {
      const v128_t special = Specials<Format>::mask(codes, sizes);
      low = wasm_v128_or(low, wasm_v128_and(interleave8_low(special, special), special_pattern));
      high = wasm_v128_or(high, wasm_v128_and(interleave8_high(special, special), special_pattern));
    }
    return {eight(low, scales[0], scales[1]), eight(high, scales[2], scales[3])};
  }
};

/// Delta, built for one scale. Code = 16 g + i; with M mantissa bits a group of 16 spans 16 >> M binades:
///
///   result(16 g + i) = table[i] + g * (16 >> M) exponent steps + difference[g][i]
///
/// The table is group 6 (results are normal there under any usual scale), and only the range of groups that
/// have a difference is kept: those with subnormal results or, under large scales, infinite ones. Addition
/// is by bytes; differences are too, so no carry matters.
template <class Format>
struct DeltaTables {
  static constexpr int kGroups = 8;
  static constexpr int kReference = 6;
  static constexpr int kGroupStep = (16 >> Format::kMantissaBits) * 4;  // an exponent step is 4 in the upper byte

  Planes table;
  uint8_t sign;        ///< the scale's: 0x80 or 0
  uint8_t first_code;  ///< of the first group in `difference`
  uint8_t count;
  std::array<Planes, kGroups> difference;

  void build(const ToF16& target, float scale) {
    const float size = std::fabs(scale);
    sign = std::signbit(scale) ? 0x80 : 0;
    table = group(target, kReference, size);
    table.high = wasm_i8x16_sub(table.high, wasm_i8x16_splat(kReference * kGroupStep));
    int first = 0;
    int end = 0;
    for (int g = 0; g < kGroups; ++g) {
      const Planes actual = group(target, g, size);
      const v128_t expected_high = wasm_i8x16_add(table.high, wasm_i8x16_splat(static_cast<int8_t>(g * kGroupStep)));
      const Planes off = {wasm_i8x16_sub(actual.low, table.low), wasm_i8x16_sub(actual.high, expected_high)};
      if (wasm_v128_any_true(wasm_v128_or(off.low, off.high))) {
        if (end == 0) first = g;
        end = g + 1;
      }
      difference[g - first] = off;  // while first is 0 and end too, off is zero
    }
    first_code = static_cast<uint8_t>(16 * first);
    count = static_cast<uint8_t>(end - first);
    // The loops exist for some counts only; what they look up beyond `count` must add nothing.
    for (int k = count; k < kGroups; ++k) difference[k] = {};
  }

  static Planes group(const ToF16& target, int g, float size) {
    return split_planes(eight_products<Format>(target, 16 * g, size), eight_products<Format>(target, 16 * g + 8, size));
  }
};

/// The loop's share of Delta, for up to Count groups with differences.
template <class Format, int Count>
struct Delta {
  using Tables = DeltaTables<Format>;
  v128_t nibble, group_steps, sign, first_code, sixteen;
  Planes table;
  std::array<Planes, Count> difference;

  Delta(uint32_t zero, const Tables& tables)
      : nibble(splat8(zero, 15)),
        group_steps(splat8(zero, 7 * Tables::kGroupStep)),
        sign(splat8(zero, tables.sign)),
        first_code(splat8(zero, tables.first_code)),
        sixteen(splat8(zero, 16)),
        table(tables.table) {
    for (int k = 0; k < Count; ++k) difference[k] = tables.difference[k];
  }

  Results operator()(v128_t codes, v128_t sizes) const {
    const v128_t index = wasm_v128_and(codes, nibble);
    // (size >> 4) * kGroupStep, which is 8 or 16: a shift by one or none, and a mask.
    const v128_t placed = Tables::kGroupStep == 8 ? wasm_u16x8_shr(codes, 1) : codes;
    v128_t low = wasm_i8x16_swizzle(table.low, index);
    v128_t high = wasm_i8x16_add(wasm_i8x16_swizzle(table.high, index), wasm_v128_and(placed, group_steps));
    v128_t in_group = wasm_i8x16_sub(sizes, first_code);
    for (int k = 0; k < Count; ++k) {  // a swizzle gives 0 for the codes of other groups
      if (k > 0) in_group = wasm_i8x16_sub(in_group, sixteen);
      low = wasm_i8x16_add(low, wasm_i8x16_swizzle(difference[k].low, in_group));
      high = wasm_i8x16_add(high, wasm_i8x16_swizzle(difference[k].high, in_group));
    }
    const v128_t code_signs = wasm_v128_xor(codes, sizes);
    high = wasm_v128_xor(high, wasm_v128_xor(code_signs, sign));
    return {interleave8_low(low, high), interleave8_high(low, high)};
  }
};

// ---- strips -------------------------------------------------------------------------------------------

/// Runs a table method. Where `seen` meets an Inf or NaN code the output is nonsense.
template <size_t Width, class Format, class Method>
void run_tables(const Method& method, const uint8_t* codes, size_t n, uint8_t* out, v128_t magnitude,
                Specials<Format>& seen) {
  Specials<Format> local = seen;
  for_each_16<Width>(codes, n, out, [&local, method, magnitude](const uint8_t* at, size_t) {
    const v128_t x = wasm_v128_load(at);
    const v128_t sizes = wasm_v128_and(x, magnitude);
    local.see(x, sizes);
    return method(x, sizes);
  });
  seen = local;
}

template <class Format>
__attribute__((noinline)) void run_delta(const DeltaTables<Format>& tables, const uint8_t* codes, size_t n,
                                         uint8_t* out, v128_t magnitude, Specials<Format>& seen) {
  const uint32_t zero = opaque_zero;
  if (tables.count <= 1) return run_tables<32>(Delta<Format, 1>(zero, tables), codes, n, out, magnitude, seen);
  if (tables.count <= 3) return run_tables<32>(Delta<Format, 3>(zero, tables), codes, n, out, magnitude, seen);
  if (tables.count <= 5) return run_tables<32>(Delta<Format, 5>(zero, tables), codes, n, out, magnitude, seen);
  return run_tables<32>(Delta<Format, 8>(zero, tables), codes, n, out, magnitude, seen);
}

/// Finite codes and scales.
template <class Format, class Target>
__attribute__((noinline)) void run_numbers(const Lanes<Format, Target, false>& lanes, float scale, const uint8_t* codes,
                                           size_t n, uint8_t* out, Specials<Format>& seen) {
  const auto method = [lanes, factor = wasm_f32x4_splat(scale)](v128_t x, v128_t sizes) {
    return lanes(x, sizes, {factor, factor, factor, factor});
  };
  run_tables<16>(method, codes, n, out, lanes.magnitude, seen);
}

/// Any codes under any one scale.
template <class Format, class Target>
__attribute__((noinline)) void run_any(float scale, const uint8_t* codes, size_t n, uint8_t* out) {
  const Lanes<Format, Target, true> lanes(opaque_zero);
  const v128_t factor = wasm_f32x4_splat(scale);
  for_each_16_padded(codes, n, out, [lanes, factor](const uint8_t* at, size_t) {
    const v128_t x = wasm_v128_load(at);
    return lanes(x, wasm_v128_and(x, lanes.magnitude), {factor, factor, factor, factor});
  });
}

enum class Way : uint8_t { nibble, delta, numbers, any };

struct NoDelta {};

/// One scale and the way chosen for it.
template <class Format, class Target>
struct Cell {
  static constexpr bool kHasDelta = std::is_same_v<Target, ToF16>;
  /// Codes that must share a scale before its table pays.
  static constexpr size_t kNibblePays = 64;
  static constexpr size_t kDeltaPays = 512;

  float scale;
  Way way;
  Planes nibble;
  std::conditional_t<kHasDelta, DeltaTables<Format>, NoDelta> delta;

  void build(const Target& target, float new_scale, size_t codes_sharing) {
    scale = new_scale;
    way = std::isfinite(scale) ? Way::numbers : Way::any;
    if (codes_sharing >= kNibblePays && Nibble<Format, Target>::is_exact_for(scale)) {
      way = Way::nibble;
      nibble = Nibble<Format, Target>::build(target, scale);
    } else if constexpr (kHasDelta) {
      if (codes_sharing < kDeltaPays || way == Way::any) return;
      way = Way::delta;
      delta.build(target, scale);
    }
  }
};

/// Groups of 32 columns and more. Tables are built for a panel of groups and serve all its rows; a row of
/// the panel, or 4096 columns of a longer group, is a unit: what one Inf or NaN causes to be done again.
template <class Format, class Target>
struct CellStrip {
  static constexpr size_t kShortest = 32;  // two vectors, the step of the table loops
  static constexpr size_t kPanelGroups = 32;
  static constexpr size_t kUnitCols = 4096;

  Target target;
  Nibble<Format, Target> nibble;
  Lanes<Format, Target, false> lanes;
  std::array<Cell<Format, Target>, kPanelGroups> cells;

  explicit CellStrip(uint32_t zero) : target(zero), nibble(zero), lanes(zero) {}

  void run(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols, uint8_t* out) {
    if (rows * group_cols < Cell<Format, Target>::kNibblePays) {
      for (size_t row = 0; row < rows; ++row)
        run_short(codes + row * cols, cols, scales, group_cols, out + 2 * row * cols);
      return;
    }
    const size_t panel_groups = std::clamp<size_t>(kUnitCols / group_cols, 1, kPanelGroups);
    for (size_t col = 0, panel_cols = 0; col < cols; col += panel_cols) {
      panel_cols = 0;
      for (size_t g = 0; g < panel_groups && col + panel_cols < cols; ++g) {
        cells[g].build(target, *scales++, rows * group_cols);
        panel_cols += std::min(group_cols, cols - col - panel_cols);
      }
      const size_t unit_cols = panel_groups == 1 ? kUnitCols : panel_cols;
      for (size_t row = 0; row < rows; ++row) {
        for (size_t at = 0; at < panel_cols; at += unit_cols) {
          const size_t first = row * cols + col + at;
          run_unit(codes + first, std::min(unit_cols, panel_cols - at), group_cols, out + 2 * first);
        }
      }
    }
  }

  /// Groups too short for tables of their own, a unit at a time.
  void run_short(const uint8_t* codes, size_t cols, const float* scales, size_t group_cols, uint8_t* out) const {
    const size_t unit_cols = kPanelGroups * group_cols;
    for (size_t col = 0; col < cols; col += unit_cols, scales += kPanelGroups) {
      const size_t n = std::min(unit_cols, cols - col);
      const bool done = group_cols == kShortest && n == unit_cols && run_remembered(codes + col, scales, out + 2 * col);
      for (size_t at = 0; !done && at < n; at += group_cols)
        run_any<Format, Target>(scales[at / group_cols], codes + col + at, std::min(group_cols, n - at),
                                out + 2 * (col + at));
    }
  }

  /// A unit of groups of 32 by the tables of scales seen lately; false where a scale or a code is not fit for them.
  /// No calls in the loop: they would cost it its registers.
  bool run_remembered(const uint8_t* codes, const float* scales, uint8_t* out) const {
    bool fit = true;
    for (size_t g = 0; g < kPanelGroups; ++g) fit = fit && Nibble<Format, Target>::is_exact_for(scales[g]);
    if (!fit) return false;
    const Nibble<Format, Target> step = nibble;
    const auto build = [this](float scale) { return Nibble<Format, Target>::build(target, scale); };
    memo.hold(&kKind<Format, Target>, build);
    Specials<Format> seen;
    for (size_t g = 0; g < kPanelGroups; ++g, codes += kShortest, out += 2 * kShortest) {
      const Planes table = memo.find(scales[g], build);
      for (size_t at = 0; at < kShortest; at += 16) {
        const v128_t x = wasm_v128_load(codes + at);
        const v128_t sizes = wasm_v128_and(x, step.magnitude);
        seen.see(x, sizes);
        step(x, sizes, table).store(out + 2 * at);
      }
    }
    return !seen.any();
  }

  void run_unit(const uint8_t* codes, size_t n, size_t group_cols, uint8_t* out) const {
    Specials<Format> seen;
    const Cell<Format, Target>* cell = cells.data();
    for (size_t col = 0; col < n; col += group_cols, ++cell) {
      run_cell(*cell, codes + col, std::min(group_cols, n - col), out + 2 * col, seen);
    }
    if (!seen.any()) return;
    cell = cells.data();
    for (size_t col = 0; col < n; col += group_cols, ++cell) {
      run_any<Format, Target>(cell->scale, codes + col, std::min(group_cols, n - col), out + 2 * col);
    }
  }

  void run_cell(const Cell<Format, Target>& cell, const uint8_t* codes, size_t n, uint8_t* out,
                Specials<Format>& seen) const {
    if (n < kShortest || cell.way == Way::any) {
      run_any<Format, Target>(cell.scale, codes, n, out);
    } else if (cell.way == Way::nibble) {
      const auto method = [step = nibble, table = cell.nibble](v128_t x, v128_t sizes) {
        return step(x, sizes, table);
      };
      run_tables<32>(method, codes, n, out, nibble.magnitude, seen);
    } else if (cell.way == Way::numbers) {
      run_numbers(lanes, cell.scale, codes, n, out, seen);
    } else if constexpr (Cell<Format, Target>::kHasDelta) {
      run_delta(cell.delta, codes, n, out, nibble.magnitude, seen);
    }
  }
};

/// Groups under 32 columns: the scales of a panel of columns are spread out, one a column.
template <class Format, class Target>
void run_spread(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols, uint8_t* out) {
  constexpr size_t kPanelCols = 256;
  const Lanes<Format, Target, true> lanes(opaque_zero);
  alignas(16) float spread[kPanelCols] = {};  // all set even if cols < 16: the codes get padded
  size_t left_of_group = group_cols;
  for (size_t col = 0; col < cols; col += kPanelCols) {
    const size_t count = std::min(kPanelCols, cols - col);
    for (size_t i = 0; i < count; ++i) {
      spread[i] = *scales;
      if (--left_of_group == 0) {
        ++scales;
        left_of_group = group_cols;
      }
    }
    for (size_t row = 0; row < rows; ++row) {
      const size_t first = row * cols + col;
      for_each_16_padded(codes + first, count, out + 2 * first, [lanes, &spread](const uint8_t* in, size_t at) {
        const v128_t x = wasm_v128_load(in);
        const float* factors = spread + at;
        return lanes(x, wasm_v128_and(x, lanes.magnitude),
                     {wasm_v128_load(factors), wasm_v128_load(factors + 4), wasm_v128_load(factors + 8),
                      wasm_v128_load(factors + 12)});
      });
    }
  }
}

template <class Format, class Target>
void dequantize(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols, uint8_t* out) {
  if (rows == 0 || cols == 0) return;
  group_cols = std::min(group_cols, cols);
  if (group_cols < CellStrip<Format, Target>::kShortest) {
    return run_spread<Format, Target>(codes, rows, cols, scales, group_cols, out);
  }
  CellStrip<Format, Target>(opaque_zero).run(codes, rows, cols, scales, group_cols, out);
}

}  // namespace

#define WB_STRIP(to, from, Format, Target)                                                           \
  void strip_##to##_from_##from(const uint8_t* codes, size_t rows, size_t cols, const float* scales, \
                                size_t group_cols, uint8_t* out) {                                   \
    dequantize<Format, Target>(codes, rows, cols, scales, group_cols, out);                          \
  }
WB_STRIP(bf16, f8_e4m3, E4M3, ToBf16)
WB_STRIP(bf16, f8_e5m2, E5M2, ToBf16)
WB_STRIP(bf16, f8_e4m3fnuz, E4M3Fnuz, ToBf16)
WB_STRIP(bf16, f8_e5m2fnuz, E5M2Fnuz, ToBf16)
WB_STRIP(f16, f8_e4m3, E4M3, ToF16)
WB_STRIP(f16, f8_e5m2, E5M2, ToF16)
WB_STRIP(f16, f8_e4m3fnuz, E4M3Fnuz, ToF16)
WB_STRIP(f16, f8_e5m2fnuz, E5M2Fnuz, ToF16)
#undef WB_STRIP

}  // namespace wb::kernels::simd128
#endif
