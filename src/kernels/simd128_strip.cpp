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
#include "kernels/simd128_fp8.h"
#include "kernels/simd128_memo.h"

namespace wb::kernels::simd128 {
namespace {

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

/// Finite codes; the scale as Lanes::unbiased has it.
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

/// Whole groups of a multiple of 32 codes, the table of each from table_of(index). False where an Inf or NaN code was
/// among them. One loop without calls, so that all constants stay in registers.
template <class Format, class Target, class TableOf>
inline __attribute__((always_inline)) bool run_nibbles(const Nibble<Format, Target>& nibble, size_t groups,
                                                       size_t group_cols, const uint8_t* codes, uint8_t* out,
                                                       TableOf&& table_of) {
  const Nibble<Format, Target> step = nibble;
  Specials<Format> seen;
  for (size_t g = 0; g < groups; ++g) {
    const Planes table = table_of(g);
    for (const uint8_t* const end = codes + group_cols; codes != end; codes += 32, out += 64) {
      const v128_t x = wasm_v128_load(codes);
      const v128_t y = wasm_v128_load(codes + 16);
      const v128_t x_sizes = wasm_v128_and(x, step.magnitude);
      const v128_t y_sizes = wasm_v128_and(y, step.magnitude);
      seen.see(x, x_sizes);
      seen.see(y, y_sizes);
      step(x, x_sizes, table).store(out);
      step(y, y_sizes, table).store(out + 32);
    }
  }
  return !seen.any();
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
    way = std::isfinite(Lanes<Format, Target, false>::unbiased(scale)) ? Way::numbers : Way::any;
    if (codes_sharing >= kNibblePays && Nibble<Format, Target>::is_exact_for(scale)) {
      way = Way::nibble;
      nibble = Nibble<Format, Target>::build(target, scale);
    } else if constexpr (kHasDelta) {
      if (codes_sharing < kDeltaPays || !std::isfinite(scale)) return;
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
  bool nibbles_only = false;  ///< all cells of the panel, and whole steps

  explicit CellStrip(uint32_t zero) : target(zero), nibble(zero), lanes(zero) {}

  void run(const uint8_t* codes, size_t rows, size_t cols, const float* scales, size_t group_cols, uint8_t* out) {
    const size_t panel_groups = std::clamp<size_t>(kUnitCols / group_cols, 1, kPanelGroups);
    for (size_t col = 0, panel_cols = 0; col < cols; col += panel_cols) {
      panel_cols = 0;
      nibbles_only = group_cols % kShortest == 0;
      for (size_t g = 0; g < panel_groups && col + panel_cols < cols; ++g) {
        cells[g].build(target, *scales++, rows * group_cols);
        nibbles_only = nibbles_only && cells[g].way == Way::nibble;
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

  void run_unit(const uint8_t* codes, size_t n, size_t group_cols, uint8_t* out) const {
    Specials<Format> seen;
    const Cell<Format, Target>* cell = cells.data();
    if (nibbles_only && n % group_cols == 0) {
      const auto table_of = [this](size_t g) { return cells[g].nibble; };
      if (run_nibbles(nibble, n / group_cols, group_cols, codes, out, table_of)) return;
    }
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
      run_numbers(lanes, lanes.unbiased(cell.scale), codes, n, out, seen);
    } else if constexpr (Cell<Format, Target>::kHasDelta) {
      run_delta(cell.delta, codes, n, out, nibble.magnitude, seen);
    }
  }
};

/// A row of groups of a few vectors each. Every scale serves one group only, so tables are built on the way, or
/// remembered where a group is too short to pay for its own. A batch that no table is fit for is done group by group.
template <class Format, class Target>
struct RowStrip {
  static constexpr size_t kStep = 32;
  static constexpr size_t kShort = 64;  ///< codes that pay for a nibble table
  static constexpr size_t kBatchCols = 4096;
  static constexpr size_t kBatchGroups = 64;

  using NibbleMemo = TableMemo<Planes, 4, 9>;
  using DeltaMemo = TableMemo<DeltaTables<Format>, 0, 6>;
  static inline NibbleMemo nibble_memo;
  static inline DeltaMemo delta_memo;

  Target target;
  Nibble<Format, Target> nibble;
  Lanes<Format, Target, false> lanes;

  explicit RowStrip(uint32_t zero) : target(zero), nibble(zero), lanes(zero) {}

  static bool serves(size_t group_cols) { return group_cols % kStep == 0 && group_cols < kBatchCols; }

  void run(const uint8_t* codes, size_t cols, const float* scales, size_t group_cols, uint8_t* out) const {
    const size_t batch_groups = std::min(kBatchGroups, kBatchCols / group_cols);
    for (size_t left = cols / group_cols; left > 0;) {
      const size_t groups = std::min(left, batch_groups);
      if (!run_batch(codes, groups, group_cols, scales, out)) {
        for (size_t g = 0, at = 0; g < groups; ++g, at += group_cols)
          run_group(scales[g], codes + at, group_cols, out + 2 * at);
      }
      codes += groups * group_cols;
      out += 2 * groups * group_cols;
      scales += groups;
      left -= groups;
    }
    if (const size_t rest = cols % group_cols) run_group(*scales, codes, rest, out);
  }

  /// By tables; false, and the output is nonsense, where a scale or a code is not fit for them.
  bool run_batch(const uint8_t* codes, size_t groups, size_t group_cols, const float* scales, uint8_t* out) const {
    const auto build = [this](float scale) { return Nibble<Format, Target>::build(target, scale); };
    if (!nibble.is_exact_for_all(scales, groups)) {
      if constexpr (std::is_same_v<Target, ToF16>) return group_cols == kStep && run_deltas(codes, groups, scales, out);
      return false;
    }
    const auto by_memo = [&] {
      auto table_of = nibble_memo.reader(scales);
      return run_nibbles(nibble, groups, kStep, codes, out, table_of) && !table_of.missed();
    };
    if (group_cols < kShort) {
      if (by_memo()) return true;
      nibble_memo.fill(scales, groups, build);
      if (by_memo()) return true;
    }
    return run_nibbles(nibble, groups, group_cols, codes, out, [&](size_t g) { return build(scales[g]); });
  }

  /// MX: the scales are powers of two, of which there are few, so even these tables are worth remembering.
  bool run_deltas(const uint8_t* codes, size_t groups, const float* scales, uint8_t* out) const {
    for (size_t g = 0; g < groups; ++g) {
      if (!std::isfinite(scales[g]) || bit_cast<uint32_t>(scales[g]) << 9 != 0) return false;
    }
    const auto build = [this](float scale) {
      DeltaTables<Format> tables;
      tables.build(target, scale);
      return tables;
    };
    delta_memo.fill(scales, groups, build);
    auto table_of = delta_memo.reader(scales);
    uint8_t count = 0;
    for (size_t g = 0; g < groups; ++g) count = std::max(count, table_of(g).count);
    if (table_of.missed()) return false;
    if (count <= 1) return run_deltas_of<1>(codes, groups, scales, out);
    if (count <= 3) return run_deltas_of<3>(codes, groups, scales, out);
    return run_deltas_of<DeltaTables<Format>::kGroups>(codes, groups, scales, out);
  }
  template <int Count>
  bool run_deltas_of(const uint8_t* codes, size_t groups, const float* scales, uint8_t* out) const {
    auto table_of = delta_memo.reader(scales);
    const uint32_t zero = opaque_zero;
    const v128_t magnitude = nibble.magnitude;
    Specials<Format> seen;
    for (size_t g = 0; g < groups; ++g) {
      const Delta<Format, Count> method(zero, table_of(g));
      for (size_t at = 0; at < kStep; at += 16, codes += 16, out += 32) {
        const v128_t x = wasm_v128_load(codes);
        const v128_t sizes = wasm_v128_and(x, magnitude);
        seen.see(x, sizes);
        method(x, sizes).store(out);
      }
    }
    return !seen.any();
  }

  void run_group(float scale, const uint8_t* codes, size_t n, uint8_t* out) const {
    Specials<Format> seen;
    const float factor = lanes.unbiased(scale);
    if (n >= 16 && std::isfinite(factor)) {
      run_numbers(lanes, factor, codes, n, out, seen);
      if (!seen.any()) return;
    }
    run_any<Format, Target>(scale, codes, n, out);
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
  if (rows == 1 && RowStrip<Format, Target>::serves(group_cols)) {
    return RowStrip<Format, Target>(opaque_zero).run(codes, cols, scales, group_cols, out);
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
