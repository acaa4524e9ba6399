// Who reads this file correctly: the table is sound, every row of it is reached by the smallest file that it speaks of,
// and files that others made get the answers that their makers report.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "oracle/pump.h"
#include "readers/readers.h"

using namespace wb;
using oracle::f32_tensor;
using oracle::Pump;
using oracle::TensorSpec;
using Json = nlohmann::json;

namespace {

using Tensors = std::vector<TensorSpec>;

TensorSpec filled(const std::string& name, Dtype dtype, std::vector<uint64_t> shape) {
  TensorSpec each{name, dtype, std::move(shape), {}};
  each.bytes.assign(oracle::element_count(each) * dtype_info(dtype).bits / 8, 0x38);
  return each;
}
TensorSpec fp8(std::vector<uint64_t> shape = {4, 6}, const std::string& name = "a.weight") {
  return filled(name, Dtype::F8_E4M3, std::move(shape));
}
TensorSpec ones(const std::string& name, std::vector<uint64_t> shape) {
  TensorSpec each{name, Dtype::F32, std::move(shape), {}};
  return f32_tensor(name, each.shape, std::vector<float>(oracle::element_count(each), 0.5f));
}
TensorSpec text(const std::string& name, const std::string& content) {
  return {name, Dtype::U8, {content.size()}, oracle::Bytes(content.begin(), content.end())};
}
TensorSpec marker(const std::string& format, const std::string& more = "") {
  return text("a.comfy_quant", R"({"format":")" + format + "\"" + more + "}");
}
TensorSpec legacy() { return {"scaled_fp8", Dtype::F8_E4M3, {0}, {}}; }
TensorSpec of_family(const std::string& name) { return filled(name, Dtype::BF16, {2}); }

const TensorSpec kKrea2 = of_family("txtfusion.projector.weight");
const TensorSpec kFlux2 = of_family("double_stream_modulation_img.lin.weight");
const TensorSpec kZImage = of_family("cap_pad_token");
const TensorSpec kQwen = of_family("model.diffusion_model.txt_norm.weight");
const TensorSpec kWan = of_family("blocks.0.cross_attn.norm_k.weight");

