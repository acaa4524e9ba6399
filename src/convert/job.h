// Job: work that is pumped from outside, since the core does no I/O. The host asks for the next window
// to read, feeds its bytes in the same order, and takes output when there is some.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"

namespace wb {

/// The longest window that is ever asked for.
inline constexpr uint64_t kWindowBytes = 1024 * 1024;

/// Index of the output in a Window, for reading back what was written.
inline constexpr int32_t kOutputSource = -1;

struct Window {
  int32_t source = 0;  ///< index into Inventory::sources, or kOutputSource
  uint64_t begin = 0;  ///< in the file
  uint64_t end = 0;    ///< exclusive; at most kWindowBytes after begin, never empty
};

/// What a job wants next. The values are the boundary's (web/engine/core.ts).
enum class JobStep : uint8_t { need_input = 0, has_output = 1, done = 2, failed = 3 };

class Job {
 public:
  virtual ~Job() = default;

  /// Called once, before anything else.
  virtual JobStep begin() = 0;
  /// The next window to read; may be asked ahead of feed. Nothing: none is known now.
  virtual std::optional<Window> next_read() = 0;
  /// Where the bytes of the oldest window that was not fed belong. Valid until feed.
  virtual uint8_t* input() = 0;
  /// The oldest window's bytes stand at input(), all of them.
  virtual JobStep feed() = 0;
  /// After has_output: the bytes to append to the output. Valid until resume.
  virtual ByteView output() const { return {}; }
  virtual JobStep resume() { return JobStep::failed; }

  /// Why a step was `failed`.
  const Error& error() const { return error_; }

 protected:
  JobStep failed(Error error) {
    error_ = std::move(error);
    return JobStep::failed;
  }

 private:
  Error error_{Errc::wrong_state, {}, "a step was taken that the job did not offer"};
};

}  // namespace wb
