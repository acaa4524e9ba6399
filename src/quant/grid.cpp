#include "quant/grid.h"

#include <algorithm>

#include "base/checked.h"

namespace wb {
namespace {

struct Matrices {
  uint64_t batches = 1;
  uint64_t rows = 1;
  uint64_t cols = 1;
};

// [N, K] is one matrix, [E, N, K] a stack. A rank above 3 is a convolution: [O, I, kh, kw] has one
// row per output channel. A vector has one element a row.
Matrices matrices_of(const Shape& shape) {
  if (shape.size() == 3) return {shape[0], shape[1], shape[2]};
  Matrices m;
  if (!shape.empty()) m.rows = shape[0];
  for (size_t i = 1; i < shape.size(); ++i) m.cols *= shape[i];  // cannot overflow: the element count did not
  return m;
}

class Matcher {
 public:
  Matcher(const std::string& name, const Shape& weight, const Shape& scale, const GridHints& hints)
      : name_(name), weight_(weight), scale_(scale), hints_(hints), m_(matrices_of(weight)) {}

  GridMatch match() {
    // One reading per line, the order is the rule.
    if (one_element() || fused_parts() || per_expert() || per_output() || per_row() || per_column() || groups() ||
        blocks())
      return std::move(result_);
    if (!result_.problem) {
      result_.problem = Error{Errc::scale_shape_mismatch, name_,
                              "the scale " + shape_text(scale_) + " fits `" + name_ + "` " + shape_text(weight_) +
                                  " in no way: tried " + tried_};
    }
    return std::move(result_);
  }

 private:
  bool is(const Shape& shape) const { return scale_ == shape; }

  bool accept(Granularity granularity, uint64_t batch_rows, uint64_t group_rows, uint64_t group_cols) {
    Grid& grid = result_.grid;
    grid.rows = m_.batches * m_.rows;
    grid.cols = m_.cols;
    grid.batch_rows = std::max<uint64_t>(batch_rows, 1);  // a weight may have no rows at all
    grid.group_rows = std::max<uint64_t>(group_rows, 1);
    grid.group_cols = std::max<uint64_t>(group_cols, 1);
    grid.grid_rows = ceil_div(batch_rows, grid.group_rows);
    grid.grid_cols = ceil_div(m_.cols, grid.group_cols);
    result_.granularity = granularity;
    if (hints_.block && granularity != Granularity::block && granularity != Granularity::per_tensor) {
      note(Errc::config_disagrees, "the config says blocks of " + block_text(*hints_.block) + ", the scale " +
                                       shape_text(scale_) + " is " + std::string(granularity_name(granularity)) +
                                       "; the tensor wins");
    }
    return true;
  }

  void note(Errc code, std::string message) {
    result_.notes.push_back({code, name_, "`" + name_ + "`: " + std::move(message)});
  }

  static std::string block_text(const std::array<uint64_t, 2>& block) {
    return std::to_string(block[0]) + " x " + std::to_string(block[1]);
  }

  // One element means per tensor, whatever the rank (case D02).
  bool one_element() {
    uint64_t elements = 1;
    for (const uint64_t dim : scale_) elements *= dim;
    const uint64_t rows = m_.batches * m_.rows;
    return elements == 1 && accept(Granularity::per_tensor, rows, rows, m_.cols);
  }

  // gate_up_proj [4, 2] with scale [2]: fused after it was quantized (case D09).
  bool fused_parts() {
    const uint64_t parts = hints_.parts;
    if (parts < 2 || m_.batches != 1 || m_.rows == parts || !(is({parts}) || is({parts, 1}))) return false;
    // Two rows of blocks look the same as two parts; a stated block size decides (they may end elsewhere).
    if (hints_.block && is({ceil_div(m_.rows, (*hints_.block)[0]), ceil_div(m_.cols, (*hints_.block)[1])}))
      return false;
    if (m_.rows % parts != 0) {
      result_.problem = Error{Errc::scale_shape_ambiguous, name_,
                              "`" + name_ + "` " + shape_text(weight_) + " has a scale of shape " + shape_text(scale_) +
                                  ": " + std::to_string(parts) + " fused parts, but " + std::to_string(m_.rows) +
                                  " rows cannot be parted equally, and the file does not say where they end"};
      return false;
    }
    note(Errc::fused_parts, "its name and its scale " + shape_text(scale_) + " say " + std::to_string(parts) +
                                " fused parts of " + std::to_string(m_.rows / parts) + " rows");
    return accept(Granularity::per_part, m_.rows, m_.rows / parts, m_.cols);
  }

