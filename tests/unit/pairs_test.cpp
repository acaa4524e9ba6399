// Which tensor scales which: every naming rule, and every way in which names mislead. Asked through a
// session, as the page asks; one line per pair: weight scheme granularity state scales [issues].
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "oracle/pump.h"

using namespace wb;
using oracle::f32_tensor;
using oracle::Pump;
using oracle::TensorSpec;
using Json = nlohmann::json;

namespace {

TensorSpec tensor(std::string name, Dtype dtype, std::vector<uint64_t> shape) {
  TensorSpec each{std::move(name), dtype, std::move(shape), {}};
  each.bytes.assign(oracle::element_count(each) * dtype_info(dtype).bits / 8, 0x38);
  return each;
}

TensorSpec fp8(const std::string& name, std::vector<uint64_t> shape = {4, 6}) {
  return tensor(name, Dtype::F8_E4M3, std::move(shape));
}
TensorSpec scalar(const std::string& name, float value = 0.5f) { return f32_tensor(name, {}, {value}); }
TensorSpec text(const std::string& name, const std::string& content) {
  return {name, Dtype::U8, {content.size()}, oracle::Bytes(content.begin(), content.end())};
}

Json page(Pump& pump, Reply (Session::*rows)(uint64_t, uint64_t)) {
  (pump.session.*rows)(0, 1000);
  return Json::parse(pump.session.reply());
}

std::string line_of(const Json& pair) {
  std::string line;
  for (const char* const key : {"weight", "scheme", "granularity", "state"}) line += pair[key].get<std::string>() + " ";
  for (const Json& scale : pair["scales"]) line += scale["name"].get<std::string>() + " ";
  line += "[";
  for (const Json& issue : pair["issues"]) line += (line.back() == '[' ? "" : " ") + issue["code"].get<std::string>();
  return line + "]";
}

struct Opened {
  std::vector<std::string> pairs;
  std::string roles;  ///< "name:role", but not of parameters, weights and scales
  Json report;
};

Opened opened(const std::vector<TensorSpec>& tensors, const std::string& config = {},
              const oracle::Strings& metadata = {}) {
  Pump pump({oracle::file_of(tensors, metadata)});
  REQUIRE(pump.open(config) == JobStep::done);
  Opened result;
  const Json pairs = page(pump, &Session::pairs);
  for (const Json& pair : pairs) result.pairs.push_back(line_of(pair));
  const Json rows = page(pump, &Session::tensors);
  REQUIRE(rows.size() == tensors.size());
  for (const Json& row : rows) {
    const std::string role = row["role"];
    const int64_t pair = row["pair"];
    // Roles and pairs agree: a weight is its pair's weight, a scale one of its pair's scales.
    if (role == "weight") {
      REQUIRE(pairs.at(static_cast<size_t>(pair))["weight"] == row["name"]);
    } else if (role == "scale") {
      size_t found = 0;
      for (const Json& scale : pairs.at(static_cast<size_t>(pair))["scales"]) found += scale["name"] == row["name"];
      REQUIRE(found == 1);
    } else {
      REQUIRE(pair == -1);
      if (role != "parameter")
        result.roles += (result.roles.empty() ? "" : " ") + row["name"].get<std::string>() + ":" + role;
    }
  }
  REQUIRE(pump.session.report() == Reply::ok);
  result.report = Json::parse(pump.session.reply());
  return result;
}

struct Row {
  const char* name;
  std::vector<TensorSpec> tensors;
  std::vector<std::string> pairs;
  std::string roles = "";
  std::string config = {};
  oracle::Strings metadata = {};
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.name);
    const Opened result = opened(row.tensors, row.config, row.metadata);
    CHECK(result.pairs == row.pairs);
    CHECK(result.roles == row.roles);
  }
}

const std::string kFp8Config = R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}})";

}  // namespace

