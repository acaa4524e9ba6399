// Tile cursor: a tiled weight (quant/tiling.h) cut into tiles that fit the buffers, and each tile into reads. Pure
// arithmetic; the plan walks it to know what will be read, the converter to read it.
//
// Tiles are whole rows of the weight where a row fits, in the order in which they are written. A weight whose codes
// stand in its own order is cut into tiles of about a window. Where the codes are transposed a tile takes a part of
// every stored line, so tiles are as large as the buffer allows, and a line is read whole for every tile, or in parts
// where the parts are long enough to be worth a read each.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "quant/tiling.h"
#include "safetensors/inventory.h"

namespace wb {

/// Codes of one tile, unpacked to one byte each: of a transposed weight, and of any other.
inline constexpr uint64_t kTileCodes = 24 * 1024 * 1024;
inline constexpr uint64_t kStreamedCodes = 1024 * 1024;
/// Scales (zeros, addends) of one tile.
inline constexpr uint64_t kTileGroups = 512 * 1024;
/// The longest read, and the shortest part of a line that is read on its own.
inline constexpr uint64_t kTileReadBytes = 1024 * 1024;
inline constexpr uint64_t kLinePartBytes = 16 * 1024;
/// Elements that are computed at once.
inline constexpr uint64_t kEmitElements = 1024 * 1024;

struct Tile {
  uint64_t batch = 0;
  uint64_t row_begin = 0;  ///< within its matrix
  uint64_t row_end = 0;
  uint64_t col_begin = 0;
  uint64_t col_end = 0;

  uint64_t rows() const { return row_end - row_begin; }
  uint64_t cols() const { return col_end - col_begin; }
};

/// Part of a plane: rows and columns of its stored matrix.
struct Region {
  uint64_t row_begin = 0;
  uint64_t row_end = 0;
  uint64_t col_begin = 0;
  uint64_t col_end = 0;
};

/// What a tile needs of a plane.
Region region_of(const Tiling& tiling, const Plane& plane, const Tile& tile);

/// One thing to do for a tile: put what was read where it belongs, or compute rows that are complete.
struct TileWork {
  Tile tile;
  bool emit = false;
  uint32_t plane = 0;        ///< of a fill
  kernels::StoredPart part;  ///< of a fill
  uint64_t begin = 0;        ///< of a fill: its bytes in the file
  uint64_t end = 0;
  uint64_t row_begin = 0;  ///< of an emit: rows of the tile's matrix
  uint64_t row_end = 0;
};

class TileCursor {
 public:
  TileCursor(const Inventory& inventory, const Tiling& tiling);
  std::optional<TileWork> next();

 private:
  bool next_tile();
  bool next_plane();
  TileWork fill();
  void begin_runs(const Plane& plane);

  struct Run {
    kernels::StoredPart part;
    bool by_line = false;  ///< one line a read, or a part of one
  };

  const Inventory* inventory_;
  const Tiling* tiling_;
  uint64_t tile_rows_ = 0;
  uint64_t tile_cols_ = 0;
  Tile tile_;
  uint64_t plane_ = 0;  // being filled; all of them: rows are being emitted
  std::vector<Run> runs_;
  uint64_t line_ = 0;  // of the first run: what is left of it begins here
  uint64_t byte_ = 0;
  uint64_t row_ = 0;  // the next to be emitted
};

/// Bytes that a conversion reads for this weight, every pass counted.
uint64_t tiled_read_bytes(const Inventory& inventory, const Tiling& tiling);

}  // namespace wb
