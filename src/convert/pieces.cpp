#include "convert/pieces.h"

#include <algorithm>

#include "base/checked.h"

namespace wb {

std::optional<Piece> PieceCursor::next() {
  for (; step_ < plan_->steps.size(); ++step_, row_ = col_ = offset_ = 0) {
    if (auto piece = next_of(plan_->steps[step_])) return piece;
  }
  return std::nullopt;
}

std::optional<Piece> PieceCursor::next_of(const Step& step) {
  const Tensor& tensor = inventory_->tensors[step.tensor];
  if (tensor.bytes() == 0) return std::nullopt;
  if (step.action == Action::dequantize) {
    if (row_ == step.grid.rows) return std::nullopt;
    return grid_piece(step);
  }
  if (offset_ == tensor.bytes()) return std::nullopt;
  return flat_piece(step);
}

// Windows are a multiple of every element size, so no element is cut.
Piece PieceCursor::flat_piece(const Step& step) {
  const Tensor& tensor = inventory_->tensors[step.tensor];
  Piece piece;
  piece.step = step_;
  piece.begin = tensor.begin + offset_;
  piece.end = std::min(tensor.end, piece.begin + kWindowBytes);
  offset_ = piece.end - tensor.begin;
  return piece;
}

Piece PieceCursor::grid_piece(const Step& step) {
  const Tensor& tensor = inventory_->tensors[step.tensor];
  const Grid& grid = step.grid;
  const uint64_t element_bytes = dtype_info(step.codec).bits / 8;
  const uint64_t scale_bytes = step.scale == kNoTensor ? 0 : dtype_info(inventory_->tensors[step.scale].dtype).bits / 8;
  const uint64_t window_elements = kWindowBytes / element_bytes;
  const uint64_t tile_scales = scale_bytes == 0 ? UINT64_MAX : kScaleTileBytes / scale_bytes;

  Piece piece;
  piece.step = step_;
  piece.row_begin = row_;
  piece.col_begin = col_;
  if (grid.cols <= window_elements && grid.grid_cols <= tile_scales) {
    // Whole rows. r rows touch at most ceil(r / group_rows) + 1 scale rows of each matrix they cross;
    // stop where the tile would overflow.
    uint64_t rows = std::min(grid.rows - row_, window_elements / grid.cols);
    while (rows > 1 && (grid.scale_row(row_ + rows - 1) - grid.scale_row(row_) + 1) > tile_scales / grid.grid_cols) rows = ceil_div(rows, 2);
    piece.row_end = row_ + rows;
    piece.col_end = grid.cols;
  } else {
    // Part of one row, cut at a group's border where a group is shorter than the piece.
    uint64_t cols = std::min(grid.cols - col_, window_elements);
    if (grid.group_cols < window_elements) cols = std::min(cols, grid.group_cols * std::min(tile_scales, window_elements / grid.group_cols));
    piece.row_end = row_ + 1;
    piece.col_end = col_ + cols;
  }
  piece.begin = tensor.begin + (piece.row_begin * grid.cols + piece.col_begin) * element_bytes;
  piece.end = tensor.begin + ((piece.row_end - 1) * grid.cols + piece.col_end) * element_bytes;
  if (scale_bytes != 0) {
    const uint64_t scale_data = inventory_->tensors[step.scale].begin;
    piece.scale_begin = scale_data + (grid.scale_row(piece.row_begin) * grid.grid_cols + piece.col_begin / grid.group_cols) * scale_bytes;
    piece.scale_end = scale_data + (grid.scale_row(piece.row_end - 1) * grid.grid_cols + ceil_div(piece.col_end, grid.group_cols)) * scale_bytes;
  }
  col_ = piece.col_end == grid.cols ? 0 : piece.col_end;
  row_ = col_ == 0 ? piece.row_end : piece.row_begin;
  return piece;
}

}  // namespace wb