TEST_CASE("pairs: every spelling of a scale") {
  check({
      {"scale_weight",
       {fp8("a.weight"), scalar("a.scale_weight")},
       {"a.weight fp8_scaled per_tensor ok a.scale_weight []"}},
      {"qscale_weight",
       {fp8("a.weight"), scalar("a.qscale_weight")},
       {"a.weight fp8_scaled per_tensor ok a.qscale_weight []"}},
      {"weight_scale_inv",
       {fp8("a.weight"), scalar("a.weight_scale_inv")},
       {"a.weight fp8_scaled per_tensor ok a.weight_scale_inv []"}},
      {"weight_scale",
       {fp8("a.weight"), scalar("a.weight_scale")},
       {"a.weight fp8_scaled per_tensor ok a.weight_scale []"}},
      {"T_scale_inv",
       {fp8("e.down_proj"), scalar("e.down_proj_scale_inv")},
       {"e.down_proj fp8_scaled per_tensor ok e.down_proj_scale_inv []"}},
      {"T_scale",
       {fp8("e.down_proj"), scalar("e.down_proj_scale")},
       {"e.down_proj fp8_scaled per_tensor ok e.down_proj_scale []"}},
      {".scale",
       {fp8("a.weight"), tensor("a.scale", Dtype::F8_E8M0, {1, 1})},
       {"a.weight fp8_scaled per_tensor ok a.scale []"}},
      {"bf16",
       {fp8("a.weight"), tensor("a.weight_scale", Dtype::BF16, {4, 1})},
       {"a.weight fp8_scaled per_row ok a.weight_scale []"}},
      {"f16",
       {fp8("a.weight"), tensor("a.weight_scale", Dtype::F16, {})},
       {"a.weight fp8_scaled per_tensor ok a.weight_scale []"}},
      {"u8 is an exponent",
       {fp8("a.weight", {4, 64}), tensor("a.weight_scale_inv", Dtype::U8, {4, 2})},
       {"a.weight fp8_scaled group noted a.weight_scale_inv [assumed_block_size]"}},
      {"e5m2",
       {tensor("a.weight", Dtype::F8_E5M2, {2}), scalar("a.weight_scale")},
       {"a.weight fp8_scaled per_tensor ok a.weight_scale []"}},
      {"fnuz",
       {tensor("a.weight", Dtype::F8_E4M3FNUZ, {2}), scalar("a.weight_scale")},
       {"a.weight fp8_scaled per_tensor ok a.weight_scale []"}},
  });
}

TEST_CASE("pairs: names that are also parameters") {
  const auto bf16 = [](const char* name) { return tensor(name, Dtype::BF16, {6}); };
  check({
      {"norm.scale of a plain model", {bf16("n.query_norm.scale"), bf16("n.weight")}, {}},
      {"norm.scale beside a plain weight", {bf16("norm.scale"), bf16("norm.weight")}, {}},
      {"norm.scale in a quantized model",
       {fp8("a.weight"), scalar("a.weight_scale"), bf16("norm.scale"), bf16("norm.weight")},
       {"a.weight fp8_scaled per_tensor ok a.weight_scale []"}},
      {"layer_scale, logit_scale",
       {fp8("a.weight"), scalar("a.weight_scale"), bf16("layer_scale"), bf16("x.logit_scale"), bf16("layer")},
       {"a.weight fp8_scaled per_tensor ok a.weight_scale []"}},
      {"input_scale of a plain model stays", {bf16("input_scale"), bf16("x.input_scale"), bf16("x.k_scale")}, {}},
      {"an integer named like a scale", {tensor("a.weight_scale", Dtype::I64, {1})}, {}},
  });
}

TEST_CASE("pairs: what has no partner") {
  check({
      {"an orphan",
       {scalar("a.weight_scale"), tensor("b", Dtype::BF16, {2})},
       {"a.weight fp8_scaled none undecided a.weight_scale [scale_orphan]"}},
      {"an orphan beside a pair",
       {fp8("b.weight"), scalar("b.weight_scale"), scalar("a.scale_weight")},
       {"b.weight fp8_scaled per_tensor ok b.weight_scale []",
        "a.weight fp8_scaled none undecided a.scale_weight [scale_orphan]"}},
      {"an fp8 orphan",
       {fp8("a.weight_scale", {2})},
       {"a.weight fp8_scaled none undecided a.weight_scale [scale_orphan]"}},
      {"plain fp8",
       {fp8("a.weight"), fp8("b.weight")},
       {"a.weight fp8_unscaled none noted [unscaled_fp8]", "b.weight fp8_unscaled none noted [unscaled_fp8]"}},
      {"one scale of two lost",
       {fp8("a.weight"), fp8("b.weight"), scalar("b.weight_scale")},
       {"a.weight fp8_unscaled none undecided [scale_missing]", "b.weight fp8_scaled per_tensor ok b.weight_scale []"}},
      {"a marker promises scales",
       {fp8("a.weight"), tensor("scaled_fp8", Dtype::F8_E4M3, {0})},
       {"a.weight fp8_unscaled none undecided [scale_missing]"},
       "scaled_fp8:marker"},
      {"the config promises scales",
       {fp8("a.weight")},
       {"a.weight fp8_unscaled none undecided [scale_missing]"},
       "",
       kFp8Config},
  });
}

