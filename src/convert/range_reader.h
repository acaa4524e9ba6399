// RangeReader: reads a list of byte ranges in windows: neighbours share one, long ranges take several.
// A file with 100,000 tiny tensors must not cost 100,000 reads.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "convert/job.h"

namespace wb {

struct Range {
  int32_t source = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

class RangeReader {
 public:
  /// Ranges are read in the given order; put them in file order to let neighbours share windows.
  /// An empty range is never read and never handed out.
  /// Errc: out_of_memory.
  static Result<RangeReader> create(std::vector<Range> ranges);

  std::optional<Window> next_read();
  uint8_t* input() { return buffer_.data(); }
  bool finished() const { return next_range_ == ranges_.size() && pending_.empty(); }

  /// Hands the bytes of the oldest window to `take(range index, offset in the range, bytes)`, once
  /// for every range that it covers.
  template <class Take>
  void feed(Take&& take) {
    const Pending pending = pending_.front();
    pending_.pop_front();
    for (size_t i = pending.first_range; i < pending.first_range + pending.ranges; ++i) {
      const Range& range = ranges_[i];
      if (range.begin == range.end) continue;
      const uint64_t begin = range.begin > pending.window.begin ? range.begin : pending.window.begin;
      const uint64_t end = range.end < pending.window.end ? range.end : pending.window.end;
      take(i, begin - range.begin,
           ByteView(buffer_.data() + (begin - pending.window.begin), static_cast<size_t>(end - begin)));
    }
  }

 private:
  void skip_empty();

  struct Pending {
    Window window;
    size_t first_range = 0;
    size_t ranges = 0;
  };

  std::vector<Range> ranges_;
  Buffer buffer_;
  size_t next_range_ = 0;
  uint64_t next_offset_ = 0;  // within ranges_[next_range_], when it takes several windows
  std::deque<Pending> pending_;
};

}  // namespace wb