Tensors nvfp4(const Tensors& more = {}) {
  Tensors all{filled("a.weight", Dtype::U8, {16, 8}), filled("a.weight_scale", Dtype::F8_E4M3, {128, 4}),
              ones("a.weight_scale_2", {})};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
Tensors mxfp8(const Tensors& more = {}) {
  Tensors all{fp8({128, 128}), filled("a.weight_scale", Dtype::U8, {128, 4}), marker("mxfp8")};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
TensorSpec i8(std::vector<uint64_t> shape) { return filled("a.weight", Dtype::I8, std::move(shape)); }
Tensors gptq(bool index = true) {
  Tensors all{filled("a.qweight", Dtype::I32, {4, 8}), filled("a.qzeros", Dtype::I32, {1, 1}),
              filled("a.scales", Dtype::F16, {1, 8})};
  if (index) all.push_back(filled("a.g_idx", Dtype::I32, {32}));
  return all;
}
const Tensors kAwq{filled("a.qweight", Dtype::I32, {32, 1}), filled("a.qzeros", Dtype::I32, {1, 1}),
                   filled("a.scales", Dtype::F16, {1, 8})};
Tensors packed(uint64_t groups) {
  TensorSpec shape{"a.weight_shape", Dtype::I64, {2}, oracle::Bytes(16, 0)};
  shape.bytes[0] = 4;
  shape.bytes[8] = 64;
  return {filled("a.weight_packed", Dtype::I32, {4, 8}), filled("a.weight_scale", Dtype::BF16, {4, groups}), shape};
}
const Tensors kBnbInt8{i8({4, 8}), ones("a.SCB", {4}), filled("a.weight_format", Dtype::U8, {})};
const Tensors kGptOss{filled("e.down_proj_blocks", Dtype::U8, {2, 4, 1, 16}),
                      filled("e.down_proj_scales", Dtype::U8, {2, 4, 1})};

std::string config(const std::string& method, const std::string& more = "") {
  return R"({"quantization_config":{"quant_method":")" + method + "\"" + more + "}}";
}
const std::string kFp8 = config("fp8");
const std::string kBlocks = config("fp8", R"(,"weight_block_size":[128,128])");
const std::string kCompressed = config("compressed-tensors", R"(,"format":"float-quantized")");
const std::string kPacked =
    config("compressed-tensors",
           R"(,"format":"pack-quantized","config_groups":{"group_0":{"weights":{"num_bits":4,"group_size":32}}})");

Tensors block(const std::string& suffix, std::vector<uint64_t> shape = {256, 128}) {
  const std::vector<uint64_t> grid{(shape[0] + 127) / 128, (shape[1] + 127) / 128};
  return {fp8(std::move(shape)), ones("a" + suffix, grid)};
}

/// The smallest file that a row of the table speaks of.
struct Row {
  const char* rule;
  Tensors tensors;
  std::string config = {};
};

Json report_of(const std::vector<oracle::Bytes>& files, const std::string& side) {
  Pump pump(files);
  REQUIRE(pump.open(side) == JobStep::done);
  REQUIRE(pump.session.report() == Reply::ok);
  return Json::parse(pump.session.reply());
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"plain", {filled("a.weight", Dtype::BF16, {2, 2})}},
      {"comfyui.plain_fp8", {fp8()}},
      {"comfyui_2025.no_marker", {fp8(), ones("a.scale_weight", {})}},
      {"comfyui_2025.scale_weight", {fp8(), ones("a.scale_weight", {}), legacy()}},
      {"comfyui_2025.groups", {fp8({4, 64}), ones("a.scale_weight", {4, 2, 1}), legacy()}},
      {"comfyui_2025.weight_scale", {fp8(), ones("a.weight_scale", {})}},
      {"comfyui_2025.scaled_float", {filled("a.weight", Dtype::BF16, {2, 2}), ones("a.scale_weight", {})}},
      {"comfyui.legacy_e5m2", {filled("a.weight", Dtype::F8_E5M2, {2, 2}), ones("a.scale_weight", {}), legacy()}},
      {"comfyui.legacy", {fp8(), ones("a.scale_weight", {}), legacy()}},
      {"comfyui.marked", {fp8(), ones("a.weight_scale", {}), marker("float8_e4m3fn")}},
      {"comfyui.no_marker", {fp8(), ones("a.weight_scale", {})}},
      {"comfyui.many_scales", {fp8(), ones("a.weight_scale", {4, 1}), marker("float8_e4m3fn")}},
      {"comfyui.scaled_float", {filled("a.weight", Dtype::BF16, {2, 2}), ones("a.scale_weight", {}), legacy()}},
      {"comfyui_2026.micro", nvfp4({marker("nvfp4")})},
      {"comfyui.nvfp4", nvfp4({marker("nvfp4")})},
      {"comfyui.nvfp4_unmarked", nvfp4()},
      {"comfyui.mxfp8", mxfp8()},
      {"comfyui.int8_blocks",
       {i8({130, 2}), ones("a.weight_scale", {2, 1}), marker("int8_blockwise", R"(,"group_size":128)")}},
      {"comfyui.int8", {i8({2, 2}), ones("a.weight_scale", {2, 1}), marker("int8_tensorwise")}},
      {"comfyui_2026.int8", {i8({2, 2}), ones("a.weight_scale", {2, 1}), marker("int8_tensorwise")}},
      {"comfyui.int8_unmarked", {i8({2, 2}), ones("a.weight_scale", {2, 1})}},
      {"comfyui.int4",
       {i8({4, 64}), filled("a.weight_scale", Dtype::BF16, {2, 4}), filled("a.weight_zeros", Dtype::BF16, {2, 4}),
        marker("awq_w4a16")}},

      {"invokeai.krea2_scale_weight", {fp8(), ones("a.scale_weight", {}), kKrea2}},
      {"invokeai.flux2_scale_weight", {fp8(), ones("a.scale_weight", {}), kFlux2}},
      {"invokeai.z_image_scale_weight", {fp8(), ones("a.scale_weight", {}), kZImage}},
      {"invokeai.flat_square", {fp8({4, 4}), ones("a.weight_scale", {4}), kKrea2}},
      {"invokeai.flat", {fp8(), ones("a.weight_scale", {4}), kFlux2}},
      {"invokeai.krea2_blocks", {fp8({256, 128}), ones("a.weight_scale", {2, 1}), kKrea2}},
      {"invokeai.krea2", {fp8(), ones("a.weight_scale", {}), kKrea2}},
      {"invokeai.ragged", {fp8({130, 129}), ones("a.weight_scale", {2, 2}), kFlux2}},
      {"invokeai.flux2", {fp8(), ones("a.weight_scale", {}), kFlux2}},
      {"invokeai.qwen_wan", {fp8(), ones("a.scale_weight", {}), kQwen}},
      {"invokeai.nvfp4", nvfp4({kWan})},
      {"invokeai.scaled_float", {filled("a.weight", Dtype::BF16, {2, 2}), ones("a.weight_scale", {}), kQwen}},
      {"invokeai_9478.skipped", {fp8({4, 6}, "norm.weight"), ones("norm.weight_scale", {}), kKrea2}},
      {"invokeai_9478.both", {fp8(), ones("a.scale_weight", {}), kZImage}},
      {"wan_wrapper.scaled", {fp8(), ones("a.scale_weight", {}), kWan}},
      {"wan_wrapper.micro", nvfp4({kWan})},
      {"comfyui_gguf.scaled", {fp8(), ones("a.scale_weight", {})}},
      {"comfyui_gguf.plain_fp8", {fp8()}},
      {"sdcpp_old.scaled", {fp8(), ones("a.weight_scale", {})}},
      {"sdcpp.plain_fp8", {fp8()}},
      {"sdcpp_old.dtypes", {i8({2, 2}), ones("a.weight_scale", {})}},
      {"sdcpp_old.bytes", nvfp4()},
      {"sdcpp.scaled", {fp8(), ones("a.weight_scale", {})}},
      {"sdcpp.rows", {fp8(), ones("a.weight_scale", {4, 1})}},
      {"sdcpp.int8", {i8({2, 2}), ones("a.weight_scale", {2, 1}), marker("int8_tensorwise")}},
      {"sglang_diffusion.mxfp8", mxfp8()},
      {"diffusers.bnb", kBnbInt8, config("bitsandbytes")},
      {"diffusers.fp8", {fp8(), ones("a.weight_scale_inv", {})}, kFp8},

      {"transformers.no_config", {fp8(), ones("a.weight_scale_inv", {})}},
      {"transformers_old.fp8", {fp8(), ones("a.weight_scale_inv", {})}, kFp8},
      {"transformers.blocks", block(".weight_scale_inv"), kBlocks},
      {"transformers.scalar", {fp8(), ones("a.weight_scale_inv", {})}, kFp8},
      {"transformers_dequantize.ragged", block(".weight_scale_inv", {130, 129}), kBlocks},
      {"transformers_dequantize.blocks", block(".weight_scale_inv"), kBlocks},
      {"transformers.listed", gptq(), config("gptq")},
      {"transformers.mxfp4", kGptOss, config("mxfp4")},
      {"vllm_old.exponents", {fp8({2, 130}), filled("a.scale", Dtype::F8_E8M0, {1, 2})}, kBlocks},
      {"vllm.exponents", {fp8({2, 130}), filled("a.scale", Dtype::F8_E8M0, {1, 2})}, kBlocks},
      {"vllm.blocks", block(".weight_scale_inv"), kBlocks},
      {"vllm.scalar", {fp8(), ones("a.weight_scale", {})}, kFp8},
      {"vllm.modelopt", {fp8(), ones("a.weight_scale", {})}, config("modelopt")},
      {"vllm.listed", kAwq, config("awq")},
      {"sglang.no_config", block(".weight_scale_inv")},
      {"sglang.listed", block(".weight_scale_inv"), kBlocks},
      {"sglang.mxfp4", kGptOss, config("mxfp4")},
      {"llama_cpp.no_config", {fp8(), ones("a.weight_scale", {})}},
      {"llama_cpp.fp8", block(".weight_scale_inv"), kBlocks},
      {"llama_cpp.fp8_names", {fp8(), ones("a.weight_scale", {})}, kFp8},
      {"llama_cpp.three_bits",
       {filled("a.qweight", Dtype::I32, {3, 32}), filled("a.qzeros", Dtype::I32, {1, 3}),
        filled("a.scales", Dtype::F16, {1, 32}), filled("a.g_idx", Dtype::I32, {32})},
       config("gptq", R"(,"bits":3)")},
      {"llama_cpp.gptq", gptq(), config("gptq", R"(,"bits":4)")},
      {"llama_cpp.gptq_index", gptq(false), config("gptq", R"(,"bits":4)")},
      {"llama_cpp.compressed_tensor", {fp8(), ones("a.weight_scale", {})}, kCompressed},
      {"llama_cpp.compressed", {fp8(), ones("a.weight_scale", {4, 1})}, kCompressed},
      {"llama_cpp.packed", packed(2), kPacked},
      {"llama_cpp.packed_rows", packed(1), kPacked},
      {"llama_cpp.modelopt_fp8", {fp8(), ones("a.weight_scale", {})}, config("modelopt")},
      {"llama_cpp.methods", kAwq, config("awq")},
      {"gptqmodel.gptq", gptq(), config("gptq")},
      {"gptqmodel.awq", kAwq, config("awq")},
      {"bitsandbytes.own", kBnbInt8},
      {"deepseek_cast.blocks", block(".weight_scale_inv")},
      {"deepseek_cast.bytes", {i8({2, 2}), ones("a.weight_scale_inv", {})}},
      {"deepseek_cast.other_names", {fp8(), ones("a.weight_scale", {})}},
      {"load_file.scaled", {fp8(), ones("a.weight_scale", {})}},
      {"load_file.plain_fp8", {fp8()}},
      {"load_file.codes", nvfp4()},
  };
  return all;
}

