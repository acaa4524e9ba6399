// A session that is driven wrongly says so; it neither crashes nor writes something wrong.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "oracle/pump.h"

using namespace wb;
using oracle::Bytes;
using oracle::Pump;
using oracle::Random;

namespace {

std::string code(const Session& session) {
  const auto reply = nlohmann::json::parse(session.reply());
  return reply.contains("error") ? reply["error"]["code"].get<std::string>() : "none";
}

/// A weight of three windows with its scale, an U8 tensor and a bias.
std::vector<Bytes> files() {
  Random random(1);
  return {oracle::file_of({oracle::random_scale(random, "a.weight_scale", Dtype::F32, {3000, 1}),
                           oracle::random_tensor(random, "a.weight", Dtype::F8_E4M3, {3000, 1000}),
                           oracle::random_tensor(random, "b", Dtype::F32, {10}),
                           oracle::random_tensor(random, "c", Dtype::U8, {200000})})};
}

const std::string kBf16 = R"({"to":"bf16","others":"keep","assume":{}})";

}  // namespace

TEST_CASE("session: calls out of order are refused") {
  Pump pump(files());
  Session& session = pump.session;
  CHECK(session.report() == Reply::error);
  CHECK(code(session) == "wrong_state");
  CHECK(session.receipt() == Reply::error);
  CHECK(session.plan() == Reply::error);
  CHECK(session.tensors(0, 10) == Reply::ok);
  CHECK(session.reply() == "[]");
  CHECK(session.feed(1) == JobStep::failed);
  CHECK(session.resume() == JobStep::failed);
  CHECK_FALSE(session.next_read());
  CHECK(session.output().empty());
  for (const JobKind kind :
       {JobKind::inspect, JobKind::scan, JobKind::convert, JobKind::verify, static_cast<JobKind>(9)}) {
    CHECK(session.begin(kind) == JobStep::failed);
    CHECK(code(session) == "wrong_state");
  }
  REQUIRE(pump.open() == JobStep::done);
  CHECK(session.add_source("x", 1) == Reply::error);
  CHECK(session.add_side_file("x", {}) == Reply::error);
  CHECK(session.begin(JobKind::inspect) == JobStep::failed);
  CHECK(session.begin(JobKind::scan) == JobStep::failed);  // no options yet
  CHECK(session.plan() == Reply::error);
  CHECK(session.set_options(kBf16) == Reply::ok);
  CHECK(session.plan() == Reply::error);  // no scan yet
  CHECK(session.begin(JobKind::convert) == JobStep::failed);
  CHECK(pump.run(JobKind::scan) == JobStep::done);
  CHECK(session.begin(JobKind::convert) == JobStep::failed);  // no plan yet
  CHECK(session.plan() == Reply::ok);
  CHECK(session.begin(JobKind::verify) == JobStep::failed);
  CHECK(session.receipt() == Reply::error);
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  CHECK(session.receipt() == Reply::ok);
  CHECK(nlohmann::json::parse(session.reply())["verified"] == false);
}

TEST_CASE("session: a read of another length fails the job") {
  for (const int64_t more : {-1, 1, -1000000}) {
    Pump pump(files());
    pump.session.add_source("0", pump.sources[0].size());
    REQUIRE(pump.session.begin(JobKind::inspect) == JobStep::need_input);
    const auto window = pump.session.next_read();
    REQUIRE(window);
    CHECK(pump.session.feed(static_cast<uint64_t>(
              std::max<int64_t>(0, static_cast<int64_t>(window->end - window->begin) + more))) == JobStep::failed);
    CHECK(code(pump.session) == "source_changed");
    CHECK(pump.session.feed(1) == JobStep::failed);
  }
}

TEST_CASE("session: input and feed only when input is wanted, resume only when output is there") {
  Pump pump(files());
  Session& session = pump.session;
  REQUIRE(pump.open() == JobStep::done);
  REQUIRE(pump.plan(kBf16) == Reply::ok);
  JobStep step = session.begin(JobKind::convert);
  uint64_t taken = 0;
  while (step != JobStep::done) {
    REQUIRE(step != JobStep::failed);
    if (step == JobStep::need_input) {
      CHECK(session.input(kWindowBytes + 1) == nullptr);
      CHECK(session.resume() == JobStep::failed);  // would throw collected output away
      const auto window = session.next_read();
      REQUIRE(window);
      const auto ahead = session.next_read();
      uint8_t* const input = session.input(window->end - window->begin);
      REQUIRE(input != nullptr);
      std::copy_n(pump.sources[0].data() + window->begin, window->end - window->begin, input);
      step = session.feed(window->end - window->begin);
      if (!ahead) continue;
      while (step == JobStep::has_output) {
        CHECK(session.input(1) == nullptr);
        CHECK(session.feed(ahead->end - ahead->begin) == JobStep::failed);
        taken += session.output().size();
        step = session.resume();
      }
      REQUIRE(step == JobStep::need_input);
      uint8_t* const next = session.input(ahead->end - ahead->begin);
      REQUIRE(next != nullptr);
      std::copy_n(pump.sources[0].data() + ahead->begin, ahead->end - ahead->begin, next);
      step = session.feed(ahead->end - ahead->begin);
    } else {
      taken += session.output().size();
      step = session.resume();
    }
  }
  REQUIRE(session.plan() == Reply::ok);
  CHECK(nlohmann::json::parse(session.reply())["output_bytes"] == taken);
}

