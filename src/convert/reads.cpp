#include "convert/reads.h"

#include <algorithm>

#include "quant/values.h"

namespace wb {
namespace {

// Unwanted bytes between two small tensors, dropped markers for example, that a window may span.
constexpr uint64_t kGapBytes = 4 * 1024;

bool is_small(const Tensor& tensor) { return tensor.bytes() <= kSmallTensorBytes; }

}  // namespace

ReadPlanner::ReadPlanner(const Inventory& inventory, const Plan& plan, uint32_t first_step)
    : inventory_(&inventory), plan_(&plan), cursor_(inventory, plan, first_step) {
  const auto note = [this](uint32_t index) {
    if (index == kNoTensor) return;
    const Tensor& tensor = inventory_->tensors[index];
    if (is_small(tensor) && tensor.bytes() > 0) small_.push_back({tensor.source, tensor.begin, tensor.end});
  };
  for (size_t i = first_step; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    note(step.tensor);
    note(step.scale);
    if (!step.tiling) continue;
    for (const Plane& plane : step.tiling->planes) note(plane.tensor);
  }
  std::sort(small_.begin(), small_.end(), [](const Span& a, const Span& b) {
    return a.source != b.source ? a.source < b.source : a.begin < b.begin;
  });
}

uint64_t ReadPlanner::slot_bytes(uint8_t slot) {
  return slot == kPayloadSlot ? kWindowBytes : slot == kScaleSlot ? kScaleTileBytes : kSmallWindowBytes;
}

bool ReadPlanner::plan_next(std::deque<Op>& ops) {
  const auto piece = cursor_.next();
  if (!piece) return false;
  const Step& step = plan_->steps[piece->step];
  const Tensor& tensor = inventory_->tensors[step.tensor];
  Place scale;
  if (piece->scale_begin != piece->scale_end) {
    const Tensor& scales = inventory_->tensors[step.scale];
    scale = is_small(scales) ? place_small(scales, piece->scale_begin, ops) : place_tile(scales, *piece, ops);
  }
  Place payload;
  if (!piece->tile) {
    payload = place(tensor, piece->begin, piece->end, ops);
  } else if (!piece->tile->emit) {
    const Plane& plane = step.tiling->planes[piece->tile->plane];
    payload = place(inventory_->tensors[plane.tensor], piece->tile->begin, piece->tile->end, ops);
  }
  Op run;
  run.piece = *piece;
  run.payload_slot = payload.slot;
  run.payload_offset = payload.offset;
  run.scale_slot = scale.slot;
  run.scale_offset = scale.offset;
  ops.push_back(run);
  return true;
}

ReadPlanner::Place ReadPlanner::place(const Tensor& tensor, uint64_t begin, uint64_t end, std::deque<Op>& ops) {
  if (is_small(tensor)) return place_small(tensor, begin, ops);
  read(ops, tensor.source, begin, end, kPayloadSlot);
  return {kPayloadSlot, 0};
}

void ReadPlanner::read(std::deque<Op>& ops, uint32_t source, uint64_t begin, uint64_t end, uint8_t slot) {
  Op op;
  op.is_read = true;
  op.window = {static_cast<int32_t>(source), begin, end};
  op.slot = slot;
  ops.push_back(op);
}

// The tensor and the small tensors after it, as far as they are near and fit the slot.
ReadPlanner::Span ReadPlanner::small_window(const Tensor& tensor) const {
  Span window{tensor.source, tensor.begin, tensor.end};
  auto next = std::lower_bound(small_.begin(), small_.end(), window, [](const Span& a, const Span& b) {
    return a.source != b.source ? a.source < b.source : a.begin < b.begin;
  });
  for (; next != small_.end() && next->source == tensor.source; ++next) {
    if (next->end <= window.end) continue;  // itself, or a scale that two steps share
    if (next->begin - window.end > kGapBytes || next->end - window.begin > kSmallWindowBytes) break;
    window.end = next->end;
  }
  return window;
}

ReadPlanner::Place ReadPlanner::place_small(const Tensor& tensor, uint64_t begin, std::deque<Op>& ops) {
  ++clock_;
  uint8_t oldest = 0;
  for (uint8_t slot = 0; slot < kSmallSlots; ++slot) {
    Held& held = held_[slot];
    if (held.last_use != 0 && held.span.source == tensor.source && held.span.begin <= tensor.begin &&
        tensor.end <= held.span.end) {
      held.last_use = clock_;
      return {slot, begin - held.span.begin};
    }
    if (held.last_use < held_[oldest].last_use) oldest = slot;
  }
  const Span window = small_window(tensor);
  held_[oldest] = {window, clock_};
  read(ops, window.source, window.begin, window.end, oldest);
  return {oldest, begin - window.begin};
}

// Pieces in the same row of blocks share a tile; it is read once for them.
ReadPlanner::Place ReadPlanner::place_tile(const Tensor& scale, const Piece& piece, std::deque<Op>& ops) {
  Held& held = held_[kScaleSlot];
  const bool there = held.last_use != 0 && held.span.source == scale.source && held.span.begin <= piece.scale_begin &&
                     piece.scale_end <= held.span.end;
  if (!there) {
    held = {{scale.source, piece.scale_begin, piece.scale_end}, ++clock_};
    read(ops, scale.source, piece.scale_begin, piece.scale_end, kScaleSlot);
  }
  return {kScaleSlot, piece.scale_begin - held.span.begin};
}

}  // namespace wb