  bool per_expert() {
    if (weight_.size() != 3 || !(is({m_.batches}) || is({m_.batches, 1}) || is({m_.batches, 1, 1}))) return false;
    return accept(Granularity::per_expert, m_.rows, m_.rows, m_.cols);
  }

  // [N] means rows also when N == K; a naive broadcast would run along the columns (case D01).
  bool per_row() {
    if (result_.problem) return false;
    Shape column(weight_.size(), 1);
    if (!weight_.empty()) column[0] = weight_[0];
    const bool flat = weight_.size() != 3 && (is({m_.rows}) || is({m_.rows, 1}) || (weight_.size() > 3 && is(column)));
    const bool stacked = weight_.size() == 3 && (is({m_.batches, m_.rows}) || is({m_.batches, m_.rows, 1}));
    return (flat || stacked) && accept(Granularity::per_row, m_.rows, 1, m_.cols);
  }

  // Llama-4's down_proj [E, I, H] declares its scale as [E, H, 1], one value an output, and outputs come last there.
  bool per_output() {
    if (!hints_.outputs_last || weight_.size() != 3 || !is({m_.batches, m_.cols, 1})) return false;
    note(Errc::per_column_scale, "the scale " + shape_text(scale_) + " is one an output, which is a column here");
    return accept(Granularity::per_column, m_.rows, m_.rows, 1);
  }

  bool per_column() {
    if (result_.problem) return false;
    const bool flat = weight_.size() == 2 && m_.cols != 1 && is({1, m_.cols});
    const bool stacked = weight_.size() == 3 && m_.cols != 1 && is({m_.batches, 1, m_.cols});
    if (!flat && !stacked) return false;
    if (flat && hints_.block && transposed_block_fits()) {
      result_.problem = Error{Errc::scale_shape_ambiguous, name_,
                              "`" + name_ + "` " + shape_text(weight_) + " has a scale of shape " + shape_text(scale_) +
                                  ": blocks of " + block_text(*hints_.block) +
                                  " fit only if the scale is transposed; read as one scale a column it fits too"};
      // The reading stays in place for a user who decides on columns.
      accept(Granularity::per_column, m_.rows, m_.rows, 1);
      return true;
    }
    note(Errc::per_column_scale, "the scale " + shape_text(scale_) + " is one a column");
    return accept(Granularity::per_column, m_.rows, m_.rows, 1);
  }

  bool transposed_block_fits() const {
    const auto& [rows, cols] = *hints_.block;
    return scale_[0] == ceil_div(m_.cols, cols) && scale_[1] == ceil_div(m_.rows, rows);
  }

  // musubi-tuner writes [N, K / size, 1].
  bool groups() {
    if (result_.problem || weight_.size() != 2 || scale_.size() != 3 || scale_[0] != m_.rows || scale_[2] != 1)
      return false;
    const uint64_t per_row = scale_[1];
    return per_row > 0 && m_.cols % per_row == 0 && accept(Granularity::group, m_.rows, 1, m_.cols / per_row);
  }

