#include "kernels/affine.h"

#include <algorithm>
#include <cmath>

#include "kernels/numeric.h"
#include "kernels/rotate.h"

namespace wb::kernels {
namespace {

/// Columns that pass through float32 together: whole rotation groups, and small enough for the first cache.
constexpr size_t kColumns = 2 * kRotationGroupMax;

void multiply_group(float* x, size_t n, const AffineRow& row, size_t group) {
  if (row.zero) {
    const float zero = row.zero[group];
    for (size_t i = 0; i < n; ++i) x[i] -= zero;
  }
  if (!row.scale) return;
  const float scale = row.scale[group];
  for (size_t i = 0; i < n; ++i) x[i] *= scale;
}

void add_group(float* x, size_t n, const AffineRow& row, size_t group) {
  const float addend = row.subtract_addend ? -row.addend[group] : row.addend[group];  // x - a is x + (-a)
  for (size_t i = 0; i < n; ++i) x[i] += addend;
}

// Calls each(values, how many, group) for every run of columns that share a group.
template <class Each>
void by_groups(float* x, size_t first, size_t n, const AffineRow& row, Each each) {
  if (row.order) {
    // In most files neighbours share a group even under an order.
    const uint32_t* const order = row.order + first;
    for (size_t i = 0, end; i < n; i = end) {
      for (end = i + 1; end < n && order[end] == order[i]; ++end) {
      }
      each(x + i, end - i, order[i]);
    }
    return;
  }
  for (size_t i = 0; i < n;) {
    const uint64_t at = row.into_group + first + i;
    const auto run = static_cast<size_t>(std::min<uint64_t>(row.group_cols - at % row.group_cols, n - i));
    each(x + i, run, static_cast<size_t>(at / row.group_cols));
    i += run;
  }
}

F16Loss store(const float* x, size_t n, Dtype to, uint8_t* out) {
  F16Loss loss;
  if (to == Dtype::BF16) {
    for (size_t i = 0; out && i < n; ++i) store_le<uint16_t>(out + 2 * i, bf16_from_f32(x[i]));
    return loss;
  }
  for (size_t i = 0; i < n; ++i) {
    const uint16_t half = f16_from_f32(x[i]);
    loss.overflow += (half & 0x7FFF) == 0x7C00 && std::isfinite(x[i]);
    loss.underflow += (half & 0x7FFF) == 0 && x[i] != 0;
    if (out) store_le<uint16_t>(out + 2 * i, half);
  }
  return loss;
}

}  // namespace

F16Loss dequantize_affine_row(const uint8_t* codes, size_t n, const AffineRow& row, Dtype to, uint8_t* out) {
  F16Loss loss;
  float x[kColumns];
  for (size_t first = 0; first < n; first += kColumns) {
    const size_t count = std::min(kColumns, n - first);
    for (size_t i = 0; i < count; ++i) x[i] = row.table[codes[first + i]];
    if (row.zero || row.scale) {
      by_groups(x, first, count, row,
                [&](float* at, size_t run, size_t group) { multiply_group(at, run, row, group); });
    }
    if (row.to_int8) {
      for (size_t i = 0; i < count; ++i) x[i] = std::clamp(std::nearbyint(x[i]), -127.0f, 127.0f) * row.row_scale;
    }
    if (row.addend)
      by_groups(x, first, count, row, [&](float* at, size_t run, size_t group) { add_group(at, run, row, group); });
    for (size_t i = 0; row.factor && i < count; ++i) x[i] *= row.factor[first + i];
    for (size_t at = 0; row.rotation != 0 && at < count; at += row.rotation) unrotate_group(x + at, row.rotation);
    loss += store(x, count, to, out ? out + 2 * first : nullptr);
  }
  return loss;
}

}  // namespace wb::kernels
