// Converter: runs a plan over buffers that are allocated once. Appends the output, header first.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/buffer.h"
#include "convert/hash.h"
#include "convert/job.h"
#include "convert/reads.h"
#include "convert/tile_buffers.h"

namespace wb {

/// What happened to one step; only what is worth telling.
struct StepOutcome {
  uint64_t nan_codes = 0;
  kernels::F16Loss loss;
};

/// Everything before `step` stands in the output, which has `bytes` bytes so far.
struct Mark {
  uint32_t step = 0;
  uint64_t bytes = 0;
  uint64_t hash = 0;  ///< of these bytes
};

/// What an earlier run left: its last mark, the hash that goes on from there, and what its steps met.
struct Resumption {
  uint32_t step = 0;
  uint64_t bytes = 0;
  Hash hash;
  std::vector<StepOutcome> outcomes;  ///< of the steps before `step`
};

class Converter final : public Job {
 public:
  /// write: the whole output. count: nothing is written, only the losses of f16 are counted.
  enum class Mode : uint8_t { write, count };

  /// Inventory and plan must outlive the converter. Errc: out_of_memory.
  static Result<std::unique_ptr<Converter>> create(const Inventory& inventory, const Plan& plan, Mode mode,
                                                   Resumption from = {});

  JobStep begin() override;
  std::optional<Window> next_read() override;
  uint8_t* input() override;
  JobStep feed() override;
  ByteView output() const override { return {out_.data(), out_used_}; }
  JobStep resume() override;

  const std::vector<StepOutcome>& outcomes() const { return outcomes_; }
  uint64_t written_bytes() const { return written_bytes_; }
  /// Of everything handed out so far.
  uint64_t output_hash() const { return hash_.digest(); }
  /// After the last whole tensor of everything handed out so far.
  const Mark& mark() const { return mark_; }

 private:
  Converter(const Inventory& inventory, const Plan& plan, Mode mode, Resumption from);

  JobStep advance();
  void pop_op();
  void begin_step(uint32_t step);
  JobStep hand_out();
  bool emit_headers(uint32_t step);
  bool has_room(const Piece& piece) const;
  Status run(const Op& op);
  Status run_tile(const Op& op, const Step& step);
  void run_dequantize(const Op& op, const Step& step, const uint8_t* payload);
  void widen_tile(const Op& op, const Step& step);
  const float* strip_scales(const Step& step, const Piece& piece, uint64_t row);
  void run_strip(const Op& op, const Step& step, const uint8_t* codes, uint64_t rows, uint64_t cols,
                 const float* scales, uint64_t group_cols, uint8_t* out);
  size_t out_bytes(const Piece& piece) const;

  const Inventory& inventory_;
  const Plan& plan_;
  Mode mode_;
  ReadPlanner planner_;
  std::deque<Op> ops_;
  size_t looked_ = 0;  // ops at the front that hold no read to hand out
  Buffer slots_[kSlots];
  Buffer scales_;      // one tile of scales as float32
  Buffer row_scales_;  // of one row, where they must be gathered or combined
  TileBuffers tiles_;
  Buffer out_;
  size_t out_used_ = 0;
  size_t file_;             // whose header is not all out yet
  size_t header_done_ = 0;  // of that header
  uint64_t written_bytes_;
  Hash hash_;
  uint32_t begun_step_;  // its first piece was run; all before it are whole
  size_t begun_at_ = 0;  // where its bytes begin in out_
  Mark mark_;
  std::vector<StepOutcome> outcomes_;
};

}  // namespace wb
