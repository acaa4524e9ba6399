// Tiling: how a weight is put together whose elements do not simply stand in rows with one scale by their side:
// transposed or packed along the outputs, with zero points, orders of columns, second scales, factors of columns.
//
// Such a weight is made of *planes*, stored matrices that each hold one thing about it. A conversion fills a tile of
// the weight from every plane, then computes the tile's rows (kernels/affine.h). A scheme is a list of planes; adding
// one adds a function in resolve_*.cpp and touches neither the reader nor the kernels.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dtype/codec.h"
#include "kernels/fields.h"

namespace wb {

/// What a plane holds, and over which part of the weight (rows x columns of one matrix) it is spread.
enum class PlaneRole : uint8_t {
  codes,      ///< rows x cols
  scale,      ///< one value by group_rows x group_cols
  zero,       ///< as scale
  addend,     ///< as scale
  row_scale,  ///< one a row
  factor,     ///< one a column
  order,      ///< one a column: the group it belongs to
  nested,     ///< one by nested_groups scales, of a weight of one row
};
inline constexpr size_t kPlaneRoles = 8;

/// One stored matrix, `rows` x `cols` as it stands in the file.
struct Plane {
  PlaneRole role = PlaneRole::codes;
  uint32_t tensor = 0;
  uint64_t rows = 0;
  uint64_t cols = 0;
  bool transposed = false;  ///< its rows are columns of the weight
  bool shared = false;      ///< the same for every matrix of a stack
  bool swizzled = false;    ///< one-byte numbers in 128 x 4 tiles (quant/grid.h)
  uint32_t bits = 0;        ///< of a field, 1..8; 0: the plane holds numbers of `dtype`
  kernels::Packing packing = kernels::Packing::rows_low;
  Dtype dtype = Dtype::F32;
  uint64_t line_bytes = 0;  ///< where stored lines are padded; 0: they are not

  /// Lines as stored, of one matrix of a stack.
  kernels::StoredLines lines() const;
  uint64_t matrix_bytes() const { return lines().lines * lines().line_bytes; }
  /// Elements of a weight that this plane keeps flat, without regard to its rows.
  bool is_flat() const { return packing == kernels::Packing::parts_8 || packing == kernels::Packing::parts_30; }
};

struct Tiling {
  uint64_t batches = 1;
  uint64_t rows = 0;  ///< of one matrix, as it is written
  uint64_t cols = 0;
  uint64_t group_rows = 1;  ///< of scale, zero and addend
  uint64_t group_cols = 1;
  std::vector<Plane> planes;       ///< the codes first; at most one of each role
  Codec codec = Codec::U8;         ///< what a code stands for...
  std::vector<float> table;        ///< ...unless the file brings a table of its own
  float zero_bias = 0;             ///< added to a stored zero point (GPTQ v1 stores one less)
  bool zero_signed = false;        ///< zero points of 8 bits are two's complement
  std::vector<float> scale_table;  ///< of scales that are codes themselves (bitsandbytes, nested)
  uint64_t nested_groups = 0;
  float nested_offset = 0;
  bool to_int8 = false;
  bool subtract_addend = false;
  uint64_t rotation = 0;
  std::string formula;  ///< as it is shown

  const Plane* plane(PlaneRole role) const;
  uint64_t grid_cols() const { return cols / group_cols + (cols % group_cols != 0); }
  uint64_t grid_rows() const { return rows / group_rows + (rows % group_rows != 0); }
  /// The codes' lines are the weight's columns: a tile needs a part of every line.
  bool transposes() const;
};

/// The values of all codes of `codec`, by the code as unpacked.
std::array<float, 256> code_table(Codec codec);

}  // namespace wb
