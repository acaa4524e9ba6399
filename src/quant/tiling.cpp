#include "quant/tiling.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/numeric.h"
#include "quant/grid.h"

namespace wb {
namespace {

float value_of(Codec codec, uint8_t code) {
  const auto number = static_cast<float>(code);
  switch (codec) {
    case Codec::I8: return static_cast<float>(static_cast<int8_t>(code));
    case Codec::I4_LOW: return static_cast<float>((code ^ 8) - 8);
    case Codec::U4B8_LOW: return number - 8;
    case Codec::U8B128: return number - 128;
    case Codec::F4:
    case Codec::F4_HIGH: return kernels::f32_from_e2m1(code & 15);
    case Codec::NF4_HIGH: return kernels::kNf4[code & 15];
    case Codec::FP4_BNB_HIGH: return kernels::kFp4Bnb[code & 15];
    case Codec::F8_E4M3: return kernels::f32_from_f8_e4m3(code);
    case Codec::F8_E5M2: return kernels::f32_from_f8_e5m2(code);
    default: return number;
  }
}

}  // namespace

kernels::StoredLines Plane::lines() const {
  if (swizzled) return {ceil_div(rows, Grid::kTileRows), ceil_div(cols, Grid::kTileCols) * Grid::kTile};
  kernels::StoredLines stored{rows, cols * (dtype_info(dtype).bits / 8)};
  if (bits != 0) stored = kernels::stored_lines(packing, rows, cols, bits);
  if (line_bytes != 0) stored.line_bytes = line_bytes;
  return stored;
}

const Plane* Tiling::plane(PlaneRole role) const {
  const auto at = std::find_if(planes.begin(), planes.end(), [role](const Plane& each) { return each.role == role; });
  return at == planes.end() ? nullptr : &*at;
}

bool Tiling::transposes() const { return planes.front().transposed; }

std::array<float, 256> code_table(Codec codec) {
  std::array<float, 256> table{};
  for (size_t code = 0; code < table.size(); ++code) table[code] = value_of(codec, static_cast<uint8_t>(code));
  return table;
}

}  // namespace wb