TEST_CASE("session: a job that is abandoned leaves nothing behind") {
  Pump pump(files());
  REQUIRE(pump.open() == JobStep::done);
  REQUIRE(pump.plan(kBf16) == Reply::ok);
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  const Bytes whole = pump.output;
  Session& session = pump.session;
  const auto start = [&] {
    REQUIRE(session.begin(JobKind::convert) == JobStep::need_input);
    REQUIRE(session.next_read());
    REQUIRE(session.next_read());
  };
  start();
  CHECK(session.receipt() == Reply::error);  // what was converted before does not count any more
  SECTION("by converting again") { start(); }
  SECTION("by other options") { CHECK(session.set_options(R"({"to":"f16"})") == Reply::ok); }
  SECTION("by planning again") { CHECK(session.plan() == Reply::ok); }
  SECTION("by a scan") { CHECK(session.begin(JobKind::scan) == JobStep::done); }
  REQUIRE(pump.plan(kBf16) == Reply::ok);
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  CHECK(pump.output == whole);
  CHECK(pump.run(JobKind::verify) == JobStep::done);
}

TEST_CASE("session: options after a conversion make it uncounted") {
  Pump pump(files());
  REQUIRE(pump.open() == JobStep::done);
  REQUIRE(pump.plan(kBf16) == Reply::ok);
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  REQUIRE(pump.session.plan() == Reply::ok);
  CHECK(pump.session.receipt() == Reply::error);
  CHECK(pump.session.begin(JobKind::verify) == JobStep::failed);
}

TEST_CASE("session: one byte changed on disk is noticed, wherever it is") {
  Pump pump(files());
  REQUIRE(pump.open() == JobStep::done);
  REQUIRE(pump.plan(kBf16) == Reply::ok);
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  const size_t size = pump.output.size();
  for (const size_t at : {size_t{0}, size_t{9}, size / 2, size_t{kWindowBytes}, size - 1}) {
    pump.output[at] ^= 1;
    CHECK(pump.run(JobKind::verify) == JobStep::failed);
    CHECK(code(pump.session) == "verify_failed");
    pump.output[at] ^= 1;
  }
  CHECK(pump.run(JobKind::verify) == JobStep::done);
}

TEST_CASE("session: a scan that was abandoned does not count values twice") {
  Random random(2);
  const auto values = [](size_t n) { return std::vector<float>(n, 0.5f); };
  Pump pump({oracle::file_of({oracle::f32_tensor("a.weight_scale", {300000}, values(300000)),
                              oracle::random_tensor(random, "a.weight", Dtype::F8_E4M3, {300000, 1})})});
  REQUIRE(pump.open() == JobStep::done);
  REQUIRE(pump.session.set_options(kBf16) == Reply::ok);
  REQUIRE(pump.session.begin(JobKind::scan) == JobStep::need_input);
  const auto window = pump.session.next_read();
  REQUIRE(window);
  std::copy_n(pump.sources[0].data() + window->begin, window->end - window->begin, pump.session.input(kWindowBytes));
  REQUIRE(pump.session.feed(window->end - window->begin) == JobStep::need_input);
  REQUIRE(pump.plan(kBf16) == Reply::ok);
  REQUIRE(pump.session.pairs(0, 1) == Reply::ok);
  const auto pairs = nlohmann::json::parse(pump.session.reply());
  CHECK(pairs[0]["scales"][0]["min"] == 0.5);
  REQUIRE(pump.session.set_options(kBf16) == Reply::ok);
  CHECK(pump.session.begin(JobKind::scan) == JobStep::done);  // all known
}

TEST_CASE("session: 60,000 tensors of two bytes take a handful of reads and no quadratic loop") {
  std::vector<oracle::TensorSpec> tensors;
  for (int i = 0; i < 60000; ++i) tensors.push_back({std::to_string(1000000 + i), Dtype::BF16, {1}, {0x80, 0x3F}});
  Pump pump({oracle::file_of(tensors, {{"format", "pt"}})});
  REQUIRE(pump.open() == JobStep::done);
  REQUIRE(pump.plan(kBf16) == Reply::ok);
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  CHECK(pump.output == pump.sources[0]);
  CHECK(pump.reads < 10);
}
