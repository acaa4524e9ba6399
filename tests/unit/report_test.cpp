// Replies: valid JSON with the keys of web/engine/report.ts, and the numbers of the issue.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "oracle/pump.h"
#include "quant/rules.h"

using namespace wb;
using oracle::f32_tensor;
using oracle::Pump;
using oracle::TensorSpec;
using Json = nlohmann::json;

namespace {

std::string keys(const Json& object) {
  std::string all;
  for (const auto& [key, value] : object.items()) all += (all.empty() ? "" : " ") + key;  // sorted by nlohmann
  return all;
}

TensorSpec filled(const std::string& name, Dtype dtype, std::vector<uint64_t> shape, uint8_t byte = 0x38) {
  TensorSpec each{name, dtype, std::move(shape), {}};
  each.bytes.assign(oracle::element_count(each) * dtype_info(dtype).bits / 8, byte);
  return each;
}

}  // namespace

TEST_CASE("report: every reply has the keys that the page expects") {
  Pump pump(
      {oracle::file_of({f32_tensor("a.weight_scale", {}, {0.5f}), filled("a.weight", Dtype::F8_E4M3, {2, 2}, 0x7F),
                        filled("b.weight", Dtype::F8_E4M3, {2, 2}), f32_tensor("a.input_scale", {}, {1}),
                        filled("n\"\\\xC3\xA9", Dtype::BF16, {3})},
                       {{"k", "v"}})});
  REQUIRE(pump.open(R"({"quantization_config":{"quant_method":"fp8"}})") == JobStep::done);
  REQUIRE(pump.session.report() == Reply::ok);
  const Json report = Json::parse(pump.session.reply());
  CHECK(keys(report) ==
        "bf16_data_bytes config data_bytes decisions dropped dtypes file_bytes format header_bytes metadata "
        "pair_counts parameters problems ram schemes "
        "sources stored_elements tensor_count verdict verdict_text version warnings");
  CHECK(keys(report["sources"][0]) == "data_bytes header_bytes name size_bytes tensors");
  CHECK(keys(report["dtypes"][0]) == "bytes dtype elements kind tensors");
  CHECK(keys(report["schemes"][0]) == "bytes formula parameters scheme supported title weights");
  CHECK(keys(report["pair_counts"]) == "noted ok refused scales undecided weights");
  CHECK(keys(report["decisions"][0]) == "choices code count question subject tensors");
  CHECK(keys(report["decisions"][0]["choices"][0]) == "choice meaning");
  CHECK(keys(report["problems"][0]) == "code message where");
  CHECK(keys(report["dropped"][0]) == "count group names");
  CHECK(keys(report["config"][0]) == "name says");
  CHECK(keys(report["ram"]) == "facts load_stages loaders per_dtype");
  CHECK(keys(report["ram"]["load_stages"]) ==
        "dequantized_bf16_bytes dequantized_f32_bytes file_read_bytes peak_bf16_bytes peak_f32_bytes");
  for (const Json& row : report["ram"]["loaders"]) {
    INFO(row["loader"]);
    CHECK(keys(row) == (row["applies"] == true
                            ? "applies device_peak_bytes firm_peak_bytes loader peak_bytes peak_stage purpose "
                              "source stages steady_bytes title url version"
                            : "applies loader purpose reason source title url version"));
  }
  CHECK(report["verdict"] == "problems");
  CHECK(report["parameters"] == 11);
  CHECK(report["stored_elements"] == 13);
  CHECK(report["bf16_data_bytes"] == 22);

  REQUIRE(pump.session.tensors(0, 100) == Reply::ok);
  const Json rows = Json::parse(pump.session.reply());
  REQUIRE(rows.size() == 5);
  CHECK(keys(rows[0]) == "begin dtype elements end kind missing_bytes name pair role shape source values");
  CHECK(rows[4]["name"] == "n\"\\\xC3\xA9");
  REQUIRE(pump.session.pairs(0, 100) == Reply::ok);
  const Json pairs = Json::parse(pump.session.reply());
  CHECK(keys(pairs[0]) ==
        "bytes dtype evidence formula granularity group issues parameters scales scheme shape state weight");
  CHECK(keys(pairs[0]["scales"][0]) == "dtype max min name shape source value");
  CHECK(pairs[0]["formula"] == "w = e4m3(code) * weight_scale");

  REQUIRE(pump.plan(R"({"to":"bf16","others":"keep","assume":{"scale_missing":"raw"}})") == Reply::ok);
  const Json plan = Json::parse(pump.session.reply());
  const std::string plan_keys =
      "cast copied copies_only dequantized dropped files index kept_quantized notes others output_bytes "
      "output_header_bytes "
      "read_bytes recipe tensors to";
  CHECK(keys(plan) == plan_keys);
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  REQUIRE(pump.session.receipt() == Reply::ok);
  const Json receipt = Json::parse(pump.session.reply());
  CHECK(keys(receipt) ==
        "assumed cast copied copies_only dequantized dropped dropped_names f16_overflow f16_underflow files index "
        "kept_quantized "
        "nan_tensors notes others output_bytes output_header_bytes "
        "output_xxh64 read_bytes recipe sources tensors to verified version");
  CHECK(receipt["nan_tensors"] == Json::parse(R"([{"name":"a.weight","count":4}])"));
  CHECK(receipt["assumed"] == Json::parse(R"([{"subject":"scale_missing","choice":"raw","tensors":1}])"));
  CHECK(receipt["dropped_names"].size() == 2);
}