TEST_CASE("pairs: a single file that is named like a shard") {
  Pump pump({oracle::file_of({fp8("a.weight")})});
  pump.session.add_source("model-00001-of-00002.safetensors", pump.sources[0].size());
  REQUIRE(pump.run(JobKind::inspect) == JobStep::done);
  const Json pairs = page(pump, &Session::pairs);
  REQUIRE(pairs.size() == 1);
  CHECK(line_of(pairs[0]) == "a.weight fp8_unscaled none undecided [scale_missing]");
  CHECK_THAT(pairs[0]["issues"][0]["message"].get<std::string>(), Catch::Contains("another shard"));
}

TEST_CASE("pairs: scales that cannot be right") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  check({
      {"two scales",
       {fp8("a.weight"), scalar("a.weight_scale"), scalar("a.scale_weight")},
       {"a.weight fp8_scaled none refused a.weight_scale a.scale_weight [scale_conflict]"}},
      {"no shape that fits",
       {fp8("a.weight"), f32_tensor("a.weight_scale", {5}, {1, 1, 1, 1, 1})},
       {"a.weight fp8_scaled unknown refused a.weight_scale [scale_shape_mismatch]"}},
      {"a scale in fp8",
       {fp8("a.weight"), fp8("a.weight_scale", {})},
       {"a.weight fp8_scaled none refused a.weight_scale [scale_dtype_unknown]"}},
      {"a scale in fp8 that comes first",
       {fp8("a.scale_weight", {}), fp8("a.weight")},
       {"a.weight fp8_scaled none refused a.scale_weight [scale_dtype_unknown]"}},
      {"a scale of a scale",
       {fp8("a"), fp8("a_scale", {}), fp8("a_scale_scale", {})},
       {"a fp8_scaled none refused a_scale [scale_dtype_unknown]",
        "a_scale_scale fp8_unscaled none undecided [scale_missing]"}},
      {"an integer scale",
       {fp8("a.weight"), tensor("a.weight_scale", Dtype::I64, {})},
       {"a.weight fp8_scaled none refused a.weight_scale [scale_dtype_unknown]"}},
      {"zero, negative, infinite, NaN",
       {fp8("a.weight"), f32_tensor("a.weight_scale", {4}, {0, -1, inf, nan})},
       {"a.weight fp8_scaled per_row undecided a.weight_scale [scale_zero scale_negative scale_infinite scale_nan]"}},
      {"E8M0 255 is NaN",
       {fp8("a.weight"), TensorSpec{"a.weight_scale", Dtype::F8_E8M0, {1}, {255}}},
       {"a.weight fp8_scaled per_tensor undecided a.weight_scale [scale_nan]"}},
      {"parts that cannot be equal",
       {fp8("qkv_proj.weight", {5, 2}), f32_tensor("qkv_proj.weight_scale", {3}, {1, 1, 1})},
       {"qkv_proj.weight fp8_scaled unknown undecided qkv_proj.weight_scale [scale_shape_ambiguous]"}},
  });
}

TEST_CASE("pairs: a scale beside a weight that is not quantized") {
  const auto plain = tensor("a.weight", Dtype::BF16, {4, 6});
  check({
      {"dummy",
       {plain, scalar("a.weight_scale", 1)},
       {"a.weight scaled_float per_tensor noted a.weight_scale [dummy_scale]"}},
      {"not a dummy",
       {plain, scalar("a.weight_scale", 2)},
       {"a.weight scaled_float per_tensor undecided a.weight_scale [scale_on_float_weight]"}},
      {"rows of ones",
       {plain, f32_tensor("a.scale_weight", {4}, {1, 1, 1, 1})},
       {"a.weight scaled_float per_row noted a.scale_weight [dummy_scale]"}},
      {"rows, one of them not",
       {plain, f32_tensor("a.scale_weight", {4}, {1, 1, 1, 3})},
       {"a.weight scaled_float per_row undecided a.scale_weight [scale_on_float_weight]"}},
      {"NaN",
       {plain, scalar("a.weight_scale", std::numeric_limits<float>::quiet_NaN())},
       {"a.weight scaled_float per_tensor undecided a.weight_scale [scale_on_float_weight]"}},
  });
}