std::set<std::string> words(std::string_view list) {
  std::set<std::string> all;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(' ', begin), list.size());
    all.insert(std::string(list.substr(begin, end - begin)));
    begin = end + 1;
  }
  return all;
}

}  // namespace

TEST_CASE("readers: the table is sound") {
  std::set<std::string> schemes_known{std::string(kPlainScheme)}, scales_known{"-"}, readers_known, ids;
  const std::set<std::string> families_known{"krea2", "flux2", "z_image", "qwen_image", "wan"};
  for (const Scheme& each : schemes()) schemes_known.emplace(each.id);
  for (const ScaleRule& each : scale_rules()) scales_known.emplace(each.suffix);
  for (const Reader& each : readers()) {
    INFO(each.id);
    CHECK(readers_known.emplace(each.id).second);
    CHECK_FALSE(each.title.empty());
    CHECK_FALSE(each.versions.empty());
  }
  const auto check_words = [](std::string_view list, const std::set<std::string>& known) {
    for (const std::string& word : words(list)) CHECK(known.count(word) == 1);
  };
  std::set<std::string> with_rules;
  for (const ReaderRule& rule : reader_rules()) {
    INFO(rule.id);
    CHECK(ids.emplace(rule.id).second);
    CHECK_FALSE(rule.readers.empty());
    check_words(rule.readers, readers_known);
    check_words(rule.when.schemes, schemes_known);
    check_words(rule.when.scales, scales_known);
    check_words(rule.when.families, families_known);
    CHECK((rule.when.all & rule.when.none) == 0);
    CHECK((rule.answer == ReadAnswer::reads_right) == (rule.outcome == ReadOutcome::correct));
    CHECK((rule.answer == ReadAnswer::unknown) == (rule.outcome == ReadOutcome::unknown));
    CHECK((!rule.says.empty() && rule.says.back() == '.'));
    CHECK(rule.source.url.substr(0, 8) == "https://");
    CHECK_FALSE(rule.source.place.empty());
    CHECK_FALSE(condition_text(rule).empty());
    if (rule.when.schemes != kPlainScheme) with_rules.merge(words(rule.readers));
  }
  CHECK(with_rules == readers_known);
}

