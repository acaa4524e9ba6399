// Sets: an index against its shards, pairs across shards, one shard alone, sets that are not whole.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "oracle/pump.h"

using namespace wb;
using oracle::Bytes;
using oracle::f32_tensor;
using oracle::file_of;
using oracle::Pump;
using oracle::TensorSpec;
using Json = nlohmann::json;

namespace {

TensorSpec fp8(const std::string& name, uint8_t code = 0x40) { return {name, Dtype::F8_E4M3, {2, 2}, Bytes(4, code)}; }
TensorSpec bf16(const std::string& name) { return {name, Dtype::BF16, {2}, {0, 0x3f, 0x80, 0x3f}}; }

// "0.safetensors" is what the pump calls the first source.
std::string index_of(std::vector<std::pair<std::string, int>> map, const std::string& total = "") {
  Json weights;
  for (const auto& [name, file] : map) weights[name] = std::to_string(file) + ".safetensors";
  Json index{{"weight_map", weights}};
  if (!total.empty()) index["metadata"] = Json{{"total_size", Json::parse(total)}};
  return index.dump();
}

Json report_of(Pump& pump) {
  REQUIRE(pump.open() == JobStep::done);
  REQUIRE(pump.session.report() == Reply::ok);
  return Json::parse(pump.session.reply());
}

std::vector<std::string> codes(const Json& issues) {
  std::vector<std::string> all;
  for (const Json& issue : issues) all.push_back(issue["code"]);
  return all;
}

std::string all_messages(const Json& issues) {
  std::string all;
  for (const Json& issue : issues) all += issue["message"].get<std::string>() + "\n";
  return all;
}

Json json_reply(Pump& pump) { return Json::parse(pump.session.reply()); }

constexpr const char* kToBf16 = R"({"to":"bf16","others":"keep","assume":{}})";
constexpr const char* kPartial = R"({"to":"bf16","others":"keep","assume":{"shard_missing":"partial"}})";

}  // namespace

TEST_CASE("set: a pair across shards converts, and the set is sound (case B01)") {
  Pump pump({file_of({fp8("a.weight"), bf16("norm")}), file_of({f32_tensor("a.weight_scale_inv", {1, 1}, {0.25f})})});
  pump.index = index_of({{"a.weight", 0}, {"norm", 0}, {"a.weight_scale_inv", 1}}, "12");
  const Json report = report_of(pump);
  CHECK(report["verdict"] == "sound");
  CHECK(report["warnings"].empty());
  CHECK(report["set"]["shards"] == 2);
  CHECK(report["set"]["opened"] == 2);
  CHECK(report["set"]["tensors"] == 3);
  CHECK(report["set"]["total_size"] == 12);
  CHECK(report["set"]["whole"] == true);
  REQUIRE(pump.plan(kToBf16) == Reply::ok);
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  const TensorSpec half{"a.weight", Dtype::BF16, {2, 2}, {0, 0x3f, 0, 0x3f, 0, 0x3f, 0, 0x3f}};
  CHECK(pump.output == oracle::canonical_file({half, bf16("norm")}, {{"format", "pt"}}));
}

TEST_CASE("set: one shard alone says which file holds the scale, and is not cast raw (case B01)") {
  Pump pump({file_of({fp8("a.weight"), fp8("b.weight")})});
  pump.index = index_of({{"a.weight", 0}, {"b.weight", 0}, {"a.weight_scale_inv", 1}, {"b.scale_weight", 2}});
  pump.whole = false;
  const Json report = report_of(pump);
  CHECK(!report.contains("error"));
  CHECK(codes(report["warnings"]) == std::vector<std::string>{"total_size_wrong", "part_of_set"});
  CHECK(codes(report["problems"]) == std::vector<std::string>{"scale_missing", "scale_missing"});
  const std::string words = all_messages(report["problems"]);
  CHECK(words.find("`a.weight_scale_inv` is in 1.safetensors, which is not open") != std::string::npos);
  CHECK(words.find("`b.scale_weight` is in 2.safetensors, which is not open") != std::string::npos);
  CHECK(pump.plan(kToBf16) == Reply::decisions);
  CHECK(json_reply(pump)["decisions"][0]["code"] == "scale_missing");
}

