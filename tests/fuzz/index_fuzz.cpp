// Any bytes as a shard index: parsing must neither crash nor accept what could lead out of the folder, and what is
// accepted must be found again. Then the index meets two small files, as the session would have it.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "safetensors/shard_index.h"
#include "safetensors/shard_set.h"
#include "session/session.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

std::vector<uint8_t> file_of(const std::string& name) {
  const std::string text = R"({")" + name + R"(":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})";
  std::vector<uint8_t> file(8);
  const uint64_t length = text.size();
  std::memcpy(file.data(), &length, 8);
  file.insert(file.end(), text.begin(), text.end());
  file.push_back(0x38);
  return file;
}

void check_index(const wb::ShardIndex& index) {
  for (const std::string& file : index.files) {
    check(wb::is_plain_file_name(file));
    check(file.find('/') == std::string::npos && file.find('\\') == std::string::npos && file != "..");
  }
  for (size_t i = 0; i < index.size(); ++i) {
    check(index.file(i) < index.files.size());
    const int64_t at = index.find(index.tensor(i));
    check(at >= 0 && index.tensor(static_cast<size_t>(at)) == index.tensor(i));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const wb::ByteView text{data, size};
  const auto index = wb::parse_shard_index("fuzz.index.json", text);
  if (index) check_index(*index);

  const std::vector<std::vector<uint8_t>> files = {file_of("a.weight"), file_of("b.weight")};
  wb::Session session;
  session.add_source("model-00001-of-00002.safetensors", files[0].size());
  session.add_source("model-00002-of-00002.safetensors", files[1].size());
  check(session.add_index("fuzz.index.json", text, size % 2 == 0) == wb::Reply::ok);
  wb::JobStep step = session.begin(wb::JobKind::inspect);
  while (step == wb::JobStep::need_input) {
    const auto window = session.next_read();
    check(window.has_value());
    const uint64_t length = window->end - window->begin;
    std::memcpy(session.input(length), files[static_cast<size_t>(window->source)].data() + window->begin,
                static_cast<size_t>(length));
    step = session.feed(length);
  }
  check(step == wb::JobStep::done);
  check(session.report() == wb::Reply::ok);
  session.set_options(R"({"to":"stored","shards":"same","assume":{"shard_missing":"partial"}})");
  if (session.begin(wb::JobKind::scan) == wb::JobStep::done && session.plan() == wb::Reply::ok)
    check(session.copied(true) == wb::Reply::ok && session.receipt() == wb::Reply::ok);
  return 0;
}
