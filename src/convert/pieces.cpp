#include "convert/pieces.h"

#include <algorithm>

#include "base/checked.h"

namespace wb {

std::optional<Piece> PieceCursor::next() {
  for (; step_ < plan_->steps.size(); ++step_, row_ = col_ = offset_ = 0) {
    if (auto piece = next_of(plan_->steps[step_])) return piece;
    tiles_.reset();
  }
  return std::nullopt;
}

std::optional<Piece> PieceCursor::next_of(const Step& step) {
  const Tensor& tensor = inventory_->tensors[step.tensor];
  if (tensor.bytes() == 0) return std::nullopt;
  if (step.tiling) {
    if (!tiles_) tiles_.emplace(*inventory_, *step.tiling);
    Piece piece;
    piece.step = step_;
    piece.tile = tiles_->next();
    return piece.tile ? std::optional<Piece>(piece) : std::nullopt;
  }
  if (step.action == Action::dequantize) {
    if (row_ == step.grid.rows || step.grid.cols == 0) return std::nullopt;
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

// Where element (row, col) of a payload begins, in bytes; pieces begin and end at whole bytes.
static uint64_t payload_offset(const Step& step, uint64_t row, uint64_t col) {
  const uint64_t bits = codec_info(step.codec).bits;
  if (step.row_bytes != 0) return row * step.row_bytes + ceil_div(col * bits, 8);
  return ceil_div((row * step.grid.cols + col) * bits, 8);
}

static uint64_t scale_bytes_each(const Step& step) {
  return step.scale == kNoTensor ? 0 : dtype_info(step.scale_dtype).bits / 8;
}

// Scale bytes that a run of rows or a part of a row needs.
static uint64_t tile_bytes(const Step& step, const Piece& piece) {
  const auto [begin, end] = step.grid.scale_span(piece.row_begin, piece.row_end, piece.col_begin, piece.col_end);
  return (end - begin) * scale_bytes_each(step);
}

Piece PieceCursor::grid_piece(const Step& step) {
  const Tensor& tensor = inventory_->tensors[step.tensor];
  const Grid& grid = step.grid;
  const uint64_t window_elements = kWindowBytes * 8 / std::max<uint32_t>(codec_info(step.codec).bits, 8);
  // Padded rows fill the window sooner: count what a row takes there.
  const uint64_t row_elements = std::max(grid.cols, step.row_bytes * 8 / codec_info(step.codec).bits);

  Piece piece;
  piece.step = step_;
  piece.row_begin = row_;
  piece.col_begin = col_;
  piece.col_end = grid.cols;
  // As many whole rows as fit the window, halved until their scales fit the tile...
  uint64_t rows =
      col_ == 0 && row_elements <= window_elements ? std::min(grid.rows - row_, window_elements / row_elements) : 0;
  for (; rows > 0; rows /= 2) {
    piece.row_end = row_ + rows;
    if (tile_bytes(step, piece) <= kScaleTileBytes) break;
  }
  if (rows == 0) cut_row(step, piece, window_elements);  // ...or a part of one row
  piece.begin = tensor.begin + payload_offset(step, piece.row_begin, piece.col_begin);
  piece.end = tensor.begin + payload_offset(step, piece.row_end - 1, piece.col_end);
  if (step.scale != kNoTensor) {
    const auto span = grid.scale_span(piece.row_begin, piece.row_end, piece.col_begin, piece.col_end);
    const uint64_t scale_data = inventory_->tensors[step.scale].begin;
    piece.scale_begin = scale_data + span.first * scale_bytes_each(step);
    piece.scale_end = scale_data + span.second * scale_bytes_each(step);
  }
  col_ = piece.col_end == grid.cols ? 0 : piece.col_end;
  row_ = col_ == 0 ? piece.row_end : piece.row_begin;
  return piece;
}

// A part of a row ends at a border of groups where groups are shorter than the window, of whole tiles
// where scales are tiled.
void PieceCursor::cut_row(const Step& step, Piece& piece, uint64_t window_elements) {
  const Grid& grid = step.grid;
  piece.row_end = piece.row_begin + 1;
  const uint64_t unit = grid.group_cols * (grid.swizzled ? Grid::kTileCols : 1);
  uint64_t cols = std::min(grid.cols - piece.col_begin, window_elements);
  if (unit < window_elements) {
    for (uint64_t units = window_elements / unit; units > 0; units /= 2) {
      cols = std::min(grid.cols - piece.col_begin, units * unit);
      piece.col_end = piece.col_begin + cols;
      if (tile_bytes(step, piece) <= kScaleTileBytes) break;
    }
  }
  piece.col_end = piece.col_begin + cols;
}

}  // namespace wb