  bool blocks() {
    if (result_.problem) return false;
    Shape grid = scale_;
    if (weight_.size() == 2 && grid.size() == 4 && grid[1] == 1 && grid[3] == 1)
      grid = {grid[0], grid[2]};  // ModelOpt, case D05
    if (weight_.size() < 2 || weight_.size() > 3 || grid.size() != weight_.size())
      return tried("no block grid: the ranks differ");
    if (weight_.size() == 3) {
      if (grid[0] != m_.batches) return tried("no block grid: " + std::to_string(m_.batches) + " matrices");
      grid.erase(grid.begin());
    }
    if (hints_.block && block_fits(grid, *hints_.block))
      return accept(Granularity::block, m_.rows, (*hints_.block)[0], (*hints_.block)[1]);
    // The customary sizes: squares first, then groups along a row.
    for (const uint64_t size : {128, 64, 32, 256, 16}) {
      if (hints_.block && *hints_.block == std::array<uint64_t, 2>{size, size}) continue;  // tried
      if (block_fits(grid, {size, size})) return accept_assumed(size, size);
    }
    for (const uint64_t size : {128, 64, 32, 16}) {
      if (grid[0] == m_.rows && block_fits(grid, {1, size})) return accept_assumed(1, size);
    }
    return false;
  }

  bool block_fits(const Shape& grid, const std::array<uint64_t, 2>& block) {
    const Shape wanted = {ceil_div(m_.rows, block[0]), ceil_div(m_.cols, block[1])};
    tried("blocks of " + block_text(block) + ", which need " + shape_text(wanted));
    return grid == wanted;
  }

  bool accept_assumed(uint64_t rows, uint64_t cols) {
    const std::string size = block_text({rows, cols});
    if (hints_.block) {
      note(Errc::config_disagrees,
           "the config says blocks of " + block_text(*hints_.block) + ", which do not fit; blocks of " + size + " do");
    } else {
      note(Errc::assumed_block_size,
           "no config states the block size; " + size + " is the only customary one that gives " + shape_text(scale_));
    }
    return accept(rows == 1 ? Granularity::group : Granularity::block, m_.rows, rows, cols);
  }

  bool tried(const std::string& what) {
    tried_ += (tried_.empty() ? "" : "; ") + what;
    return false;
  }

  const std::string& name_;
  const Shape& weight_;
  const Shape& scale_;
  const GridHints& hints_;
  Matrices m_;
  GridMatch result_;
  std::string tried_ = "per tensor, per row, per column";
};

}  // namespace

uint64_t Grid::scale_index(uint64_t row, uint64_t group) const {
  if (!swizzled) return scale_row(row) * grid_cols + group;
  const uint64_t in_tile = row % batch_rows % kTileRows;
  const uint64_t tile = tile_row(row) * tile_cols() + group / kTileCols;
  return tile * kTile + in_tile % 32 * 16 + in_tile / 32 * 4 + group % kTileCols;
}

std::pair<uint64_t, uint64_t> Grid::scale_span(uint64_t row_begin, uint64_t row_end, uint64_t col_begin,
                                               uint64_t col_end) const {
  const uint64_t first_group = col_begin / group_cols;
  const uint64_t end_group = ceil_div(col_end, group_cols);
  if (!swizzled)
    return {scale_row(row_begin) * grid_cols + first_group, scale_row(row_end - 1) * grid_cols + end_group};
  const uint64_t first_tile = tile_row(row_begin) * tile_cols() + first_group / kTileCols;
  const uint64_t end_tile = tile_row(row_end - 1) * tile_cols() + ceil_div(end_group, kTileCols);
  return {first_tile * kTile, end_tile * kTile};
}

uint64_t Grid::stored_scales() const {
  const uint64_t batches = batch_rows == 0 ? 0 : rows / batch_rows;
  return swizzled ? batches * tile_rows() * tile_cols() * kTile : batches * grid_rows * grid_cols;
}

std::string_view granularity_name(Granularity granularity) {
  switch (granularity) {
    case Granularity::none: return "none";
    case Granularity::per_tensor: return "per_tensor";
    case Granularity::per_part: return "per_part";
    case Granularity::per_expert: return "per_expert";
    case Granularity::per_row: return "per_row";
    case Granularity::per_column: return "per_column";
    case Granularity::group: return "group";
    case Granularity::block: return "block";
    case Granularity::unknown: return "unknown";
  }
  return {};
}

GridMatch match_grid(const std::string& weight_name, const Shape& weight, const Shape& scale, const GridHints& hints) {
  return Matcher(weight_name, weight, scale, hints).match();
}

}  // namespace wb