TEST_CASE("pairs: what never touches a weight is left out, in a quantized model") {
  std::vector<TensorSpec> tensors = {fp8("a.weight"), scalar("a.weight_scale")};
  std::string roles;
  for (const char* const name :
       {"scale_input", "input_scale", "act_scale", "activation_scale", "x_activation_scale", "qscale_act",
        "input_scale_ub", "input_global_scale", "input_absmax", "output_scale"}) {
    tensors.push_back(scalar(std::string("a.") + name));
    roles += std::string(roles.empty() ? "" : " ") + "a." + name + ":activation_scale";
  }
  for (const char* const name : {"k_scale", "v_scale", "q_scale", "kv_scale", "prob_output_scale"}) {
    tensors.push_back(scalar(std::string("a.") + name));
    roles += std::string(" a.") + name + ":kv_scale";
  }
  check({{"all of them", tensors, {"a.weight fp8_scaled per_tensor ok a.weight_scale []"}, roles}});
}

TEST_CASE("pairs: markers") {
  const std::string e4m3 = R"({"format": "float8_e4m3fn"})";
  check({
      {"scaled_fp8, empty and prefixed",
       {fp8("m.a.weight"), scalar("m.a.scale_weight"), tensor("m.scaled_fp8", Dtype::F8_E4M3, {0}),
        tensor("scaled_fp8", Dtype::F32, {2})},
       {"m.a.weight fp8_scaled per_tensor ok m.a.scale_weight []"},
       "m.scaled_fp8:marker scaled_fp8:marker"},
      {"comfy_quant",
       {fp8("a.weight"), scalar("a.weight_scale"), text("a.comfy_quant", e4m3)},
       {"a.weight fp8_scaled per_tensor ok a.weight_scale []"},
       "a.comfy_quant:marker"},
      {"a marker and no scale",
       {fp8("a.weight"), text("a.comfy_quant", e4m3)},
       {"a.weight fp8_unscaled none undecided [scale_missing]"},
       "a.comfy_quant:marker"},
      {"e5m2 labelled e4m3",
       {tensor("a.weight", Dtype::F8_E5M2, {4}), scalar("a.weight_scale"),
        text("a.comfy_quant", R"({"format":"float8_e5m2"})")},
       {"a.weight fp8_scaled per_tensor ok a.weight_scale []"},
       "a.comfy_quant:marker"},
      {"e4m3 labelled e5m2",
       {fp8("a.weight"), scalar("a.weight_scale"), text("a.comfy_quant", R"({"format":"float8_e5m2"})")},
       {"a.weight fp8_scaled per_tensor noted a.weight_scale [marker_conflict]"},
       "a.comfy_quant:marker"},
      {"a format nobody knows",
       {fp8("a.weight"), scalar("a.weight_scale"), text("a.comfy_quant", R"({"format":"float3"})")},
       {"a.weight unknown_marker none refused a.weight_scale [scheme_unsupported]"},
       "a.comfy_quant:marker"},
      {"the metadata's markers win",
       {fp8("a.weight"), scalar("a.weight_scale"), text("a.comfy_quant", R"({"format":"float3"})")},
       {"a.weight fp8_scaled per_tensor ok a.weight_scale []"},
       "a.comfy_quant:marker",
       {},
       {{"_quantization_metadata", R"({"layers":{"a":{"format":"float8_e4m3fn"}}})"}}},
      {"blockwise by group_size",
       {fp8("a.weight", {96, 100}), tensor("a.weight_scale", Dtype::F32, {2, 2}),
        text("a.comfy_quant", R"({"format":"float8_e4m3fn_blockwise","params":{"group_size":50}})")},
       {"a.weight fp8_scaled block ok a.weight_scale []"},
       "a.comfy_quant:marker"},
  });
}

