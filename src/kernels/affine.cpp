#include "kernels/affine.h"

#include <algorithm>
#include <cmath>

#include "kernels/lookup.h"
#include "kernels/rotate.h"

namespace wb::kernels {
namespace {

/// Columns that pass through float32 together: whole rotation groups, and small enough for the first cache.
constexpr size_t kColumns = 2 * kRotationGroupMax;

// What a scheme does to the columns of one group: x has n values.
inline __attribute__((always_inline)) void apply_group(float* x, size_t n, const AffineRow& row, size_t group) {
  if (row.zero) {
    const float zero = row.zero[group];
    for (size_t i = 0; i < n; ++i) x[i] -= zero;
  }
  if (row.scale) {
    const float scale = row.scale[group];
    for (size_t i = 0; i < n; ++i) x[i] *= scale;
  }
  if (row.to_int8) {
    for (size_t i = 0; i < n; ++i) x[i] = std::clamp(std::nearbyint(x[i]), -127.0f, 127.0f) * row.row_scale;
  }
  if (row.addend) {
    const float addend = row.subtract_addend ? -row.addend[group] : row.addend[group];  // x - a is x + (-a)
    for (size_t i = 0; i < n; ++i) x[i] += addend;
  }
}

// The same where every column is a group of its own, the first of them `group`.
void apply_columns(float* x, size_t n, const AffineRow& row, size_t group) {
  for (size_t i = 0; row.zero && i < n; ++i) x[i] -= row.zero[group + i];
  for (size_t i = 0; row.scale && i < n; ++i) x[i] *= row.scale[group + i];
  if (row.to_int8) apply_group(x, n, {.to_int8 = true, .row_scale = row.row_scale}, 0);
  const float sign = row.subtract_addend ? -1.0f : 1.0f;
  for (size_t i = 0; row.addend && i < n; ++i) x[i] += sign * row.addend[group + i];
}

// Calls each(first of the run, how many, group) for every run of columns that share a group.
template <class Each>
void by_groups(size_t first, size_t n, const AffineRow& row, Each each) {
  if (row.order) {
    // In most files neighbours share a group even under an order.
    const uint32_t* const order = row.order + first;
    for (size_t i = 0, end; i < n; i = end) {
      for (end = i + 1; end < n && order[end] == order[i]; ++end) {
      }
      each(i, end - i, order[i]);
    }
    return;
  }
  const uint64_t at = row.into_group + first;
  auto group = static_cast<size_t>(at / row.group_cols);
  uint64_t left = row.group_cols - at % row.group_cols;
  for (size_t i = 0; i < n; ++group, left = row.group_cols) {
    const auto run = static_cast<size_t>(std::min<uint64_t>(left, n - i));
    each(i, run, group);
    i += run;
  }
}

F16Loss store(const float* x, size_t n, Dtype to, uint8_t* out) {
  static const CastRun to_bf16 = find_cast(Dtype::F32, Dtype::BF16)->cast;
  static const CastRun to_f16 = find_cast(Dtype::F32, Dtype::F16)->cast;
  if (out) (to == Dtype::BF16 ? to_bf16 : to_f16)(reinterpret_cast<const uint8_t*>(x), n, out);
  if (to == Dtype::BF16) return {};
  return count_f16_loss_cast(Dtype::F32, reinterpret_cast<const uint8_t*>(x), n);
}

// At most sixteen codes: a group's results are computed once and looked up.
F16Loss by_table(const uint8_t* codes, size_t n, const AffineRow& row, Dtype to, uint8_t* out) {
  constexpr size_t kCodes = 16;
  F16Loss loss;
  by_groups(0, n, row, [&](size_t at, size_t run, size_t group) {
    float x[kCodes];
    std::copy_n(row.table, kCodes, x);
    apply_group(x, kCodes, row, group);
    if (out) look_up_16(x, to, codes + at, run, out + 2 * at);
    if (to == Dtype::BF16) return;
    const F16Loss any = count_f16_loss_cast(Dtype::F32, reinterpret_cast<const uint8_t*>(x), kCodes);
    if (any.overflow + any.underflow == 0) return;
    for (size_t i = at; i < at + run; ++i)
      loss += count_f16_loss_cast(Dtype::F32, reinterpret_cast<const uint8_t*>(x + codes[i]), 1);
  });
  return loss;
}

}  // namespace

F16Loss dequantize_affine_row(const uint8_t* codes, size_t n, const AffineRow& row, Dtype to, uint8_t* out) {
  const bool each_column = !row.order && row.group_cols == 1;
  if (row.codes <= 16 && !row.factor && row.rotation == 0 && !each_column) return by_table(codes, n, row, to, out);
  F16Loss loss;
  float x[kColumns];
  for (size_t first = 0; first < n; first += kColumns) {
    const size_t count = std::min(kColumns, n - first);
    for (size_t i = 0; i < count; ++i) x[i] = row.table[codes[first + i]];
    if (each_column) {
      apply_columns(x, count, row, static_cast<size_t>(row.into_group + first));
    } else {
      by_groups(first, count, row, [&](size_t at, size_t run, size_t group) { apply_group(x + at, run, row, group); });
    }
    for (size_t i = 0; row.factor && i < count; ++i) x[i] *= row.factor[first + i];
    for (size_t at = 0; row.rotation != 0 && at < count; at += row.rotation) unrotate_group(x + at, row.rotation);
    loss += store(x, count, to, out ? out + 2 * first : nullptr);
  }
  return loss;
}

}  // namespace wb::kernels
