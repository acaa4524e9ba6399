// Tile buffers: one tile of a weight that is put together from planes, while it is filled and computed.
#pragma once

#include <array>
#include <cstdint>

#include "base/buffer.h"
#include "kernels/affine.h"
#include "plan/plan.h"
#include "plan/tile_cursor.h"

namespace wb {

class TileBuffers {
 public:
  /// As much as the largest tile of the plan takes; nothing when no step is tiled. Errc: out_of_memory.
  static Result<TileBuffers> create(const Plan& plan);

  /// Puts what was read for one part of a plane where it belongs. Errc: payload_shape_mismatch, when an order names
  /// a group that does not exist.
  Status fill(const Inventory& inventory, const Step& step, const TileWork& work, const uint8_t* bytes);

  /// Computes the rows of an emit. `out` may be null: then losses are counted only.
  kernels::F16Loss emit(const Step& step, const TileWork& work, uint8_t* out);

 private:
  float* numbers(PlaneRole role) { return reinterpret_cast<float*>(numbers_[static_cast<size_t>(role)].data()); }
  void begin_tile(const Step& step, const TileWork& work);
  void fill_fields(const Plane& plane, const Region& region, const TileWork& work, const uint8_t* bytes, uint8_t* out);
  void fill_numbers(const Plane& plane, const Region& region, const TileWork& work, const uint8_t* bytes);
  void fill_swizzled(const Plane& plane, const Region& region, const TileWork& work, const uint8_t* bytes);
  Status fill_order(const Inventory& inventory, const Step& step, const Plane& plane, const TileWork& work,
                    const uint8_t* bytes);
  void finish_scales(const Step& step, const Tile& tile);
  void finish_zeros(const Step& step, const Tile& tile);

  Buffer codes_;
  Buffer fields_;                            // zero points and scales that are codes, before they become numbers
  std::array<Buffer, kPlaneRoles> numbers_;  // float32, by role
  Buffer order_;                             // uint32
  const void* begun_ = nullptr;              // the step and tile that is being filled
  std::array<uint64_t, 3> begun_at_{};
  bool finished_ = false;
  std::array<float, 256> table_{};
};

}  // namespace wb