TEST_CASE("report: pages of rows are clipped") {
  std::vector<TensorSpec> tensors;
  for (int i = 0; i < 10; ++i) tensors.push_back(filled("t" + std::to_string(i), Dtype::U8, {1}));
  Pump pump({oracle::file_of(tensors)});
  REQUIRE(pump.open() == JobStep::done);
  struct Row {
    uint64_t first, count, rows;
  };
  for (const Row& row : {Row{0, 3, 3}, Row{8, 3, 2}, Row{10, 1, 0}, Row{0, UINT64_MAX, 10},
                         Row{UINT64_MAX, UINT64_MAX, 0}, Row{9, 0, 0}}) {
    pump.session.tensors(row.first, row.count);
    CHECK(Json::parse(pump.session.reply()).size() == row.rows);
  }
}

TEST_CASE("schemes: every packed family is known by name; what is not converted is refused") {
  struct Row {
    const char* scheme;
    std::vector<TensorSpec> tensors;
    size_t scales;
  };
  const auto u8 = [](const std::string& name, std::vector<uint64_t> shape) {
    return filled(name, Dtype::U8, std::move(shape));
  };
  const auto i8 = [](const std::string& name, std::vector<uint64_t> shape) {
    return filled(name, Dtype::I8, std::move(shape));
  };
  const auto i32 = [](const std::string& name, std::vector<uint64_t> shape) {
    return filled(name, Dtype::I32, std::move(shape));
  };
  const auto f16 = [](const std::string& name, std::vector<uint64_t> shape) {
    return filled(name, Dtype::F16, std::move(shape));
  };
  const Row rows[] = {
      {"gptq", {i32("a.qweight", {4, 8}), i32("a.qzeros", {1, 1}), f16("a.scales", {1, 8}), i32("a.g_idx", {32})}, 3},
      {"svdquant",
       {i8("a.qweight", {4, 8}), filled("a.wscales", Dtype::BF16, {1, 4}), filled("a.smooth", Dtype::BF16, {16})},
       2},
      {"compressed_int",
       {i32("a.weight_packed", {4, 4}), f16("a.weight_scale", {4, 1}), filled("a.weight_shape", Dtype::I64, {2})},
       2},
      {"nvfp4",
       {u8("a.weight_packed", {4, 8}), filled("a.weight_scale", Dtype::F8_E4M3, {4, 1}),
        f32_tensor("a.weight_global_scale", {1}, {1})},
       2},
      {"nvfp4",
       {u8("a.weight", {4, 8}), filled("a.weight_scale", Dtype::F8_E4M3, {4, 1}),
        f32_tensor("a.weight_scale_2", {}, {1})},
       2},
      {"mxfp4", {u8("e.down_proj_blocks", {2, 4, 1, 16}), u8("e.down_proj_scales", {2, 4, 1})}, 1},
      {"mxfp4", {i8("a.weight", {4, 16}), filled("a.scale", Dtype::F8_E8M0, {4, 1})}, 1},
      {"bnb_4bit",
       {u8("a.weight", {32, 1}), f32_tensor("a.weight.absmax", {1}, {1}), f32_tensor("a.weight.quant_map", {1}, {1})},
       2},
      {"bnb_int8", {i8("a.weight", {4, 8}), f32_tensor("a.SCB", {4}, {1, 1, 1, 1}), u8("a.weight_format", {})}, 2},
      {"int8", {i8("a.weight", {4, 8}), f32_tensor("a.weight_scale", {}, {1})}, 1},
      {"quanto", {i8("a.weight._data", {4, 8}), f16("a.weight._scale", {4, 1})}, 1},
      {"torchao", {i8("a._weight_qdata", {4, 8}), f16("a._weight_scale", {4, 1})}, 1},
      {"hqq", {u8("a.W_q", {4, 8}), f16("a.scale", {4, 1}), f16("a.zero", {4, 1})}, 2},
      {"fp4_native", {filled("a", Dtype::F4, {4, 8})}, 0},
  };
  for (const Row& row : rows) {
    INFO(row.scheme << " " << row.tensors[0].name);
    Pump pump({oracle::file_of(row.tensors)});
    REQUIRE(pump.open() == JobStep::done);
    pump.session.pairs(0, 100);
    const Json pairs = Json::parse(pump.session.reply());
    REQUIRE(pairs.size() == 1);
    CHECK(pairs[0]["scheme"] == row.scheme);
    CHECK(pairs[0]["scales"].size() == row.scales);
    if (scheme(row.scheme).supported) continue;
    CHECK(pairs[0]["state"] == "refused");
    REQUIRE(pump.plan(R"({"to":"bf16"})") == Reply::error);
    const Json error = Json::parse(pump.session.reply())["error"];
    CHECK(error["code"] == "scheme_unsupported");
    CHECK_THAT(error["message"].get<std::string>(), Catch::Contains(std::string(scheme(row.scheme).title)));
  }
}
