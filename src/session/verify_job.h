// VerifyJob: reads the output back, all of it or what an interrupted run wrote, and compares every byte, by hash, with
// what was computed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/buffer.h"
#include "convert/hash.h"
#include "convert/job.h"

namespace wb {

class VerifyJob final : public Job {
 public:
  /// `mismatch`: what is said when the bytes are others. Errc: out_of_memory.
  static Result<std::unique_ptr<VerifyJob>> create(uint64_t output_bytes, uint64_t expected_hash, Error mismatch) {
    std::unique_ptr<VerifyJob> job(new VerifyJob(output_bytes, expected_hash, std::move(mismatch)));
    WB_TRY(job->buffer_, Buffer::create(kWindowBytes));
    return job;
  }

  JobStep begin() override { return JobStep::need_input; }

  std::optional<Window> next_read() override {
    if (planned_ == output_bytes_) return std::nullopt;
    const Window window{kOutputSource, planned_, std::min(output_bytes_, planned_ + kWindowBytes)};
    planned_ = window.end;
    pending_.push_back(window);
    return window;
  }

  uint8_t* input() override { return buffer_.data(); }

  JobStep feed() override {
    const Window window = pending_.front();
    pending_.pop_front();
    hash_.update(buffer_.view().first(static_cast<size_t>(window.end - window.begin)));
    if (window.end < output_bytes_) return JobStep::need_input;
    if (hash_.digest() == expected_) return JobStep::done;
    return failed(std::move(mismatch_));
  }

  /// Of all that was read, to go on with.
  Hash& hash() { return hash_; }

 private:
  VerifyJob(uint64_t output_bytes, uint64_t expected, Error mismatch)
      : output_bytes_(output_bytes), expected_(expected), mismatch_(std::move(mismatch)) {}

  uint64_t output_bytes_;
  uint64_t expected_;
  Error mismatch_;
  uint64_t planned_ = 0;
  std::deque<Window> pending_;
  Buffer buffer_;
  Hash hash_;
};

}  // namespace wb
