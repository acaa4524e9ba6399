// Grid: which scale belongs to which element. Every granularity of the fp8 family is one shape:
// the weight as a stack of matrices, each cut into groups of rows x columns, one scale a group,
// scales row-major.
//
//   linear:   ((row / batch_rows) * grid_rows + (row % batch_rows) / group_rows) * grid_cols + group
//   swizzled: one scale row per weight row, in tiles of 128 rows x 4 columns, 512 scales each; a matrix is
//             padded to whole tiles (cuBLAS 2-D block scaling, ComfyUI's nvfp4 and mxfp8):
//             tile * 512 + (row % 32) * 16 + (row % 128 / 32) * 4 + group % 4
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "safetensors/header.h"

namespace wb {

enum class Granularity : uint8_t { none, per_tensor, per_part, per_expert, per_row, per_column, group, block, unknown };

std::string_view granularity_name(Granularity granularity);

struct Grid {
  uint64_t rows = 0;  ///< of the weight, all matrices of the stack together
  uint64_t cols = 0;
  uint64_t batch_rows = 0;  ///< rows of one matrix; `rows` when there is no stack
  uint64_t group_rows = 0;
  uint64_t group_cols = 0;
  uint64_t grid_rows = 0;  ///< ceil(batch_rows / group_rows)
  uint64_t grid_cols = 0;  ///< ceil(cols / group_cols)

  bool swizzled = false;

  /// The row of the scale grid that weight row `row` uses.
  uint64_t scale_row(uint64_t row) const { return (row / batch_rows) * grid_rows + (row % batch_rows) / group_rows; }
  /// Where the scale of weight row `row` and of group `group` along the columns is stored.
  uint64_t scale_index(uint64_t row, uint64_t group) const;
  /// The stored scales, [begin, end), that a run of rows, or a part of one row, needs. For a part of a
  /// row of a swizzled grid col_begin must be a multiple of 4 groups.
  std::pair<uint64_t, uint64_t> scale_span(uint64_t row_begin, uint64_t row_end, uint64_t col_begin,
                                           uint64_t col_end) const;
  /// Scales stored in all, padding included.
  uint64_t stored_scales() const;

  static constexpr uint64_t kTileRows = 128;
  static constexpr uint64_t kTileCols = 4;
  static constexpr uint64_t kTile = kTileRows * kTileCols;

 private:
  uint64_t tile_cols() const { return grid_cols / kTileCols + (grid_cols % kTileCols != 0); }
  uint64_t tile_rows() const { return batch_rows / kTileRows + (batch_rows % kTileRows != 0); }
  uint64_t tile_row(uint64_t row) const { return row / batch_rows * tile_rows() + row % batch_rows / kTileRows; }
};

struct GridHints {
  std::optional<std::array<uint64_t, 2>> block;  ///< from config or marker: rows, columns
  uint64_t parts = 1;                            ///< of a fused projection, from its name
  bool outputs_last = false;                     ///< stacked experts are [E, in, out] with one scale an output (FBGEMM)
};

struct GridMatch {
  Granularity granularity = Granularity::unknown;
  Grid grid;
  /// per_column_scale, assumed_block_size, fused_parts, config_disagrees: said to the user, not decided by him
  std::vector<Error> notes;
  /// scale_shape_mismatch: nothing fits. scale_shape_ambiguous: `columns` may be assumed.
  std::optional<Error> problem;
};

/// Fits a scale's shape to a weight's shape. First match wins, in the order of formats.md 4; blocks
/// always by ceiling division, never by dividing shapes (DeepSeek's 576 rows with 5 scale rows).
GridMatch match_grid(const std::string& weight_name, const Shape& weight, const Shape& scale, const GridHints& hints);

}  // namespace wb
