#include "convert/range_reader.h"

#include <algorithm>

namespace wb {
namespace {

// Reading past this many unwanted bytes is cheaper than a read of its own.
constexpr uint64_t kGapBytes = 64 * 1024;

}  // namespace

Result<RangeReader> RangeReader::create(std::vector<Range> ranges) {
  RangeReader reader;
  reader.ranges_ = std::move(ranges);
  reader.skip_empty();
  WB_TRY(reader.buffer_, Buffer::create(kWindowBytes));
  return reader;
}

// Ranges keep their index, so the empty ones stay in the list.
void RangeReader::skip_empty() {
  while (next_range_ < ranges_.size() && ranges_[next_range_].begin == ranges_[next_range_].end) ++next_range_;
}

std::optional<Window> RangeReader::next_read() {
  if (next_range_ == ranges_.size()) return std::nullopt;
  const Range& first = ranges_[next_range_];
  Pending pending{{first.source, first.begin + next_offset_, 0}, next_range_, 1};
  pending.window.end = std::min(first.end, pending.window.begin + kWindowBytes);
  if (pending.window.end < first.end) {
    next_offset_ = pending.window.end - first.begin;
  } else {
    next_offset_ = 0;
    ++next_range_;
    for (; next_range_ < ranges_.size(); ++next_range_, ++pending.ranges) {
      const Range& next = ranges_[next_range_];
      const bool near = next.source == first.source && next.begin >= pending.window.end &&
                        next.begin - pending.window.end <= kGapBytes;
      if (!near || next.end - pending.window.begin > kWindowBytes) break;
      pending.window.end = next.end;
    }
    skip_empty();
  }
  pending_.push_back(pending);
  return pending.window;
}

}  // namespace wb
