#include "oracle/pump.h"

#include <algorithm>

namespace wb::oracle {

Pump::Pump(std::vector<Bytes> files, uint32_t depth_max, uint64_t seed)
    : sources(std::move(files)), depth_max_(depth_max), random_(seed) {}

JobStep Pump::open(const std::string& config) {
  for (size_t i = 0; i < sources.size(); ++i) session.add_source(std::to_string(i) + ".safetensors", sources[i].size());
  if (!config.empty())
    session.add_side_file("config.json", {reinterpret_cast<const uint8_t*>(config.data()), config.size()});
  if (!index.empty())
    session.add_index("model.safetensors.index.json", {reinterpret_cast<const uint8_t*>(index.data()), index.size()},
                      whole);
  return run(JobKind::inspect);
}

Reply Pump::plan(const std::string& options) {
  const Reply reply = session.set_options(options);
  if (reply != Reply::ok) return reply;
  if (run(JobKind::scan) != JobStep::done) return Reply::error;
  return session.plan();
}

bool Pump::check(const Window& window) {
  const uint64_t size =
      window.source == kOutputSource ? output.size() : sources.at(static_cast<size_t>(window.source)).size();
  if (window.begin < window.end && window.end <= size && window.end - window.begin <= kWindowBytes) return true;
  bad_window = std::to_string(window.begin) + ".." + std::to_string(window.end) + " of " + std::to_string(size) +
               " in source " + std::to_string(window.source);
  return false;
}

JobStep Pump::feed_one() {
  const uint32_t depth = 1 + random_.below(depth_max_);
  while (queue_.size() < depth) {
    const auto window = session.next_read();
    if (!window) break;
    if (!check(*window)) return JobStep::failed;
    queue_.push_back(*window);
    ++reads;
    read_bytes += window->end - window->begin;
  }
  if (queue_.empty()) {
    bad_window = "input is wanted, but no window is named";
    return JobStep::failed;
  }
  const Window window = queue_.front();
  queue_.pop_front();
  const Bytes& from = window.source == kOutputSource ? output : sources[static_cast<size_t>(window.source)];
  const uint64_t length = window.end - window.begin;
  uint8_t* const input = session.input(length);
  if (!input) return JobStep::failed;
  std::copy_n(from.data() + window.begin, length, input);
  return session.feed(length);
}

JobStep Pump::run(JobKind kind) {
  queue_.clear();
  reads = read_bytes = 0;
  bad_window.clear();
  if (kind == JobKind::convert && !goes_on) output.clear();
  if (kind == JobKind::convert) marks.clear();
  JobStep step = session.begin(kind);
  while (step == JobStep::need_input || step == JobStep::has_output) {
    if (step == JobStep::need_input) {
      step = feed_one();
    } else {
      const ByteView bytes = session.output();
      output.insert(output.end(), bytes.begin(), bytes.end());
      session.mark(0);
      if (kind == JobKind::convert) marks.emplace_back(session.reply());
      step = session.resume();
    }
  }
  return step;
}

}  // namespace wb::oracle