TEST_CASE("set: an orphaned scale names the shard of its weight") {
  Pump pump({file_of({f32_tensor("a.weight_scale_inv", {1, 1}, {0.25f})})});
  pump.index = index_of({{"a.weight", 7}, {"a.weight_scale_inv", 0}});
  pump.whole = false;
  const Json report = report_of(pump);
  REQUIRE(codes(report["problems"]) == std::vector<std::string>{"scale_orphan"});
  CHECK(all_messages(report["problems"]).find("is in 7.safetensors, which is not open") != std::string::npos);
}

TEST_CASE("set: a missing shard is refused by name, with its tensors, unless a part is wanted (case B02)") {
  Pump pump({file_of({bf16("a.weight")})});
  pump.index = index_of({{"a.weight", 0}, {"b.weight", 1}, {"c.weight", 1}}, "12");
  const Json report = report_of(pump);
  CHECK(report["verdict"] == "refused");
  CHECK(report["error"]["code"] == "shard_missing");
  const std::string message = report["error"]["message"];
  for (const char* const word : {"1 of 2 shards", "1.safetensors", "2 tensors", "b.weight", "c.weight"})
    CHECK(message.find(word) != std::string::npos);
  CHECK(report["set"]["missing_shards"][0]["name"] == "1.safetensors");
  CHECK(report["set"]["missing_shards"][0]["tensors"]["count"] == 2);
  CHECK(report["tensor_count"] == 1);  // what is here is shown
  CHECK(report["decisions"][0]["code"] == "shard_missing");
  CHECK(report["decisions"][0]["choices"][0]["choice"] == "partial");

  CHECK(pump.plan(kToBf16) == Reply::error);
  CHECK(json_reply(pump)["error"]["code"] == "shard_missing");
  CHECK(pump.plan(R"({"to":"bf16","assume":{"shard_missing":"whatever"}})") == Reply::error);
  CHECK(json_reply(pump)["error"]["code"] == "invalid_option");

  REQUIRE(pump.plan(kPartial) == Reply::ok);
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  CHECK(pump.output == oracle::canonical_file({bf16("a.weight")}, {{"format", "pt"}}));
  REQUIRE(pump.session.receipt() == Reply::ok);
  CHECK(json_reply(pump)["assumed"][0] == Json{{"subject", "shard_missing"}, {"choice", "partial"}, {"tensors", 2}});
}

TEST_CASE("set: pairs of a set that is not whole are still found and shown") {
  Pump pump({file_of({fp8("a.weight"), f32_tensor("a.weight_scale", {1}, {2}), fp8("b.weight")})});
  pump.index = index_of({{"a.weight", 0}, {"a.weight_scale", 0}, {"b.weight", 0}, {"b.weight_scale", 1}});
  const Json report = report_of(pump);
  CHECK(report["error"]["code"] == "shard_missing");
  CHECK(report["pair_counts"]["weights"] == 2);
  CHECK(report["pair_counts"]["ok"] == 1);
  CHECK(all_messages(report["problems"]).find("1.safetensors") != std::string::npos);
  CHECK(pump.plan(kPartial) == Reply::decisions);  // b.weight still needs an answer
}

TEST_CASE("set: nothing is missing, so there is nothing to assume") {
  Pump pump({file_of({bf16("a")})});
  pump.index = index_of({{"a", 0}}, "4");
  REQUIRE(pump.open() == JobStep::done);
  CHECK(pump.plan(kPartial) == Reply::error);
  CHECK(json_reply(pump)["error"]["code"] == "unknown_assumption");
}

TEST_CASE("set: phantoms are told, the headers are believed (case B03)") {
  Pump pump({file_of({bf16("a.weight")})});
  pump.index = index_of({{"a.weight", 0}, {"a.weight_scale_inv", 0}, {"mtp.fc.weight", 0}}, "8");
  const Json report = report_of(pump);
  CHECK(report["verdict"] == "sound");
  CHECK(codes(report["warnings"]) == std::vector<std::string>{"tensor_missing", "total_size_wrong"});
  CHECK(report["set"]["phantom_tensors"]["names"] == Json{"a.weight_scale_inv", "mtp.fc.weight"});
  CHECK(pump.plan(kToBf16) == Reply::ok);
}

