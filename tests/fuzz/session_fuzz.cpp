// Any bytes as a whole checkpoint, through everything the core does: inspect, scan, plan, convert, read back. Wherever
// a conversion says it is done, its output has the planned size, is read back without complaint, and opens again.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "session/session.h"

namespace {

using File = std::vector<uint8_t>;

void check(bool holds) {
  if (!holds) std::abort();
}

// Pumps one job to its end, from `source` (and `output`, when it is read back); appends what it writes to `output`.
bool pump(wb::Session& session, wb::JobKind kind, const File& source, File& output) {
  wb::JobStep step = session.begin(kind);
  while (true) {
    if (step == wb::JobStep::failed) return false;
    if (step == wb::JobStep::done) return true;
    if (step == wb::JobStep::has_output) {
      const wb::ByteView bytes = session.output();
      output.insert(output.end(), bytes.begin(), bytes.end());
      step = session.resume();
      continue;
    }
    const std::optional<wb::Window> window = session.next_read();
    check(window.has_value());
    const File& file = window->source == wb::kOutputSource ? output : source;
    check(window->begin < window->end && window->end <= file.size());
    const uint64_t length = window->end - window->begin;
    uint8_t* to = session.input(length);
    check(to != nullptr);
    std::memcpy(to, file.data() + window->begin, static_cast<size_t>(length));
    step = session.feed(length);
  }
}

bool inspect(wb::Session& session, const File& file) {
  File nothing;
  session.add_source("fuzz.safetensors", file.size());
  const bool done = pump(session, wb::JobKind::inspect, file, nothing);
  session.report();
  session.tensors(0, 1000);
  session.pairs(0, 1000);
  return done;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The last byte chooses the options, so that a corpus of plain files still says something.
  const bool f16 = data[size - 1] % 2 != 0;
  const File file(data, data + size);
  wb::Session session;
  if (!inspect(session, file)) return 0;
  const std::string_view options =
      f16 ? R"({"to":"f16","others":"cast","assume":{}})" : R"({"to":"bf16","others":"keep","assume":{}})";
  check(session.set_options(options) == wb::Reply::ok);
  File output;
  if (!pump(session, wb::JobKind::scan, file, output)) return 0;
  check(output.empty());
  if (session.plan() != wb::Reply::ok) return 0;
  if (!pump(session, wb::JobKind::convert, file, output)) return 0;
  check(pump(session, wb::JobKind::verify, file, output));
  check(session.receipt() == wb::Reply::ok);
  wb::Session again;
  check(inspect(again, output));
  return 0;
}
