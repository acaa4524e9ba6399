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

namespace {

Json plan_of(Pump& pump, const std::string& options) {
  const Reply reply = pump.plan(options);
  INFO(pump.session.reply());
  REQUIRE(reply == Reply::ok);
  return json_reply(pump);
}

std::vector<std::string> file_names(const Json& plan) {
  std::vector<std::string> names;
  for (const Json& file : plan["files"]) names.push_back(file["name"]);
  return names;
}

Bytes part(const Bytes& output, uint64_t begin, uint64_t size) {
  return Bytes(output.begin() + static_cast<std::ptrdiff_t>(begin),
               output.begin() + static_cast<std::ptrdiff_t>(begin + size));
}

/// Three files; the scale of the first stands in the last, which holds nothing else.
Pump three_files() {
  Pump pump({file_of({fp8("a.weight"), bf16("a.norm")}),
             file_of({fp8("b.weight"), f32_tensor("b.weight_scale", {1}, {2})}),
             file_of({f32_tensor("a.weight_scale", {1}, {0.25f})})});
  pump.index =
      index_of({{"a.weight", 0}, {"a.norm", 0}, {"b.weight", 1}, {"b.weight_scale", 1}, {"a.weight_scale", 2}}, "20");
  return pump;
}

TensorSpec filled_bf16(const std::string& name, uint16_t bits) {
  TensorSpec tensor{name, Dtype::BF16, {2, 2}, {}};
  for (int i = 0; i < 4; ++i) {
    tensor.bytes.push_back(static_cast<uint8_t>(bits));
    tensor.bytes.push_back(static_cast<uint8_t>(bits >> 8));
  }
  return tensor;
}

}  // namespace

TEST_CASE("output: the files of the input, each with its own header, the empty one left out") {
  Pump pump = three_files();
  REQUIRE(pump.open() == JobStep::done);
  const Json plan = plan_of(pump, R"({"to":"bf16","shards":"same"})");
  CHECK(file_names(plan) == std::vector<std::string>{"0.safetensors", "1.safetensors"});
  CHECK(plan["index"] == "model.safetensors.index.json");
  CHECK(plan["copies_only"] == false);
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  const uint64_t first = plan["files"][0]["bytes"];
  const uint64_t second = plan["files"][1]["bytes"];
  REQUIRE(pump.output.size() == first + second);
  CHECK(plan["output_bytes"] == first + second);
  const oracle::Strings format{{"format", "pt"}};
  CHECK(part(pump.output, 0, first) ==
        oracle::canonical_file({filled_bf16("a.weight", 0x3f00), bf16("a.norm")}, format));
  CHECK(part(pump.output, first, second) == oracle::canonical_file({filled_bf16("b.weight", 0x4080)}, format));
  REQUIRE(pump.run(JobKind::verify) == JobStep::done);

  REQUIRE(pump.session.output_index() == Reply::ok);
  CHECK(pump.session.reply() ==
        "{\n  \"metadata\": {\n    \"total_size\": 20\n  },\n  \"weight_map\": {\n    \"a.norm\": \"0.safetensors\",\n"
        "    \"a.weight\": \"0.safetensors\",\n    \"b.weight\": \"1.safetensors\"\n  }\n}\n");
}

TEST_CASE("output: names with numbers are given anew where a file was left out") {
  const auto named = [](std::vector<std::string> names, const char* options) {
    Session session;
    std::vector<Bytes> files{file_of({fp8("a.weight")}), file_of({f32_tensor("a.weight_scale", {1}, {1})}),
                             file_of({bf16("c")})};
    for (size_t i = 0; i < files.size(); ++i) session.add_source(names[i], files[i].size());
    const auto pump = [&](JobKind kind) {
      JobStep step = session.begin(kind);
      while (step == JobStep::need_input) {
        const auto window = session.next_read();
        const uint64_t length = window->end - window->begin;
        const Bytes& file = files[static_cast<size_t>(window->source)];
        std::copy_n(file.data() + window->begin, length, session.input(length));
        step = session.feed(length);
      }
      REQUIRE(step == JobStep::done);
    };
    pump(JobKind::inspect);
    REQUIRE(session.set_options(options) == Reply::ok);
    pump(JobKind::scan);
    REQUIRE(session.plan() == Reply::ok);
    return Json::parse(session.reply());
  };
  const std::vector<std::string> six{"m-00001-of-000003.safetensors", "m-00002-of-000003.safetensors",
                                     "m-00003-of-000003.safetensors"};
  CHECK(file_names(named(six, R"({"to":"bf16","shards":"same"})")) ==
        std::vector<std::string>{"m-00001-of-000002.safetensors", "m-00002-of-000002.safetensors"});
  CHECK(file_names(named({"x", "y", "deep/z"}, R"({"to":"bf16","shards":"same"})")) ==
        std::vector<std::string>{"x", "z"});
  CHECK(file_names(named(six, R"({"to":"bf16","shards":8})")) ==
        std::vector<std::string>{"m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"});
  const Json one = named(six, R"({"to":"bf16","shards":1000})");
  CHECK(file_names(one) == std::vector<std::string>{"m.safetensors"});
  CHECK(one["index"] == "");
  CHECK(named(six, R"({"to":"bf16","shards":8})")["index"] == "m.safetensors.index.json");
  CHECK(file_names(named({"-00001-of-00003.safetensors", "b", "c"}, R"({"to":"bf16","shards":1})"))[0] ==
        "-00001-of-00003-00001-of-00002.safetensors");
}

