// Drives a Session the way the engine does, over sources in memory: windows are asked for a random
// number of reads ahead, fed in order, output is collected.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "oracle/checkpoint.h"
#include "session/session.h"

namespace wb::oracle {

class Pump {
 public:
  /// `depth_max` reads at most are queued; the actual number changes at random.
  explicit Pump(std::vector<Bytes> sources, uint32_t depth_max = 5, uint64_t seed = 1);

  /// Adds the sources ("0.safetensors", "1.safetensors", ...) and inspects them. `config`: config.json.
  JobStep open(const std::string& config = {});
  /// Runs a job to its end. Windows that are empty, too long or beyond their file count as failures.
  JobStep run(JobKind kind);
  /// set_options, scan, plan.
  Reply plan(const std::string& options);

  /// Text of an index that `open` adds; whether the sources are the whole set.
  std::string index;
  bool whole = true;

  Session session;
  std::vector<Bytes> sources;
  Bytes output;                    ///< of the last convert
  bool goes_on = false;            ///< the next convert appends to the output that is there
  std::vector<std::string> marks;  ///< of the last convert, one for each time it had output
  uint64_t reads = 0;              ///< of the last job
  uint64_t read_bytes = 0;
  std::string bad_window;

 private:
  bool check(const Window& window);
  JobStep feed_one();

  uint32_t depth_max_;
  Random random_;
  std::deque<Window> queue_;
};

}  // namespace wb::oracle
