// A conversion that was interrupted goes on after its last whole tensor: the same bytes, nothing read that was done.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "oracle/pump.h"

using namespace wb;
using nlohmann::json;
using oracle::Bytes;
using oracle::Pump;
using oracle::Random;

namespace {

constexpr const char* kBf16 = R"({"to":"bf16"})";

/// Large and small weights in two files, one of them with codes that mean NaN.
std::vector<Bytes> checkpoint() {
  Random random(7);
  std::vector<Bytes> files;
  for (const char* file : {"a", "b"}) {
    std::vector<oracle::TensorSpec> tensors;
    for (int i = 0; i < 6; ++i) {
      const std::string stem = std::string(file) + "." + std::to_string(i);
      const uint64_t rows = i % 2 == 0 ? 3000 : 5;
      tensors.push_back(oracle::random_tensor(random, stem + ".weight", Dtype::F8_E4M3, {rows, 700}));
      tensors.push_back(oracle::random_scale(random, stem + ".weight_scale", Dtype::F32, {1}));
      tensors.push_back(oracle::random_tensor(random, stem + ".bias", Dtype::BF16, {rows}));
    }
    tensors.push_back(oracle::random_tensor(random, std::string(file) + ".empty", Dtype::BF16, {0}));
    files.push_back(oracle::file_of(tensors));
  }
  return files;
}

json receipt_of(Pump& pump) {
  REQUIRE(pump.session.receipt() == Reply::ok);
  return json::parse(pump.session.reply());
}

/// What is left of `whole` when its conversion ends at `mark`.
Pump interrupted(const std::vector<Bytes>& files, const std::string& options, const Bytes& whole, const json& mark) {
  Pump pump(files);
  REQUIRE(pump.open() == JobStep::done);
  REQUIRE(pump.plan(options) == Reply::ok);
  pump.output = whole;
  pump.output.resize(mark.at("bytes").get<size_t>());
  pump.goes_on = true;
  return pump;
}

}  // namespace

TEST_CASE("a conversion goes on at each of its marks", "[resume]") {
  const auto files = checkpoint();
  for (const std::string options : {kBf16, R"({"to":"f16","shards":"same"})"}) {
    INFO(options);
    Pump whole(files);
    REQUIRE(whole.open() == JobStep::done);
    REQUIRE(whole.plan(options) == Reply::ok);
    REQUIRE(whole.run(JobKind::convert) == JobStep::done);
    const uint64_t read_bytes = whole.read_bytes;
    const json receipt = receipt_of(whole);

    size_t resumed = 0;
    uint64_t last = 0;
    for (const std::string& text : whole.marks) {
      const json mark = json::parse(text);
      if (mark.at("step") == 0 || mark.at("bytes") == last) continue;
      last = mark.at("bytes");
      INFO(text);
      Pump pump = interrupted(files, options, whole.output, mark);
      REQUIRE(pump.session.resume_at(text) == Reply::ok);
      REQUIRE(pump.run(JobKind::recheck) == JobStep::done);
      CHECK(pump.read_bytes == last);
      REQUIRE(pump.run(JobKind::convert) == JobStep::done);
      CHECK(pump.output == whole.output);
      // Nothing of what was done: a window of small tensors that the mark cuts is the most that comes twice.
      const uint64_t left = whole.output.size() - last;
      CHECK(pump.read_bytes <= left / 2 + 64 * 1024);
      CHECK(pump.read_bytes < read_bytes);
      CHECK(receipt_of(pump) == receipt);
      REQUIRE(pump.run(JobKind::verify) == JobStep::done);
      ++resumed;
    }
    CHECK(resumed >= 3);
  }
}

TEST_CASE("a mark that does not fit is refused", "[resume]") {
  const auto files = checkpoint();
  Pump whole(files);
  REQUIRE(whole.open() == JobStep::done);
  REQUIRE(whole.plan(kBf16) == Reply::ok);
  REQUIRE(whole.run(JobKind::convert) == JobStep::done);
  const json mark = json::parse(whole.marks.at(1));
  const auto refusal = [](Pump& pump) { return json::parse(pump.session.reply()).at("error").at("code"); };

  SECTION("bytes on disk that are others") {
    Pump pump = interrupted(files, kBf16, whole.output, mark);
    pump.output.back() ^= 1;
    REQUIRE(pump.session.resume_at(mark.dump()) == Reply::ok);
    CHECK(pump.run(JobKind::recheck) == JobStep::failed);
    CHECK(refusal(pump) == "resume_refused");
    // and nothing goes on from there
    CHECK(pump.run(JobKind::convert) == JobStep::failed);
  }
  SECTION("not rechecked") {
    Pump pump = interrupted(files, kBf16, whole.output, mark);
    REQUIRE(pump.session.resume_at(mark.dump()) == Reply::ok);
    CHECK(pump.run(JobKind::convert) == JobStep::failed);
    CHECK(refusal(pump) == "wrong_state");
  }
  SECTION("numbers that no mark has") {
    for (const auto& [key, value] : std::vector<std::pair<std::string, json>>{{"step", 0},
                                                                              {"step", 100000},
                                                                              {"step", -1},
                                                                              {"bytes", 1},
                                                                              {"bytes", "1"},
                                                                              {"xxh64", 5},
                                                                              {"xxh64", "g"},
                                                                              {"outcomes", nullptr},
                                                                              {"outcomes", {{99999, 1, 1, 1}}},
                                                                              {"outcomes", {{0, 1}}}}) {
      INFO(key << " " << value);
      Pump pump = interrupted(files, kBf16, whole.output, mark);
      json other = mark;
      other[key] = value;
      CHECK(pump.session.resume_at(other.dump()) == Reply::error);
      CHECK(refusal(pump) == "resume_refused");
    }
    Pump pump = interrupted(files, kBf16, whole.output, mark);
    CHECK(pump.session.resume_at("[") == Reply::error);
  }
}

TEST_CASE("plans that write other bytes have other fingerprints", "[resume]") {
  const auto files = checkpoint();
  const auto fingerprint = [&](const std::string& options, const std::string& config = {}) {
    Pump pump(files);
    REQUIRE(pump.open(config) == JobStep::done);
    REQUIRE(pump.plan(options) == Reply::ok);
    return json::parse(pump.session.reply()).at("fingerprint").get<std::string>();
  };
  const std::string bf16 = fingerprint(kBf16);
  CHECK(fingerprint(kBf16) == bf16);
  CHECK(fingerprint(R"({"to":"bf16","shards":"same"})") != bf16);
  CHECK(fingerprint(R"({"to":"bf16","recipe":"target-mul-rne"})") != bf16);
  CHECK(fingerprint(R"({"to":"stored"})") != bf16);
  CHECK(fingerprint(kBf16, "{}") != bf16);
}