TEST_CASE("pairs: a packed payload shares its scale with no other, and has but one") {
  const auto i8 = tensor("a.weight", Dtype::I8, {4, 6});
  check({
      {"the scale is the other payload's",
       {tensor("a.qweight", Dtype::I32, {1}), tensor("a.qzeros", Dtype::I32, {1}),
        tensor("a.scales", Dtype::U8, {1, 1}), tensor("a.blocks", Dtype::U8, {1, 1, 1, 16})},
       {"a.qweight gptq_or_awq none refused a.qzeros a.scales [payload_shape_mismatch]"}},
      {"the scale is a payload",
       {tensor("x_scales", Dtype::F4, {2}), tensor("x_blocks", Dtype::U8, {1, 1, 1, 16})},
       {"x_scales fp4_native none ok []"}},
      {"int8 with two scales",
       {i8, scalar("a.weight_scale"), scalar("a.scale_weight")},
       {"a.weight int8 per_tensor refused a.weight_scale a.scale_weight [scale_conflict]"}},
      {"fp8 that is marked int8",
       {fp8("a.weight"), scalar("a.weight_scale"), text("a.comfy_quant", R"({"format":"int8_tensorwise"})")},
       {"a.weight int8 none refused a.weight_scale [scheme_unsupported]"},
       "a.comfy_quant:marker"},
      {"fp8 that is marked int8 and has no scale",
       {fp8("a.weight"), text("a.comfy_quant", R"({"format":"int8_tensorwise"})")},
       {"a.weight int8 none refused [scheme_unsupported]"},
       "a.comfy_quant:marker"},
      {"bf16 that is marked nvfp4",
       {tensor("a.weight", Dtype::BF16, {4, 8}), fp8("a.weight_scale", {4, 1}),
        text("a.comfy_quant", R"({"format":"nvfp4"})")},
       {"a.weight nvfp4 none refused a.weight_scale [scheme_unsupported]"},
       "a.comfy_quant:marker"},
  });
}

TEST_CASE("pairs: fp8 codes in a U8 container") {
  const auto bytes = tensor("a.weight", Dtype::U8, {4, 6});
  const Row rows[] = {
      {"nothing says what they are",
       {bytes, scalar("a.weight_scale")},
       {"a.weight fp8_scaled per_tensor undecided a.weight_scale [layout_undecided]"}},
      {"the config does",
       {bytes, scalar("a.weight_scale")},
       {"a.weight fp8_scaled per_tensor ok a.weight_scale []"},
       "",
       kFp8Config},
      {"a marker does",
       {bytes, scalar("a.weight_scale"), text("a.comfy_quant", R"({"format":"float8_e5m2"})")},
       {"a.weight fp8_scaled per_tensor ok a.weight_scale []"},
       "a.comfy_quant:marker"},
  };
  check({rows[0], rows[1], rows[2]});
  Pump pump({oracle::file_of(rows[2].tensors)});
  REQUIRE(pump.open() == JobStep::done);
  CHECK_THAT(page(pump, &Session::pairs)[0]["formula"].get<std::string>(), Catch::Contains("e5m2(code)"));
}

TEST_CASE("config: a method, blocks, and what is no config at all") {
  const Opened blocks =
      opened({fp8("a.weight", {200, 200}), tensor("a.weight_scale_inv", Dtype::F32, {2, 2})}, kFp8Config);
  CHECK(blocks.pairs[0] == "a.weight fp8_scaled block ok a.weight_scale_inv []");
  CHECK(blocks.report["config"][0]["says"] == "quant_method fp8, blocks of 128 x 128");
  const Opened nested = opened(
      {fp8("a.weight", {200, 200}), tensor("a.weight_scale_inv", Dtype::F32, {4, 4})},
      R"({"text_config":{"quantization_config":{"quant_method":"fp8","fmt":"e4m3","weight_block_size":[64,64]}}})");
  CHECK(nested.pairs[0] == "a.weight fp8_scaled block ok a.weight_scale_inv []");
  CHECK(nested.report["config"][0]["says"] == "quant_method fp8, format e4m3, blocks of 64 x 64");
  for (const char* const odd : {R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[0,128]}})",
                                R"({"quantization_config":{"quant_method":"fp8","weight_block_size":[128]}})",
                                R"({"quantization_config":{"quant_method":"fp8","weight_block_size":null}})",
                                R"({"quantization_config":{"quant_method":5,"weight_block_size":["a",1.5]}})",
                                R"({"quantization_config":[]})"}) {
    INFO(odd);
    const Opened result = opened({fp8("a.weight", {200, 200}), tensor("a.weight_scale_inv", Dtype::F32, {2, 2})}, odd);
    CHECK(result.pairs[0] == "a.weight fp8_scaled block noted a.weight_scale_inv [assumed_block_size]");
  }
  for (const char* const broken : {"[]", "{", "\xFF", "nonsense"}) {
    const Opened result = opened({fp8("a.weight")}, broken);
    REQUIRE(result.report["warnings"].size() == 1);
    CHECK(result.report["warnings"][0]["code"] == "config_not_json");
  }
}