TEST_CASE("readers: every row of the table is reached by its smallest file") {
  std::set<std::string> left;
  for (const ReaderRule& rule : reader_rules()) left.emplace(rule.id);
  for (const Row& row : rows()) {
    INFO(row.rule);
    const Json report = report_of({oracle::file_of(row.tensors)}, row.config);
    REQUIRE(report["readers"].size() == readers().size());
    bool hit = false;
    for (const Json& reader : report["readers"]) {
      for (const Json& finding : reader["findings"]) hit = hit || finding.value("rule", "") == row.rule;
    }
    if (!hit) UNSCOPED_INFO(report["schemes"].dump() << report["problems"].dump());
    CHECK(hit);
    CHECK(left.erase(row.rule) == 1);
  }
  CHECK(left == std::set<std::string>{});
}

TEST_CASE("readers: a file of several schemes gets the worst answer, with the weights it concerns") {
  const Json report =
      report_of({oracle::file_of({fp8({4, 6}, "a.weight"), ones("a.weight_scale", {}),
                                  text("a.comfy_quant", R"({"format":"float8_e4m3fn"})"), fp8({4, 6}, "b.weight"),
                                  ones("b.weight_scale", {}), fp8({4, 6}, "c.weight"), ones("c.weight_scale", {})})},
                {});
  const Json& reader = report["readers"][2];
  REQUIRE(reader["reader"] == "comfyui");
  CHECK(reader["answer"] == "reads_wrong");
  REQUIRE(reader["findings"].size() == 2);
  CHECK(reader["findings"][0]["rule"] == "comfyui.no_marker");
  CHECK(reader["findings"][0]["weights"] == 2);
  CHECK(reader["findings"][0]["example"] == "b.weight");
  CHECK(reader["findings"][0]["outcome"] == "scale_ignored");
  CHECK(reader["findings"][0]["because"] == "scheme fp8_scaled; no marker names the layer; no scaled_fp8 marker");
  CHECK(reader["findings"][1]["rule"] == "comfyui.marked");
  CHECK(reader["findings"][1]["weights"] == 1);
  CHECK(reader["findings"][1]["source"]["url"].get<std::string>().substr(0, 8) == "https://");
}