TEST_CASE("set: a scale that its shard should hold and does not is no scale of 1") {
  Pump pump({file_of({fp8("a.weight")})});
  pump.index = index_of({{"a.weight", 0}, {"a.weight_scale", 0}});
  const Json report = report_of(pump);
  REQUIRE(codes(report["problems"]) == std::vector<std::string>{"scale_missing"});
  CHECK(all_messages(report["problems"]).find("does not hold it") != std::string::npos);
}

TEST_CASE("set: tensors in another shard than the index says are refused") {
  Pump pump({file_of({bf16("a")}), file_of({bf16("b")})});
  pump.index = index_of({{"a", 1}, {"b", 0}}, "8");
  const Json report = report_of(pump);
  CHECK(report["error"]["code"] == "tensor_wrong_shard");
  CHECK(report["set"]["wrong_shard"]["count"] == 2);
  CHECK(pump.plan(kToBf16) == Reply::error);
  CHECK(json_reply(pump)["error"]["code"] == "tensor_wrong_shard");
}

TEST_CASE("set: extra files and unlisted tensors are told") {
  Pump extra({file_of({bf16("a")}), file_of({bf16("b")})});
  extra.index = index_of({{"a", 0}}, "8");
  const Json report = report_of(extra);
  CHECK(codes(report["warnings"]) == std::vector<std::string>{"shard_extra"});
  CHECK(report["set"]["extra_shards"]["names"] == Json{"1.safetensors"});
  CHECK(report["set"]["unlisted_tensors"]["count"] == 1);

  Pump unlisted({file_of({bf16("a"), bf16("b")})});
  unlisted.index = index_of({{"a", 0}}, "8");
  CHECK(codes(report_of(unlisted)["warnings"]) == std::vector<std::string>{"tensor_unlisted"});
}

TEST_CASE("set: one name with data in two shards is refused") {
  Pump pump({file_of({bf16("a")}), file_of({bf16("a"), bf16("b")})});
  pump.index = index_of({{"a", 0}, {"b", 1}}, "8");
  const Json report = report_of(pump);
  CHECK(report["error"]["code"] == "duplicate_tensor");
  const std::string message = report["error"]["message"];
  CHECK(message.find("0.safetensors") != std::string::npos);
  CHECK(message.find("1.safetensors") != std::string::npos);
}

TEST_CASE("set: a bad index refuses, and what is in the files is still shown") {
  Pump pump({file_of({bf16("a")})});
  pump.index = R"({"weight_map":{"a":"../0.safetensors"}})";
  const Json report = report_of(pump);
  CHECK(report["error"]["code"] == "index_bad_path");
  CHECK(report["tensor_count"] == 1);
  CHECK(!report.contains("set"));
  CHECK(pump.plan(kPartial) == Reply::error);
  CHECK(json_reply(pump)["error"]["code"] == "index_bad_path");
}

TEST_CASE("set: a damaged shard is the reason, not what the index makes of it") {
  Bytes cut = file_of({bf16("a"), bf16("b")});
  cut.resize(cut.size() - 3);
  Pump pump({cut, file_of({bf16("c")})});
  pump.index = index_of({{"a", 0}, {"b", 0}, {"c", 1}, {"d", 2}}, "12");
  const Json report = report_of(pump);
  CHECK(report["error"]["code"] == "truncated_data");
  CHECK(report["set"]["opened"] == 2);
}

TEST_CASE("set: an index is added once, and before the first job") {
  const std::string text = index_of({{"a", 0}});
  const ByteView bytes{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  Session session;
  REQUIRE(session.add_index("i", bytes, true) == Reply::ok);
  CHECK(session.reply() == R"({"files":["0.safetensors"]})");
  CHECK(session.add_index("i", bytes, true) == Reply::error);

  Session bad;
  CHECK(bad.add_index("i", {}, true) == Reply::ok);
  CHECK(bad.reply() == R"({"files":[]})");

  Pump pump({file_of({bf16("a")})});
  REQUIRE(pump.open() == JobStep::done);
  CHECK(pump.session.add_index("i", bytes, true) == Reply::error);
}
