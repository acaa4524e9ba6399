// Reads: which windows a conversion needs, in the order it needs them, and where their bytes go.
//
// Big tensors stream through one payload slot. Small tensors (at most kSmallTensorBytes) are read
// together with their neighbours in the file, into a few slots that are reused by age: output order
// is not file order, but it visits a few places of the file in turn, each of them mostly forward.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "convert/pieces.h"

namespace wb {

inline constexpr uint64_t kSmallWindowBytes = 256 * 1024;
inline constexpr uint8_t kSmallSlots = 8;
inline constexpr uint8_t kPayloadSlot = kSmallSlots;
inline constexpr uint8_t kScaleSlot = kSmallSlots + 1;
inline constexpr uint8_t kSlots = kSmallSlots + 2;
inline constexpr uint8_t kNoSlot = 255;

/// One entry of the work list: read a window into a slot, or run a piece whose bytes are there.
struct Op {
  bool is_read = false;
  Window window;  ///< of a read
  uint8_t slot = kNoSlot;

  Piece piece;  ///< of a run
  uint8_t payload_slot = kNoSlot;
  uint8_t scale_slot = kNoSlot;
  uint64_t payload_offset = 0;  ///< within the slot
  uint64_t scale_offset = 0;
};

class ReadPlanner {
 public:
  /// Nothing is read that only steps before `first_step` need.
  ReadPlanner(const Inventory& inventory, const Plan& plan, uint32_t first_step);

  /// Appends the ops of the next piece: at most two reads, then its run. False when all are planned.
  bool plan_next(std::deque<Op>& ops);

  static uint64_t slot_bytes(uint8_t slot);

 private:
  struct Span {
    uint32_t source = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  struct Held {
    Span span;
    uint64_t last_use = 0;
  };
  struct Place {
    uint8_t slot = kNoSlot;
    uint64_t offset = 0;
  };

  Place place_small(const Tensor& tensor, uint64_t begin, std::deque<Op>& ops);
  Place place(const Tensor& tensor, uint64_t begin, uint64_t end, std::deque<Op>& ops);
  Place place_tile(const Tensor& scale, const Piece& piece, std::deque<Op>& ops);
  static void read(std::deque<Op>& ops, uint32_t source, uint64_t begin, uint64_t end, uint8_t slot);
  Span small_window(const Tensor& tensor) const;

  const Inventory* inventory_;
  const Plan* plan_;
  PieceCursor cursor_;
  std::vector<Span> small_;  // the small tensors that the plan reads, in file order
  Held held_[kSlots] = {};
  uint64_t clock_ = 0;
};

}  // namespace wb