TEST_CASE("readers: what no row speaks of is unknown, and says nothing") {
  const Json report =
      report_of({oracle::file_of({filled("a.W_q", Dtype::U8, {4, 8}), filled("a.scale", Dtype::F16, {4, 1}),
                                  filled("a.zero", Dtype::F16, {4, 1})})},
                {});
  for (const Json& reader : report["readers"]) {
    INFO(reader["reader"]);
    CHECK(reader["answer"] == "unknown");
    CHECK(reader["findings"][0]["outcome"] == "unknown");
    CHECK_FALSE(reader["findings"][0].contains("rule"));
    CHECK_FALSE(reader["findings"][0].contains("says"));
  }
  CHECK(report_of({oracle::file_of({})}, {})["readers"].empty());
}

TEST_CASE("readers: a name that merely ends like a family's is not that family") {
  const Json report = report_of({oracle::file_of({fp8(), ones("a.weight_scale", {}),
                                                  of_family("transformer_blocks.0.cross_attn.norm_k.weight")})},
                                {});
  for (const Json& reader : report["readers"]) {
    if (reader["reader"] == "invokeai" || reader["reader"] == "wan_wrapper") CHECK(reader["answer"] == "unknown");
  }
}

TEST_CASE("readers: files that torch, comfy-kitchen and the reporters of bugs made") {
  struct Expected {
    const char* file;
    const char* config;
    std::map<std::string, std::string> outcomes;  ///< of the worst finding, by reader
  };
  const Expected files[] = {
      {"golden/comfy_legacy.safetensors",
       "",
       {{"comfyui_2025", "correct"},
        {"comfyui", "correct"},
        {"sdcpp_old", "scale_ignored"},
        {"sdcpp", "correct"},
        {"comfyui_gguf", "scale_ignored"},
        {"load_file", "scale_ignored"},
        {"invokeai", "unknown"}}},
      {"golden/comfy_legacy_e5m2.safetensors", "", {{"comfyui_2025", "correct"}, {"comfyui", "precision_lost"}}},
      {"golden/comfy_quant.safetensors", "", {{"comfyui_2025", "unknown"}, {"comfyui", "correct"}}},
      {"golden/schemes/ck-nvfp4/model.safetensors",
       "",
       {{"comfyui", "correct"},
        {"comfyui_2026", "unknown"},
        {"sdcpp_old", "refused"},
        {"load_file", "codes_as_numbers"}}},
      {"golden/schemes/ck-int8-convrot-256/model.safetensors",
       "",
       {{"comfyui", "correct"}, {"comfyui_2026", "refused"}, {"sdcpp", "correct"}, {"sdcpp_old", "refused"}}},
      {"golden/schemes/ctq-int8-blockwise/model.safetensors", "", {{"comfyui", "refused"}}},
      {"golden/schemes/ctq-float8-block3d/model.safetensors", "", {{"comfyui", "wrong_scale"}}},
      {"cases/C01/model.safetensors", "", {{"comfyui_2025", "correct"}, {"sdcpp_old", "scale_ignored"}}},
      {"cases/C02/model.safetensors", "", {{"comfyui", "scale_ignored"}, {"sdcpp", "correct"}}},
      {"cases/C05/model.safetensors",
       "cases/C05/config.json",
       {{"vllm_old", "codes_as_numbers"}, {"vllm", "correct"}, {"deepseek_cast", "refused"}}},
      {"cases/C15/model.safetensors",
       "cases/C15/config.json",
       {{"transformers", "scale_ignored"},
        {"sglang", "refused"},
        {"llama_cpp", "refused"},
        {"deepseek_cast", "correct"}}},
      {"cases/D03/model.safetensors",
       "cases/D03/config.json",
       {{"transformers", "correct"},
        {"transformers_dequantize", "refused"},
        {"vllm", "correct"},
        {"llama_cpp", "correct"}}},
      {"cases/D13/model.safetensors", "", {{"comfyui", "correct"}, {"sglang_diffusion", "wrong_layout"}}},
      {"cases/E06/model.safetensors", "cases/E06/config.json", {{"vllm", "correct"}, {"comfyui", "crash"}}},
  };
  const auto content = [](const std::string& path) {
    std::ifstream file(std::string(WB_TEST_DIR) + "/" + path, std::ios::binary);
    REQUIRE(file.good());
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  for (const Expected& expected : files) {
    const std::string bytes = content(expected.file);
    const std::string side = *expected.config ? content(expected.config) : "";
    const Json report = report_of({oracle::Bytes(bytes.begin(), bytes.end())}, side);
    std::map<std::string, std::string> outcomes;
    for (const Json& reader : report["readers"]) outcomes[reader["reader"]] = reader["findings"][0]["outcome"];
    for (const auto& [reader, outcome] : expected.outcomes) {
      INFO(expected.file << " " << reader);
      CHECK(outcomes[reader] == outcome);
    }
  }
}
