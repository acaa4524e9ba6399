// Pieces: a plan's steps cut into parts small enough for the buffers. Reader and executor each walk
// the same pieces, the reader ahead of the executor.
#pragma once

#include <cstdint>
#include <optional>

#include "convert/job.h"
#include "plan/plan.h"
#include "plan/tile_cursor.h"

namespace wb {

/// Scale bytes that one piece may need; larger scales are read tile by tile beside their weight.
inline constexpr uint64_t kScaleTileBytes = 256 * 1024;

/// A run of whole rows, or a part of one row, of one step's payload. Copies and casts count as one
/// row. Byte ranges are absolute in the file of the tensor. Of a tiled step: one thing to do for a tile.
struct Piece {
  uint32_t step = 0;
  uint64_t begin = 0;  ///< payload bytes
  uint64_t end = 0;
  uint64_t row_begin = 0;
  uint64_t row_end = 0;
  uint64_t col_begin = 0;
  uint64_t col_end = 0;
  uint64_t scale_begin = 0;  ///< scale bytes; empty where there is no scale
  uint64_t scale_end = 0;
  std::optional<TileWork> tile;  ///< only of a tiled step: all that counts, beside `step`
};

/// Walks the pieces of a plan in output order, from a step on. Tensors without bytes have no piece.
class PieceCursor {
 public:
  PieceCursor(const Inventory& inventory, const Plan& plan, uint32_t first_step)
      : inventory_(&inventory), plan_(&plan), step_(first_step) {}
  std::optional<Piece> next();

 private:
  std::optional<Piece> next_of(const Step& step);
  Piece flat_piece(const Step& step);
  Piece grid_piece(const Step& step);
  static void cut_row(const Step& step, Piece& piece, uint64_t window_elements);

  const Inventory* inventory_;
  const Plan* plan_;
  uint32_t step_;
  uint64_t row_ = 0;  // of a dequantization: the next row, and the next column within it
  uint64_t col_ = 0;
  uint64_t offset_ = 0;              // of a copy or cast: bytes already cut off
  std::optional<TileCursor> tiles_;  // of a tiled step
};

}  // namespace wb
