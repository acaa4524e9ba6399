#include "convert/converter.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/nan_codes.h"
#include "plan/output_files.h"

namespace wb {
namespace {

/// Output is handed out when the next piece might not fit; a piece makes at most two windows of it.
constexpr size_t kOutBytes = 4 * kWindowBytes;
static_assert(kOutBytes >= 2 * kWindowBytes && kOutBytes >= 2 * kEmitElements && kTileReadBytes <= kWindowBytes);
/// A tile of one-byte scales, widened.
constexpr uint64_t kScaleFloats = kScaleTileBytes;

}  // namespace

Converter::Converter(const Inventory& inventory, const Plan& plan, Mode mode, Resumption from)
    : inventory_(inventory),
      plan_(plan),
      mode_(mode),
      planner_(inventory, plan, from.step),
      file_(from.bytes == 0 ? 0 : files_begun(plan, from.step)),
      written_bytes_(from.bytes),
      hash_(std::move(from.hash)),
      begun_step_(from.step),
      mark_{from.step, from.bytes, hash_.digest()},
      outcomes_(std::move(from.outcomes)) {
  outcomes_.resize(plan.steps.size());
}

Result<std::unique_ptr<Converter>> Converter::create(const Inventory& inventory, const Plan& plan, Mode mode,
                                                     Resumption from) {
  std::unique_ptr<Converter> converter(new Converter(inventory, plan, mode, std::move(from)));
  for (uint8_t slot = 0; slot < kSlots; ++slot) {
    WB_TRY(converter->slots_[slot], Buffer::create(ReadPlanner::slot_bytes(slot)));
  }
  WB_TRY(converter->scales_, Buffer::create(kScaleFloats * sizeof(float)));
  WB_TRY(converter->row_scales_, Buffer::create(kScaleFloats * sizeof(float)));
  WB_TRY(converter->tiles_, TileBuffers::create(plan));
  WB_TRY(converter->out_, Buffer::create(mode == Mode::write ? kOutBytes : 1));
  return converter;
}

JobStep Converter::begin() { return advance(); }

std::optional<Window> Converter::next_read() {
  // A window of small tensors is followed by as many runs as it holds tensors: none is looked at twice.
  for (;;) {
    while (looked_ < ops_.size()) {
      const Op& op = ops_[looked_++];
      if (op.is_read) return op.window;
    }
    if (!planner_.plan_next(ops_)) return std::nullopt;
  }
}

void Converter::pop_op() {
  ops_.pop_front();
  if (looked_ > 0) --looked_;
}

uint8_t* Converter::input() { return slots_[ops_.front().slot].data(); }

JobStep Converter::feed() {
  if (ops_.empty() || !ops_.front().is_read) return JobStep::failed;
  pop_op();
  return advance();
}

JobStep Converter::resume() {
  out_used_ = 0;
  return advance();
}

// Runs everything that needs no further input, as long as there is room for its output.
JobStep Converter::advance() {
  if (!emit_headers(0)) return hand_out();
  for (;;) {
    if (ops_.empty() && !planner_.plan_next(ops_)) {
      const auto end = static_cast<uint32_t>(plan_.steps.size());
      if (!emit_headers(end)) return hand_out();
      begin_step(end);
      return out_used_ > 0 ? hand_out() : JobStep::done;
    }
    const Op& op = ops_.front();
    if (op.is_read) return JobStep::need_input;
    if (!emit_headers(op.piece.step) || !has_room(op.piece)) return hand_out();
    begin_step(op.piece.step);
    if (Status status = run(op); !status) return failed(std::move(status.error()));
    pop_op();
  }
}

void Converter::begin_step(uint32_t step) {
  if (step == begun_step_) return;
  begun_step_ = step;
  begun_at_ = out_used_;
}

JobStep Converter::hand_out() {
  const ByteView bytes = output();
  const size_t whole = begun_step_ == mark_.step ? 0 : begun_at_;
  hash_.update(bytes.first(whole));
  if (begun_step_ != mark_.step) mark_ = {begun_step_, written_bytes_ + whole, hash_.digest()};
  hash_.update(bytes.subspan(whole));
  written_bytes_ += out_used_;
  return JobStep::has_output;
}

// The headers of all files up to the one that this step is in; false when there was no room for all of it.
bool Converter::emit_headers(uint32_t step) {
  const size_t begun = mode_ == Mode::write ? files_begun(plan_, step) : 0;
  for (; file_ < begun; ++file_) {
    const std::string& header = plan_.files[file_].header;
    const size_t n = std::min(header.size() - header_done_, kOutBytes - out_used_);
    std::copy_n(header.data() + header_done_, n, out_.data() + out_used_);
    header_done_ += n;
    out_used_ += n;
    if (header_done_ < header.size()) return false;
    header_done_ = 0;
  }
  return true;
}

size_t Converter::out_bytes(const Piece& piece) const {
  const Step& step = plan_.steps[piece.step];
  if (piece.tile) {
    if (!piece.tile->emit) return 0;
    return static_cast<size_t>((piece.tile->row_end - piece.tile->row_begin) * piece.tile->tile.cols() * 2);
  }
  switch (step.action) {
    case Action::copy: return static_cast<size_t>(piece.end - piece.begin);
    case Action::cast: return static_cast<size_t>((piece.end - piece.begin) * 8 / codec_info(step.codec).bits * 2);
    case Action::dequantize:
      return static_cast<size_t>((piece.row_end - piece.row_begin) * (piece.col_end - piece.col_begin) * 2);
  }
  return 0;
}

bool Converter::has_room(const Piece& piece) const {
  return mode_ == Mode::count || out_used_ + out_bytes(piece) <= kOutBytes;
}

Status Converter::run(const Op& op) {
  const Step& step = plan_.steps[op.piece.step];
  if (op.piece.tile) return run_tile(op, step);
  const uint8_t* const payload = slots_[op.payload_slot].data() + op.payload_offset;
  const uint64_t bytes = op.piece.end - op.piece.begin;
  uint8_t* const out = out_.data() + out_used_;
  if (step.action == Action::dequantize) {
    outcomes_[op.piece.step].nan_codes += kernels::count_nan_codes(step.codec, payload, static_cast<size_t>(bytes));
    run_dequantize(op, step, payload);
  } else if (step.action == Action::cast) {
    const auto elements = static_cast<size_t>(bytes * 8 / codec_info(step.codec).bits);
    if (step.dtype == Dtype::F16)
      outcomes_[op.piece.step].loss += kernels::count_f16_loss_cast(dtype_of(step.codec), payload, elements);
    if (mode_ == Mode::write) step.kernel->cast(payload, elements, out);
  } else {
    std::copy_n(payload, bytes, out);
  }
  if (mode_ == Mode::write) out_used_ += out_bytes(op.piece);
  return {};
}

Status Converter::run_tile(const Op& op, const Step& step) {
  const TileWork& work = *op.piece.tile;
  if (!work.emit) return tiles_.fill(inventory_, step, work, slots_[op.payload_slot].data() + op.payload_offset);
  outcomes_[op.piece.step].loss += tiles_.emit(step, work, mode_ == Mode::write ? out_.data() + out_used_ : nullptr);
  if (mode_ == Mode::write) out_used_ += out_bytes(op.piece);
  return {};
}

// Cuts the piece into strips of rows that share one row of scales.
void Converter::run_dequantize(const Op& op, const Step& step, const uint8_t* payload) {
  const Piece& piece = op.piece;
  const Grid& grid = step.grid;
  widen_tile(op, step);
  const uint64_t cols = piece.col_end - piece.col_begin;
  uint8_t* out = out_.data() + out_used_;
  for (uint64_t row = piece.row_begin; row < piece.row_end;) {
    const uint64_t in_matrix = row % grid.batch_rows;
    const uint64_t group_end =
        row - in_matrix + std::min(grid.batch_rows, (in_matrix / grid.group_rows + 1) * grid.group_rows);
    const uint64_t rows = step.row_bytes != 0 ? 1 : std::min(piece.row_end, group_end) - row;  // padded rows one by one
    const float* scales = strip_scales(step, piece, row);
    const uint64_t row_bytes = step.row_bytes != 0 ? step.row_bytes : cols * codec_info(step.codec).bits / 8;
    const uint8_t* codes = payload + (row - piece.row_begin) * row_bytes;
    // A part of a row may begin inside a group of columns: finish that group on its own.
    const uint64_t into_group = piece.col_begin % grid.group_cols;
    const uint64_t head = into_group == 0 ? 0 : std::min(cols, grid.group_cols - into_group);
    if (head > 0) run_strip(op, step, codes, 1, head, scales++, head, out);
    if (cols > head) {
      run_strip(op, step, codes + head * codec_info(step.codec).bits / 8, rows, cols - head, scales, grid.group_cols,
                out + head * 2);
    }
    out += rows * cols * 2;
    row += rows;
  }
}

// The piece's stored scales as float32, in the order they are stored.
void Converter::widen_tile(const Op& op, const Step& step) {
  float* const scales = reinterpret_cast<float*>(scales_.data());
  scales[0] = 1;
  if (step.scale == kNoTensor) return;
  const uint64_t n = (op.piece.scale_end - op.piece.scale_begin) / (dtype_info(step.scale_dtype).bits / 8);
  kernels::widen_scales(step.scale_dtype, slots_[op.scale_slot].data() + op.scale_offset, static_cast<size_t>(n),
                        scales);
  if (!step.round_scales) return;
  kernels::F16Loss& loss = outcomes_[op.piece.step].loss;
  for (size_t i = 0; i < n; ++i) scales[i] = kernels::round_scale(step.dtype, scales[i], loss);
}

// The scales of one row from the piece's first column on: in place where they stand in a row and need no
// second level, else gathered. The two levels are multiplied (or divided) first, in float32.
const float* Converter::strip_scales(const Step& step, const Piece& piece, uint64_t row) {
  kernels::F16Loss& loss = outcomes_[piece.step].loss;
  const Grid& grid = step.grid;
  const float* const tile = reinterpret_cast<const float*>(scales_.data());
  if (step.scale == kNoTensor) return tile;
  const uint64_t tile_begin = grid.scale_span(piece.row_begin, piece.row_end, piece.col_begin, piece.col_end).first;
  const uint64_t first_group = piece.col_begin / grid.group_cols;
  if (!grid.swizzled && step.globals.empty()) return tile + (grid.scale_index(row, first_group) - tile_begin);
  float global = step.globals.empty()
                     ? 1
                     : step.globals[step.globals.size() == 1 ? 0 : static_cast<size_t>(row / grid.batch_rows)];
  if (step.round_scales) global = kernels::round_scale(step.dtype, global, loss);
  float* const gathered = reinterpret_cast<float*>(row_scales_.data());
  const uint64_t groups = ceil_div(piece.col_end, grid.group_cols) - first_group;
  for (uint64_t i = 0; i < groups; ++i) {
    const float scale = tile[grid.scale_index(row, first_group + i) - tile_begin];
    gathered[i] = step.globals.empty() ? scale : step.divide_global ? scale / global : scale * global;
    if (step.round_scales && !step.globals.empty()) gathered[i] = kernels::round_scale(step.dtype, gathered[i], loss);
  }
  return gathered;
}

void Converter::run_strip(const Op& op, const Step& step, const uint8_t* codes, uint64_t rows, uint64_t cols,
                          const float* scales, uint64_t group_cols, uint8_t* out) {
  // A group longer than the strip is one group; this also keeps it within size_t.
  const auto group = static_cast<size_t>(std::min(group_cols, cols));
  const auto n_rows = static_cast<size_t>(rows);
  const auto n_cols = static_cast<size_t>(cols);
  if (step.dtype == Dtype::F16) {
    outcomes_[op.piece.step].loss += kernels::count_f16_loss_strip(step.codec, codes, n_rows, n_cols, scales, group);
  }
  if (mode_ == Mode::write) step.kernel->strip(codes, n_rows, n_cols, scales, group, out);
}

}  // namespace wb
