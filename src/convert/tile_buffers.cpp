#include "convert/tile_buffers.h"

#include <algorithm>

#include "base/checked.h"
#include "quant/grid.h"

namespace wb {
namespace {

/// Numbers are widened in pieces of this many.
constexpr size_t kWidened = 1024;

bool is_field_of_group(const Plane& plane) { return plane.bits != 0 && plane.role != PlaneRole::codes; }

// What each role's array holds at most.
uint64_t floats_of(PlaneRole role) {
  const bool by_group = role == PlaneRole::scale || role == PlaneRole::zero || role == PlaneRole::addend;
  return by_group ? kTileGroups : kStreamedCodes;
}

// Rows and columns of the weight-side matrix that a region of a plane covers.
uint64_t width_of(const Plane& plane, const Region& region) {
  return plane.transposed ? region.row_end - region.row_begin : region.col_end - region.col_begin;
}

size_t elements_of(const Tiling& tiling, const Plane& plane, const Tile& tile) {
  const Region region = region_of(tiling, plane, tile);
  return static_cast<size_t>((region.row_end - region.row_begin) * (region.col_end - region.col_begin));
}

}  // namespace

Result<TileBuffers> TileBuffers::create(const Plan& plan) {
  TileBuffers buffers;
  uint64_t codes = 0;
  uint64_t fields = 0;
  bool roles[kPlaneRoles] = {};
  for (const Step& step : plan.steps) {
    if (!step.tiling) continue;
    codes = std::max(codes, step.tiling->transposes() ? kTileCodes : kStreamedCodes);
    for (const Plane& plane : step.tiling->planes) {
      if (plane.role != PlaneRole::codes) roles[static_cast<size_t>(plane.role)] = true;
      if (is_field_of_group(plane)) fields = kTileGroups;
    }
  }
  if (codes > 0) {
    WB_TRY(buffers.codes_, Buffer::create(codes));
  }
  if (fields > 0) {
    WB_TRY(buffers.fields_, Buffer::create(fields));
  }
  for (size_t role = 0; role < kPlaneRoles; ++role) {
    if (!roles[role]) continue;
    Buffer& to = static_cast<PlaneRole>(role) == PlaneRole::order ? buffers.order_ : buffers.numbers_[role];
    WB_TRY(to, Buffer::create(floats_of(static_cast<PlaneRole>(role)) * sizeof(float)));
  }
  return buffers;
}

// Fields that straddle two lines are put together in place, so their places begin as zero.
void TileBuffers::begin_tile(const Step& step, const TileWork& work) {
  const std::array<uint64_t, 3> at{work.tile.batch, work.tile.row_begin, work.tile.col_begin};
  if (begun_ == &step && at == begun_at_) return;
  if (begun_ != &step) {
    table_ = code_table(step.tiling->codec);
    std::copy(step.tiling->table.begin(), step.tiling->table.end(), table_.begin());
  }
  begun_ = &step;
  begun_at_ = at;
  finished_ = false;
  std::fill_n(codes_.data(), static_cast<size_t>(work.tile.rows() * work.tile.cols()), uint8_t{0});
  for (const Plane& plane : step.tiling->planes) {
    if (is_field_of_group(plane)) std::fill_n(fields_.data(), elements_of(*step.tiling, plane, work.tile), uint8_t{0});
  }
}

Status TileBuffers::fill(const Inventory& inventory, const Step& step, const TileWork& work, const uint8_t* bytes) {
  begin_tile(step, work);
  const Plane& plane = step.tiling->planes[work.plane];
  const Region region = region_of(*step.tiling, plane, work.tile);
  if (plane.role == PlaneRole::order) return fill_order(inventory, step, plane, work, bytes);
  if (plane.bits != 0) {
    // Only one plane of a tiling keeps its groups as fields.
    fill_fields(plane, region, work, bytes, plane.role == PlaneRole::codes ? codes_.data() : fields_.data());
  } else if (plane.swizzled) {
    fill_swizzled(plane, region, work, bytes);
  } else {
    fill_numbers(plane, region, work, bytes);
  }
  return {};
}

void TileBuffers::fill_fields(const Plane& plane, const Region& region, const TileWork& work, const uint8_t* bytes,
                              uint8_t* out) {
  const auto width = static_cast<size_t>(width_of(plane, region));
  kernels::FieldTarget target{region.row_begin, region.row_end, region.col_begin, region.col_end, out, width, 1};
  if (plane.transposed) target.row_stride = 1, target.col_stride = width;
  if (plane.is_flat()) target.row_stride = 0;
  kernels::unpack_fields(plane.packing, plane.bits, plane.rows, plane.cols, work.part, bytes, target);
}

void TileBuffers::fill_numbers(const Plane& plane, const Region& region, const TileWork& work, const uint8_t* bytes) {
  const uint64_t each = dtype_info(plane.dtype).bits / 8;
  const uint64_t first = work.part.byte_begin / each;
  const uint64_t begin = std::max(region.col_begin, first);
  const uint64_t end = std::min(region.col_end, work.part.byte_end / each);
  const auto width = static_cast<size_t>(width_of(plane, region));
  float* const out = numbers(plane.role);
  float widened[kWidened];
  for (uint64_t row = std::max(region.row_begin, work.part.line_begin);
       row < std::min(region.row_end, work.part.line_end); ++row) {
    const uint8_t* const line =
        bytes + static_cast<size_t>((row - work.part.line_begin) * (work.part.byte_end - work.part.byte_begin));
    for (uint64_t col = begin; col < end; col += kWidened) {
      const auto n = static_cast<size_t>(std::min<uint64_t>(kWidened, end - col));
      kernels::widen_scales(plane.dtype, line + static_cast<size_t>((col - first) * each), n, widened);
      const auto i = static_cast<size_t>(row - region.row_begin);
      const auto j = static_cast<size_t>(col - region.col_begin);
      if (plane.transposed) {
        for (size_t k = 0; k < n; ++k) out[(j + k) * width + i] = widened[k];
      } else {
        std::copy_n(widened, n, out + i * width + j);
      }
    }
  }
}

// One line is a stripe of 128 rows: tiles of 512 scales, in each (row % 32) * 16 + (row % 128 / 32) * 4 + col % 4.
void TileBuffers::fill_swizzled(const Plane& plane, const Region& region, const TileWork& work, const uint8_t* bytes) {
  Grid grid;
  grid.rows = grid.batch_rows = grid.grid_rows = plane.rows;
  grid.cols = grid.grid_cols = plane.cols;
  grid.group_rows = grid.group_cols = 1;
  grid.swizzled = true;
  const uint64_t skipped = work.part.line_begin * plane.lines().line_bytes + work.part.byte_begin;
  const uint64_t got = (work.part.line_end - work.part.line_begin) * (work.part.byte_end - work.part.byte_begin);
  const auto width = static_cast<size_t>(width_of(plane, region));
  for (uint64_t row = region.row_begin; row < region.row_end; ++row) {
    for (uint64_t col = region.col_begin; col < region.col_end; ++col) {
      const uint64_t at = grid.scale_index(row, col) - skipped;  // wraps to something huge before the part
      if (at >= got) continue;
      float* const out = numbers(plane.role) + static_cast<size_t>(row - region.row_begin) * width +
                         static_cast<size_t>(col - region.col_begin);
      kernels::widen_scales(plane.dtype, bytes + static_cast<size_t>(at), 1, out);
    }
  }
}

Status TileBuffers::fill_order(const Inventory& inventory, const Step& step, const Plane& plane, const TileWork& work,
                               const uint8_t* bytes) {
  const uint64_t first = work.part.byte_begin / 4;
  auto* const order = reinterpret_cast<uint32_t*>(order_.data());
  const uint64_t end = std::min(work.tile.col_end, work.part.byte_end / 4);
  for (uint64_t col = std::max(work.tile.col_begin, first); col < end; ++col) {
    const auto group = load_le<uint32_t>(bytes + static_cast<size_t>((col - first) * 4));
    if (group >= step.tiling->grid_cols()) {
      const Tensor& tensor = inventory.tensors[plane.tensor];
      return fail(Errc::payload_shape_mismatch, tensor.name,
                  "`" + tensor.name + "` puts column " + std::to_string(col) + " into group " + std::to_string(group) +
                      ", but there are " + std::to_string(step.tiling->grid_cols()) + " groups");
    }
    order[static_cast<size_t>(col - work.tile.col_begin)] = group;
  }
  return {};
}

// Zero points are small integers: exact in float32.
void TileBuffers::finish_zeros(const Step& step, const Tile& tile) {
  const Tiling& t = *step.tiling;
  const Plane* const plane = t.plane(PlaneRole::zero);
  if (!plane || plane->bits == 0) return;
  const size_t n = elements_of(t, *plane, tile);
  float* const zeros = numbers(PlaneRole::zero);
  for (size_t i = 0; i < n; ++i) {
    const uint8_t field = fields_.data()[i];
    zeros[i] =
        (t.zero_signed ? static_cast<float>(static_cast<int8_t>(field)) : static_cast<float>(field)) + t.zero_bias;
  }
}

// Scales of two levels become one, in float32 and in the order of the scheme's own code.
void TileBuffers::finish_scales(const Step& step, const Tile& tile) {
  const Tiling& t = *step.tiling;
  const Plane* const plane = t.plane(PlaneRole::scale);
  if (!plane) return;
  const size_t n = elements_of(t, *plane, tile);
  float* const scales = numbers(PlaneRole::scale);
  if (plane->bits != 0) {
    for (size_t i = 0; i < n; ++i) scales[i] = t.scale_table[fields_.data()[i]];
  }
  if (t.nested_groups != 0) {
    const uint64_t first = tile.col_begin / t.group_cols;
    const float* const nested = numbers(PlaneRole::nested);
    for (size_t i = 0; i < n; ++i) {
      scales[i] = scales[i] * nested[(first + i) / t.nested_groups - first / t.nested_groups] + t.nested_offset;
    }
  }
  if (step.globals.empty()) return;
  const float global = step.globals[step.globals.size() == 1 ? 0 : static_cast<size_t>(tile.batch)];
  for (size_t i = 0; i < n; ++i) scales[i] = step.divide_global ? scales[i] / global : scales[i] * global;
}

kernels::F16Loss TileBuffers::emit(const Step& step, const TileWork& work, uint8_t* out) {
  if (!finished_) {
    finish_zeros(step, work.tile);
    finish_scales(step, work.tile);
    finished_ = true;
  }
  const Tiling& t = *step.tiling;
  const Tile& tile = work.tile;
  const bool ordered = t.plane(PlaneRole::order) != nullptr;
  const auto cols = static_cast<size_t>(tile.cols());
  const uint64_t first_group = ordered ? 0 : tile.col_begin / t.group_cols;
  const auto groups = static_cast<size_t>(ordered ? t.grid_cols() : ceil_div(tile.col_end, t.group_cols) - first_group);
  const auto of = [&](PlaneRole role) { return t.plane(role) ? numbers(role) : nullptr; };
  float* const addend = of(PlaneRole::addend);

  kernels::AffineRow row;
  row.table = table_.data();
  row.codes = size_t{1} << t.plane(PlaneRole::codes)->bits;
  row.to_int8 = t.to_int8;
  row.factor = of(PlaneRole::factor);
  row.rotation = static_cast<size_t>(t.rotation);
  row.order = ordered ? reinterpret_cast<const uint32_t*>(order_.data()) : nullptr;
  row.group_cols = t.group_cols;
  row.into_group = tile.col_begin % t.group_cols;
  row.subtract_addend = t.subtract_addend;
  kernels::F16Loss loss;
  for (uint64_t r = work.row_begin; r < work.row_end; ++r) {
    const size_t at = static_cast<size_t>(r / t.group_rows - tile.row_begin / t.group_rows) * groups;
    row.zero = of(PlaneRole::zero) ? of(PlaneRole::zero) + at : nullptr;
    row.scale = of(PlaneRole::scale) ? of(PlaneRole::scale) + at : nullptr;
    row.addend = addend ? addend + at : nullptr;
    const auto in_tile = static_cast<size_t>(r - tile.row_begin);
    if (const float* const by_row = of(PlaneRole::row_scale)) row.row_scale = by_row[in_tile];
    loss += kernels::dequantize_affine_row(codes_.data() + in_tile * cols, cols, row, step.dtype, out);
    if (out) out += cols * 2;
  }
  return loss;
}

}  // namespace wb
