// InspectJob: reads the headers of all sources, and then the tensors that are small enough to look
// into. Never touches a payload.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "convert/job.h"
#include "convert/range_reader.h"
#include "quant/values.h"
#include "safetensors/inventory.h"

namespace wb {

/// The first read of a file: enough for most headers, so that one request a shard is the rule.
inline constexpr uint64_t kFirstReadBytes = 96 * 1024;

/// What opening a checkpoint found.
struct Inspection {
  Inventory inventory;
  SmallValues values;
  std::vector<Error> warnings;
  std::optional<Error> refusal;  ///< the first; the inventory still holds what could be read
};

class InspectJob final : public Job {
 public:
  /// The sources' names and sizes; the rest of each is filled in. Errc: out_of_memory.
  /// Longer scales are not looked into.
  static Result<std::unique_ptr<InspectJob>> create(std::vector<Source> sources, uint64_t scale_bytes_max);

  JobStep begin() override;
  std::optional<Window> next_read() override;
  uint8_t* input() override;
  JobStep feed() override;

  Inspection& result() { return result_; }

 private:
  struct Heading {
    Source source;
    Buffer text;           // the N bytes of the header, while they arrive
    uint64_t planned = 0;  // bytes of the header for which a window was handed out
    uint64_t filled = 0;
    bool first_read = false;
    bool known = false;  // N is known and plausible
    bool finished = false;
    Header header;
  };

  JobStep advance();
  void take_first(Heading& heading, ByteView bytes);
  void take_header(Heading& heading, ByteView bytes);
  void finish_header(Heading& heading);
  void refuse(Heading& heading, Error error);
  JobStep finish_headers();

  std::vector<Heading> headings_;
  size_t finished_ = 0;
  std::deque<Window> pending_;
  Buffer window_;
  uint64_t scale_bytes_max_ = kSmallTensorBytes;
  std::vector<uint32_t> small_;
  std::optional<RangeReader> small_reader_;
  Inspection result_;
};

}  // namespace wb
