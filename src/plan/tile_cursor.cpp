#include "plan/tile_cursor.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/rotate.h"
#include "quant/grid.h"

namespace wb {
namespace {

using kernels::Packing;
using kernels::StoredPart;

// Columns of a tile are cut here: whole words of every packing and whole rotation groups.
constexpr uint64_t kColumnUnit = kernels::kRotationGroupMax;
static_assert(kColumnUnit % 32 == 0);

uint64_t groups_of(uint64_t elements, uint64_t group) { return ceil_div(elements, group) + 1; }  // +1: cut groups

// How many rows and columns a tile takes at most.
std::pair<uint64_t, uint64_t> tile_extent(const Tiling& t) {
  const uint64_t codes = t.transposes() ? kTileCodes : kStreamedCodes;
  const bool ordered = t.plane(PlaneRole::order) != nullptr;
  uint64_t cols = std::min(t.cols, kStreamedCodes);
  const auto row_groups = [&](uint64_t wide) { return ordered ? t.grid_cols() : groups_of(wide, t.group_cols); };
  while (cols > kColumnUnit && row_groups(cols) > kTileGroups) cols /= 2;
  if (cols < t.cols) cols = std::max(cols / kColumnUnit, uint64_t{1}) * kColumnUnit;
  if (cols < t.cols) return {1, cols};
  uint64_t rows = std::clamp<uint64_t>(codes / std::max<uint64_t>(cols, 1), 1, std::max<uint64_t>(t.rows, 1));
  while (rows > 1 && groups_of(rows, t.group_rows) * row_groups(cols) > kTileGroups) rows = ceil_div(rows, 2);
  return {rows, cols};
}

// Numbers and fields: bytes of a line that hold columns [begin, end) of the stored matrix.
std::pair<uint64_t, uint64_t> line_span(const Plane& plane, uint64_t begin, uint64_t end) {
  if (plane.bits == 0) {
    const uint64_t width = dtype_info(plane.dtype).bits / 8;
    return {begin * width, end * width};
  }
  switch (plane.packing) {
    case Packing::down_8: return {begin, end};
    case Packing::down_32: return {begin * 4, end * 4};
    case Packing::awq: return {begin / 8 * 4, ceil_div(end, 8) * 4};
    default: {
      // Up to a whole number of bytes that is also a whole number of fields.
      const uint64_t first = begin / 32 * 32;
      return {first * plane.bits / 8, ceil_div(end * plane.bits, 8)};
    }
  }
}

std::pair<uint64_t, uint64_t> line_range(const Plane& plane, const Region& region) {
  if (plane.swizzled) return {region.row_begin / Grid::kTileRows, ceil_div(region.row_end, Grid::kTileRows)};
  const uint64_t unit = plane.bits == 0                     ? 0
                        : plane.packing == Packing::down_8  ? 8
                        : plane.packing == Packing::down_32 ? 32
                                                            : 0;
  if (unit == 0) return {region.row_begin, region.row_end};
  return {region.row_begin * plane.bits / unit, ceil_div(region.row_end * plane.bits, unit)};
}

}  // namespace

Region region_of(const Tiling& t, const Plane& plane, const Tile& tile) {
  const bool ordered = t.plane(PlaneRole::order) != nullptr;
  Region region{tile.row_begin, tile.row_end, tile.col_begin, tile.col_end};
  switch (plane.role) {
    case PlaneRole::codes: break;
    case PlaneRole::scale:
    case PlaneRole::zero:
    case PlaneRole::addend:
      region = {tile.row_begin / t.group_rows, ceil_div(tile.row_end, t.group_rows), tile.col_begin / t.group_cols,
                ceil_div(tile.col_end, t.group_cols)};
      if (ordered) region.col_begin = 0, region.col_end = t.grid_cols();
      break;
    case PlaneRole::row_scale: region.col_begin = 0, region.col_end = 1; break;
    case PlaneRole::factor:
    case PlaneRole::order: region.row_begin = 0, region.row_end = 1; break;
    case PlaneRole::nested: {
      const uint64_t by = t.group_cols * t.nested_groups;
      region = {0, 1, tile.col_begin / by, ceil_div(tile.col_end, by)};
    }
  }
  if (plane.is_flat()) {
    const uint64_t first = region.row_begin * t.cols + region.col_begin;
    const uint64_t last = (region.row_end - 1) * t.cols + region.col_end;
    return {0, 1, first, last};
  }
  if (!plane.transposed) return region;
  return {region.col_begin, region.col_end, region.row_begin, region.row_end};
}

TileCursor::TileCursor(const Inventory& inventory, const Tiling& tiling) : inventory_(&inventory), tiling_(&tiling) {
  const auto [rows, cols] = tile_extent(tiling);
  tile_rows_ = rows;
  tile_cols_ = cols;
  plane_ = tiling.planes.size();
}

bool TileCursor::next_tile() {
  const Tiling& t = *tiling_;
  Tile next = tile_;
  if (tile_.col_end < t.cols && tile_.row_end > 0) {
    next.col_begin = tile_.col_end;
  } else {
    next.col_begin = 0;
    next.row_begin = tile_.row_end;
    if (tile_.row_end == t.rows) {
      next.row_begin = 0;
      if (++next.batch == t.batches) return false;
    }
  }
  next.row_end = std::min(t.rows, next.row_begin + tile_rows_);
  next.col_end = std::min(t.cols, next.col_begin + tile_cols_);
  tile_ = next;
  plane_ = 0;
  row_ = tile_.row_begin;
  runs_.clear();
  begin_runs(t.planes[0]);
  return true;
}

// The parts of the plane's lines that the tile needs, as runs of lines.
void TileCursor::begin_runs(const Plane& plane) {
  const Region region = region_of(*tiling_, plane, tile_);
  const auto lines = plane.lines();
  line_ = byte_ = 0;
  if (plane.is_flat()) {
    // Parts p of the units [begin, end): the units that any wanted field stands in.
    const uint64_t width = plane.packing == Packing::parts_30 ? 4 : 1;
    const uint64_t units = lines.line_bytes / width;
    const uint64_t begin = region.col_begin;
    const uint64_t end = region.col_end;
    if (end - begin >= units || begin / units != (end - 1) / units) {
      const bool apart = end - begin < units && (end - 1) % units + 1 < begin % units;
      if (!apart) {
        runs_.push_back({{0, 1, 0, lines.line_bytes}, true});
      } else {
        runs_.push_back({{0, 1, 0, ((end - 1) % units + 1) * width}, true});
        runs_.push_back({{0, 1, begin % units * width, lines.line_bytes}, true});
      }
    } else {
      runs_.push_back({{0, 1, begin % units * width, ((end - 1) % units + 1) * width}, true});
    }
  } else {
    const auto [line_begin, line_end] = line_range(plane, region);
    auto [begin, end] = plane.swizzled ? std::pair<uint64_t, uint64_t>(0, lines.line_bytes)
                                       : line_span(plane, region.col_begin, region.col_end);
    const bool part = begin > 0 || end < lines.line_bytes;
    const bool whole = !part || (end - begin < kLinePartBytes && lines.line_bytes <= kTileReadBytes);
    if (whole) begin = 0, end = lines.line_bytes;
    runs_.push_back({{line_begin, line_end, begin, end}, !whole || lines.line_bytes > kTileReadBytes});
  }
  line_ = runs_.front().part.line_begin;
  byte_ = runs_.front().part.byte_begin;
}

// The next read of the first run: whole lines, or a part of one.
TileWork TileCursor::fill() {
  const Plane& plane = tiling_->planes[static_cast<size_t>(plane_)];
  const Run& run = runs_.front();
  const uint64_t line_bytes = plane.lines().line_bytes;
  TileWork work;
  work.tile = tile_;
  work.plane = static_cast<uint32_t>(plane_);
  work.part = {line_, line_ + 1, byte_, run.part.byte_end};
  if (run.by_line) {
    // Cut at a whole number of fields and words; begin is one already.
    const uint64_t unit = plane.bits == 0 ? 8 : 4 * plane.bits;
    const uint64_t longest = kTileReadBytes / unit * unit;
    work.part.byte_end = std::min(run.part.byte_end, byte_ + longest);
    byte_ = work.part.byte_end;
    if (byte_ == run.part.byte_end) ++line_, byte_ = run.part.byte_begin;
  } else {
    const uint64_t lines = std::max<uint64_t>(kTileReadBytes / std::max<uint64_t>(line_bytes, 1), 1);
    work.part.line_end = std::min(run.part.line_end, line_ + lines);
    line_ = work.part.line_end;
  }
  const uint64_t base =
      inventory_->tensors[plane.tensor].begin + (plane.shared ? 0 : tile_.batch * plane.matrix_bytes());
  work.begin = base + work.part.line_begin * line_bytes + work.part.byte_begin;
  work.end = base + (work.part.line_end - 1) * line_bytes + work.part.byte_end;
  if (line_ == run.part.line_end) {
    runs_.erase(runs_.begin());
    if (!runs_.empty()) {
      line_ = runs_.front().part.line_begin;
      byte_ = runs_.front().part.byte_begin;
    }
  }
  return work;
}

std::optional<TileWork> TileCursor::next() {
  const size_t planes = tiling_->planes.size();
  if (tiling_->rows == 0 || tiling_->cols == 0) return std::nullopt;
  if (plane_ == planes && row_ == tile_.row_end && !next_tile()) return std::nullopt;
  if (plane_ < planes) {
    TileWork work = fill();
    if (runs_.empty() && ++plane_ < planes) begin_runs(tiling_->planes[static_cast<size_t>(plane_)]);
    return work;
  }
  TileWork work;
  work.tile = tile_;
  work.emit = true;
  work.row_begin = row_;
  row_ = std::min(tile_.row_end, row_ + std::max<uint64_t>(kEmitElements / tile_.cols(), 1));
  work.row_end = row_;
  return work;
}

uint64_t tiled_read_bytes(const Inventory& inventory, const Tiling& tiling) {
  uint64_t bytes = 0;
  TileCursor cursor(inventory, tiling);
  while (const auto work = cursor.next()) bytes += work->emit ? 0 : work->end - work->begin;
  return bytes;
}

}  // namespace wb