TEST_CASE("output: a size in bytes cuts between tensors and never through one") {
  std::vector<TensorSpec> tensors;
  for (int i = 0; i < 10; ++i) tensors.push_back(bf16("t" + std::to_string(i)));  // 4 bytes each
  Pump pump({file_of(tensors)});
  REQUIRE(pump.open() == JobStep::done);
  for (const auto& [size, files] : {std::pair{1, 10}, {4, 10}, {7, 10}, {8, 5}, {11, 5}, {12, 4}, {40, 1}}) {
    INFO(size);
    const Json plan = plan_of(pump, R"({"to":"bf16","shards":)" + std::to_string(size) + "}");
    CHECK(plan["files"].size() == static_cast<size_t>(files));
  }
  for (const char* const bad : {"0", "-1", "1.5", "\"many\"", "null", "[]"}) {
    CHECK(pump.plan(std::string(R"({"to":"bf16","shards":)") + bad + "}") == Reply::error);
    CHECK(json_reply(pump)["error"]["code"] == "invalid_option");
  }
}

TEST_CASE("output: as stored, nothing is lost and nothing is asked") {
  Pump pump({file_of({fp8("a.weight"), bf16("n")}, {{"quantization_config", "x"}}),
             file_of({f32_tensor("lost.weight_scale", {1}, {1}), fp8("b.weight")})});
  REQUIRE(pump.open() == JobStep::done);
  CHECK(pump.plan(R"({"to":"bf16"})") == Reply::decisions);
  const Json plan = plan_of(pump, R"({"to":"stored"})");
  CHECK(plan["to"] == "stored");
  CHECK(plan["copies_only"] == true);
  CHECK(plan["copied"] == 4);
  CHECK(plan["dropped"] == 0);
  CHECK(plan["kept_quantized"] == 2);
  CHECK(file_names(plan) == std::vector<std::string>{"0.safetensors"});
  const Bytes wanted =
      oracle::canonical_file({fp8("a.weight"), bf16("n"), f32_tensor("lost.weight_scale", {1}, {1}), fp8("b.weight")},
                             {{"quantization_config", "x"}});

  // The host moves the bytes by the list, without the core.
  REQUIRE(pump.session.copies(0, 100) == Reply::ok);
  const Json rows = json_reply(pump);
  REQUIRE(pump.session.output_header(0) == Reply::ok);
  const std::string_view header = pump.session.reply();
  Bytes moved(header.begin(), header.end());
  for (const Json& row : rows) {
    CHECK(row[0] == 0);
    const Bytes& source = pump.sources[row[1].get<size_t>()];
    const Bytes piece = part(source, row[2].get<uint64_t>(), row[3].get<uint64_t>() - row[2].get<uint64_t>());
    moved.insert(moved.end(), piece.begin(), piece.end());
  }
  CHECK(moved == wanted);
  CHECK(pump.session.output_header(1) == Reply::error);
  CHECK(pump.session.receipt() == Reply::error);
  REQUIRE(pump.session.copied(true) == Reply::ok);
  REQUIRE(pump.session.receipt() == Reply::ok);
  CHECK(json_reply(pump)["output_xxh64"] == "");
  CHECK(json_reply(pump)["verified"] == true);
  CHECK(pump.session.begin(JobKind::verify) == JobStep::failed);

  // The core can do it too, to the same bytes.
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  CHECK(pump.output == wanted);
  REQUIRE(pump.run(JobKind::verify) == JobStep::done);
}

TEST_CASE("output: a plan that computes is not the host's to carry out") {
  Pump pump = three_files();
  REQUIRE(pump.open() == JobStep::done);
  CHECK(pump.session.output_index() == Reply::error);
  plan_of(pump, R"({"to":"bf16"})");
  CHECK(pump.session.copies(0, 10) == Reply::error);
  CHECK(pump.session.copied(true) == Reply::error);
  CHECK(pump.session.output_index() == Reply::error);  // one file needs none
  CHECK(pump.plan(R"({"to":"stored","assume":{"scale_missing":"raw"}})") == Reply::error);
}

TEST_CASE("output: many files with headers of every size, in few bytes of output at a time") {
  oracle::Random random(7);
  std::vector<Bytes> files;
  std::vector<Bytes> wanted;
  for (int i = 0; i < 40; ++i) {
    std::vector<TensorSpec> tensors;
    for (int k = 0; k <= i % 7; ++k)
      tensors.push_back(oracle::random_tensor(
          random, std::string(static_cast<size_t>(1 + i * 300), 'n') + std::to_string(i) + "." + std::to_string(k),
          Dtype::BF16, {static_cast<uint64_t>(k * 3000)}));
    files.push_back(file_of(tensors));
    wanted.push_back(oracle::canonical_file(tensors, {{"format", "pt"}}));
  }
  Pump pump(files);
  REQUIRE(pump.open() == JobStep::done);
  const Json plan = plan_of(pump, R"({"to":"bf16","shards":"same"})");
  REQUIRE(plan["files"].size() == 40);
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  uint64_t at = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const uint64_t size = plan["files"][i]["bytes"];
    CHECK(part(pump.output, at, size) == wanted[i]);
    at += size;
  }
  CHECK(at == pump.output.size());
}
