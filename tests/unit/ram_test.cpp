// RAM: the sums, every row of the loader table, verdicts, pipelines, KV caches. The numbers are those of the issue and
// of the projects the rows were read from.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "ram/activations.h"
#include "ram/help.h"
#include "session/ram_reply.h"
#include "session/session.h"

using namespace wb;
using Json = nlohmann::json;

namespace {

Tensor tensor(const std::string& name, Dtype dtype, uint64_t elements, uint64_t begin) {
  Tensor each;
  each.name = name;
  each.dtype = dtype;
  each.shape = {elements};
  each.elements = elements;
  each.begin = begin;
  each.end = begin + elements * dtype_info(dtype).bits / 8;
  return each;
}

// `layers` fp8 weights of `size` with a scale each, and a little beside them.
Inventory fp8_layers(uint64_t layers, uint64_t size, const std::string& stem = "blocks.") {
  Inventory inventory;
  uint64_t at = 0;
  for (uint64_t i = 0; i < layers; ++i) {
    const std::string layer = stem + std::to_string(i);
    for (const Tensor& each : {tensor(layer + ".weight", Dtype::F8_E4M3, size, at),
                               tensor(layer + ".weight_scale", Dtype::F32, 1, at + size)}) {
      at = each.end;
      inventory.tensors.push_back(each);
    }
  }
  Source source;
  source.name = "m.safetensors";
  source.size_bytes = at;
  inventory.sources.push_back(source);
  REQUIRE(inventory.build_index().empty());
  return inventory;
}

LoadCase case_of(const Inventory& inventory) {
  LoadCase load;
  const Pairing pairing = find_pairs(inventory, {}, {});
  load.sums = checkpoint_sums(inventory, pairing);
  identify(inventory, pairing, load.facts);
  return load;
}

Stages stages_of(std::string_view id, const LoadCase& load) {
  const Loader* loader = find_loader(id);
  REQUIRE(loader);
  REQUIRE(loader->refusal(load).empty());
  return loader->stages(load);
}

const MemoryStage& named(const Stages& stages, std::string_view name) {
  for (const MemoryStage& stage : stages) {
    if (stage.stage == name) return stage;
  }
  FAIL("there is no stage " << name);
  return stages[0];
}

uint64_t term(const MemoryStage& stage, std::string_view name) {
  for (const MemoryTerm& each : stage.terms) {
    if (each.name == name) return each.bytes;
  }
  return 0;
}

ByteView byte_view(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

constexpr uint64_t kParameters = 12'200'000'000;
constexpr uint64_t kLayer = 61'000'000;

}  // namespace

TEST_CASE("ram: 12.2e9 one-byte parameters are 12 GB on disk, 49 as float32, 25 as bf16, 61 and 37 at the overlap") {
  LoadCase load = case_of(fp8_layers(kParameters / kLayer, kLayer));
  const WeightSums& sums = load.sums.all;
  CHECK(sums.parameters == kParameters);
  CHECK(sums.stored_bytes == kParameters + 800);
  CHECK(bytes_as(sums, HeldAs::bf16) == 2 * kParameters);
  CHECK(bytes_as(sums, HeldAs::f32) == 4 * kParameters);
  CHECK(bytes_as(sums, HeldAs::fp8) == kParameters);

  const Stages before = stages_of("invokeai_float32", load);
  CHECK(before[0].ram_bytes() == kParameters + 800);
  CHECK(term(named(before, "dequantize"), "float32_weights") == 4 * kParameters);
  CHECK(named(before, "dequantize").ram_bytes() == 5 * kParameters + 800 + 4 * kLayer);
  CHECK(named(before, "dequantize").firm_bytes() == 4 * kParameters + 4 * kLayer);
  CHECK(named(before, "resident").ram_bytes() == 2 * kParameters);

  const Stages after = stages_of("invokeai_bf16", load);
  CHECK(term(named(after, "dequantize"), "widened_weights") == 2 * kParameters);
  CHECK(named(after, "dequantize").ram_bytes() == 3 * kParameters + 800 + 8 * kLayer);
  CHECK(after.back().device_bytes() == 2 * kParameters);

  const Stages kept = stages_of("comfyui_comfy_quant", load);
  CHECK(kept.back().firm_bytes() == 0);
  CHECK(kept.back().device_bytes() == kParameters + 800 + 2 * kLayer);
  load.device = false;
  CHECK(stages_of("comfyui_comfy_quant", load).back().firm_bytes() == 2 * kLayer);
}

TEST_CASE("ram: what is not quantized is cast only where its dtype is another, and integers never") {
  Inventory inventory = fp8_layers(1, 1000);
  uint64_t at = inventory.tensors.back().end;
  for (const Tensor& each : {tensor("norm", Dtype::BF16, 500, at), tensor("ids", Dtype::I64, 10, at + 1000),
                             tensor("wide", Dtype::F32, 100, at + 1080)}) {
    inventory.tensors.push_back(each);
  }
  REQUIRE(inventory.build_index().empty());
  const LoadCase load = case_of(inventory);
  const WeightSums& sums = load.sums.all;
  CHECK(sums.parameters == 1610);
  CHECK(sums.others_bytes == 1000 + 80 + 400);
  CHECK(bytes_as(sums, HeldAs::f32) == 4 * 1600 + 80);
  CHECK(bytes_as(sums, HeldAs::stored) == 1004 + 1480);
  CHECK(others_kept(sums, HeldAs::bf16) == 1000 + 80);
  CHECK(others_cast(sums, HeldAs::bf16) == 200);
  CHECK(others_kept(sums, HeldAs::f16) == 80);
  CHECK(others_cast(sums, HeldAs::f16) == 2 * 600);

  const Stages stages = stages_of("invokeai_bf16", load);
  CHECK(term(named(stages, "resident"), "weights") == 2000 + 200);
  CHECK(term(named(stages, "resident"), "mapped_weights") == 1080);

  const WeightSums bf16 = converted(sums, HeldAs::bf16);
  CHECK(bf16.stored_bytes == 2 * 1600 + 80);
  CHECK(bf16.parameters == sums.parameters);
  CHECK(bf16.quantized == 0);
  CHECK(bytes_as(bf16, HeldAs::f32) == bytes_as(sums, HeldAs::f32));
}

TEST_CASE("ram: every row has a source, ends in a steady state, and says why it does not apply") {
  const LoadCase fp8 = case_of(fp8_layers(4, 1000));
  std::vector<std::string> ids;
  for (const Loader& row : loaders()) {
    INFO(row.id);
    CHECK(find_loader(row.id) == &row);
    CHECK_FALSE(row.title.empty());
    CHECK_FALSE(row.version.empty());
    CHECK_FALSE(row.source.empty());
    if (row.purpose != Purpose::conversion) CHECK(row.url.substr(0, 19) == "https://github.com/");
    if (!row.refusal(fp8).empty()) continue;
    const Stages stages = row.stages(fp8);
    REQUIRE_FALSE(stages.empty());
    for (const MemoryStage& stage : stages) CHECK_FALSE(stage.terms.empty());
  }
  CHECK(find_loader("nobody") == nullptr);

  const auto refuses = [](std::string_view id, const LoadCase& load) { return find_loader(id)->refusal(load); };
  LoadCase language = fp8;
  language.facts.kind = ModelKind::language_model;
  language.facts.has_config = true;
  language.facts.because = "architecture X";
  CHECK(refuses("transformers", language) ==
        "config.json says nothing about quantization, so the codes would be taken for weights");
  language.facts.quant_method = "fp8";
  CHECK(refuses("transformers", language).empty());
  CHECK(refuses("transformers_dequantize", language).empty());
  CHECK(refuses("vllm", language).empty());
  language.device = false;
  CHECK(refuses("vllm", language) == "it needs a graphics card");
  CHECK(refuses("diffusers", language) == "it does not load a language_model (architecture X)");
  language.facts.schemes = {"gptq"};
  CHECK(refuses("transformers_dequantize", language).substr(0, 21) == "dequantize=True is fo");
  CHECK(refuses("invokeai_bf16", language) == "it does not read GPTQ");

  LoadCase flux = fp8;
  flux.facts.kind = ModelKind::diffusion_model;
  flux.facts.family = "flux2";
  CHECK(refuses("vllm", flux).substr(0, 36) == "it does not load a diffusion_model (");
  CHECK(refuses("invokeai_bf16", flux) == "it is the loader of another family (krea2 z_image); this is flux2");
  CHECK(refuses("invokeai_in_place", flux).empty());
  flux.held_as = HeldAs::f32;
  CHECK(refuses("comfyui_comfy_quant", flux) == "it cannot be told to hold this checkpoint as f32");

  // Where nothing is quantized the fix changes nothing, so that converting first helps the loader without it.
  LoadCase plain = fp8;
  plain.sums.all = converted(fp8.sums.all, HeldAs::bf16);
  plain.facts.schemes.clear();
  const Stages before = stages_of("invokeai_float32", plain);
  CHECK(before.size() == stages_of("invokeai_bf16", plain).size());
  CHECK(before[highest(before, &MemoryStage::firm_bytes)].firm_bytes() == 0);
}

TEST_CASE("ram: shards, whole reads, buffers and the context") {
  LoadCase load = case_of(fp8_layers(4, 1000));
  load.facts.kind = ModelKind::language_model;
  load.facts.has_config = true;
  load.facts.quant_method = "fp8";
  load.sums.files = {load.sums.all, load.sums.all};
  load.sums.files[0].stored_bytes = 3000;
  load.sums.files[1].stored_bytes = 1016;
  load.kv_bytes = 77;
  const Stages vllm = stages_of("vllm", load);
  CHECK(term(named(vllm, "load_shards"), "one_shard") == 3000);
  CHECK(vllm.back().device_bytes() == 4016 + 77);
  CHECK(vllm.back().ram_bytes() == 0);

  const Stages bytes = stages_of("safetensors_bytes", load);
  CHECK(named(bytes, "parse").firm_bytes() == 2 * 4016);
  CHECK(named(bytes, "resident").firm_bytes() == 4016);
  CHECK(stages_of("torch_load", load)[0].firm_bytes() == 4016);

  // diffusers closes a shard of which no view is left; as stored, every one stays.
  LoadCase plain = load;
  plain.facts = {};
  for (WeightSums* sums : {&plain.sums.all, &plain.sums.files[0], &plain.sums.files[1]})
    *sums = converted(*sums, HeldAs::bf16);
  plain.sums.files[0].stored_bytes = 6000;
  plain.sums.files[1].stored_bytes = 2000;
  CHECK(term(named(stages_of("diffusers", plain), "map"), "file") == 8000);
  plain.held_as = HeldAs::f32;
  CHECK(term(named(stages_of("diffusers", plain), "map"), "file") == 6000);
  CHECK(term(named(stages_of("diffusers", plain), "map"), "weights") == 16'000);

  load.device = false;
  CHECK(term(named(stages_of("transformers", load), "in_use"), "kv_cache") == 77);
  const Stages sd = stages_of("stable_diffusion_cpp", load);
  CHECK(named(sd, "resident").firm_bytes() == 2 * 4000);
  CHECK(term(named(sd, "read"), "one_tensor") == 1000);
}

TEST_CASE("machine: each verdict at its limit, and what decides") {
  constexpr uint64_t kGb = 1'000'000'000;
  const Stages stages = {
      {"map", {{"file", TermKind::file_pages, 12 * kGb}}, {}},
      {"dequantize",
       {{"file", TermKind::file_pages, 12 * kGb},
        {"float32_weights", TermKind::anonymous, 48 * kGb},
        {"one_tensor", TermKind::transient, 1 * kGb}},
       {}},
      {"on_device", {{"weights", TermKind::anonymous, 24 * kGb}, {"device_weights", TermKind::device, 24 * kGb}}, {}}};
  struct Row {
    MachineKind kind;
    uint64_t ram, free, swap;
    std::optional<uint64_t> vram;
    bool splits;
    Fit fit;
    std::string_view pool;
    uint64_t stage, need, have, dropped;
  };
  const auto linux_like = MachineKind::linux_like;
  const Row rows[] = {
      // file pages can be dropped: 49 GB must be there
      {linux_like, 64, 61, 0, std::nullopt, true, Fit::fits, "ram", 1, 49, 61, 0},
      {linux_like, 64, 49, 0, std::nullopt, true, Fit::fits, "ram", 1, 49, 49, 12},
      {linux_like, 64, 48, 0, std::nullopt, true, Fit::fits_if_closed, "ram", 1, 49, 64, 12},
      {linux_like, 49, 22, 0, std::nullopt, true, Fit::fits_if_closed, "ram", 1, 49, 49, 12},
      {linux_like, 32, 22, 17, std::nullopt, true, Fit::will_swap, "ram", 1, 49, 49, 12},
      {linux_like, 32, 22, 16, std::nullopt, true, Fit::will_be_killed, "ram", 1, 49, 48, 12},
      {MachineKind::container, 48, 48, 0, std::nullopt, true, Fit::will_be_killed, "ram", 1, 49, 48, 12},
      // on Windows the mapping counts too: 61 GB of commit
      {MachineKind::windows, 64, 62, 0, std::nullopt, true, Fit::fits, "ram", 1, 49, 62, 0},
      {MachineKind::windows, 64, 50, 0, std::nullopt, true, Fit::fits_if_closed, "commit", 1, 61, 64, 11},
      {MachineKind::windows, 50, 50, 10, std::nullopt, true, Fit::will_be_killed, "commit", 1, 61, 60, 11},
      // one pool: 24 GB in RAM and 24 GB for the card stand in the same memory
      {MachineKind::unified, 49, 49, 0, 0, false, Fit::fits, "ram", 1, 49, 49, 12},
      {linux_like, 64, 61, 0, 24, false, Fit::fits, "ram", 1, 49, 61, 0},
      {linux_like, 64, 61, 0, 16, false, Fit::will_be_killed, "vram", 2, 24, 16, 0},
      {linux_like, 64, 61, 0, 16, true, Fit::fits, "ram", 1, 49, 61, 0},
      {MachineKind::windows, 64, 62, 0, 16, false, Fit::will_swap, "vram", 2, 24, 16, 0},
  };
  for (const Row& row : rows) {
    INFO(machine_kind_name(row.kind) << " " << row.ram << " " << row.free << " " << row.swap);
    Machine machine{row.ram * kGb, row.free * kGb, row.swap * kGb, {}, row.kind};
    if (row.vram) machine.vram_bytes = *row.vram * kGb;
    const MachineVerdict verdict = judge(stages, machine, row.splits);
    CHECK(fit_name(verdict.fit) == fit_name(row.fit));
    CHECK(verdict.pool == row.pool);
    CHECK(verdict.stage == row.stage);
    CHECK(verdict.need_bytes == row.need * kGb);
    CHECK(verdict.have_bytes == row.have * kGb);
    CHECK(verdict.dropped_bytes == row.dropped * kGb);
    CHECK(verdict.term == (row.stage == 1 ? "float32_weights" : "device_weights"));
  }
}

TEST_CASE("kv cache: grouped queries, a sliding window, latent attention, and what is missing") {
  struct Row {
    const char* what;
    const char* config;
    uint64_t tokens;
    uint64_t bytes;
    size_t lines;
    const char* missing;
  };
  const Row rows[] = {
      {"DeepSeek-V3: 61 x 576 x 2 bytes a token, 10.72 GiB at 163,840",
       R"({"num_hidden_layers":61,"kv_lora_rank":512,"qk_rope_head_dim":64,"num_attention_heads":128,
           "num_key_value_heads":128,"hidden_size":7168})",
       163'840, 61ull * 576 * 2 * 163'840, 1, ""},
      {"Llama 3.1 8B: 1 GiB at 8192",
       R"({"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"hidden_size":4096})", 8192,
       1ull << 30, 1, ""},
      {"every layer slides: Mistral 7B v0.1",
       R"({"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"hidden_size":4096,
           "sliding_window":4096})",
       32'768, 32ull * 4096 * 4096, 1, ""},
      {"Gemma 3 4B: 5 full layers of 34, window 1024",
       R"({"text_config":{"num_hidden_layers":34,"num_attention_heads":8,"num_key_value_heads":4,"head_dim":256,
           "sliding_window":1024,"sliding_window_pattern":6}})",
       32'768, 4096ull * (5 * 32'768 + 29 * 1024), 2, ""},
      {"gpt-oss names every layer",
       R"({"num_hidden_layers":4,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,"sliding_window":128,
           "layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"]})",
       1000, 2048ull * (2 * 1000 + 2 * 128), 2, ""},
      {"the window is switched off",
       R"({"num_hidden_layers":2,"num_attention_heads":4,"head_dim":8,"sliding_window":16,"use_sliding_window":false})",
       100, 2ull * 100 * 2 * 4 * 8 * 2, 1, ""},
      {"a state of fixed size is said, not invented",
       R"({"num_hidden_layers":4,"num_attention_heads":4,"head_dim":8,
           "layer_types":["linear_attention","linear_attention","linear_attention","full_attention"]})",
       10, 10ull * 2 * 4 * 8 * 2, 1,
       "3 layers keep a state of fixed size instead of keys and values; it is not counted"},
      {"layers", R"({"num_attention_heads":4})", 10, 0, 0, "config.json does not say num_hidden_layers"},
      {"heads", R"({"num_hidden_layers":4})", 10, 0, 0,
       "config.json does not say num_key_value_heads or num_attention_heads"},
      {"rope", R"({"num_hidden_layers":4,"kv_lora_rank":512})", 10, 0, 0, "config.json does not say qk_rope_head_dim"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    ModelFacts facts;
    read_model_config("config.json", byte_view(row.config), facts);
    const KvCache cache = kv_cache(facts, row.tokens, 2);
    CHECK(cache.bytes == row.bytes);
    CHECK(cache.lines.size() == row.lines);
    CHECK(cache.missing == row.missing);
    CHECK(cache.known == (row.lines > 0));
    CHECK(kv_cache(facts, row.tokens, 1).bytes == row.bytes / 2);
  }
  CHECK(61ull * 576 * 2 * 163'840 / double(1 << 30) == Approx(10.72).margin(0.005));
  CHECK_FALSE(kv_cache({}, 10, 2).known);
}

TEST_CASE("model facts: the kind and the family, from names or from config.json") {
  struct Row {
    const char* name;
    ModelKind kind;
    const char* family;
  };
  const Row rows[] = {{"model.diffusion_model.txtfusion.0.x", ModelKind::diffusion_model, "krea2"},
                      {"double_stream_modulation_img.lin.weight", ModelKind::diffusion_model, "flux2"},
                      {"cap_pad_token", ModelKind::diffusion_model, "z_image"},
                      {"cap_embedder.0.weight", ModelKind::diffusion_model, ""},  // Lumina 2 has it too
                      {"txt_norm.weight", ModelKind::diffusion_model, "qwen_image"},
                      {"double_blocks.0.x", ModelKind::diffusion_model, ""},
                      {"decoder.conv_in.weight", ModelKind::vae, ""},
                      {"model.language_model.layers.0.self_attn.q_proj.weight", ModelKind::language_model, ""},
                      {"text_model.encoder.x", ModelKind::text_encoder, ""},
                      {"a.weight", ModelKind::unknown, ""}};
  for (const Row& row : rows) {
    INFO(row.name);
    Inventory inventory;
    inventory.tensors.push_back(tensor(row.name, Dtype::BF16, 4, 0));
    inventory.sources.emplace_back();
    REQUIRE(inventory.build_index().empty());
    const LoadCase load = case_of(inventory);
    CHECK(load.facts.kind == row.kind);
    CHECK(load.facts.family == row.family);
    CHECK(load.facts.because == (row.kind == ModelKind::unknown ? "" : "tensor " + std::string(row.name)));
  }
  const auto of_config = [](const char* text) {
    ModelFacts facts;
    read_model_config("unet/config.json", byte_view(text), facts);
    return facts.kind;
  };
  CHECK(of_config(R"({"architectures":["LlamaForCausalLM"]})") == ModelKind::language_model);
  CHECK(of_config(R"({"architectures":["CLIPTextModel"]})") == ModelKind::text_encoder);
  CHECK(of_config(R"({"_class_name":"FluxTransformer2DModel"})") == ModelKind::diffusion_model);
  CHECK(of_config(R"({"_class_name":"AutoencoderKL"})") == ModelKind::vae);
  CHECK(of_config(R"([1])") == ModelKind::unknown);
}

namespace {

// Facts as a page has them: from a report's JSON.
Json facts_of(const LoadCase& load) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  write_ram(json, load.sums, load.facts);
  json.end_object();
  return Json::parse(text)["ram"]["facts"];
}

Json ask(const Json& request) {
  Session session;
  const std::string text = request.dump();
  REQUIRE(session.ram(text) == Reply::ok);
  return Json::parse(session.reply());
}

const Json& row_of(const Json& reply, const std::string& loader, const std::string& arrangement = "") {
  for (const Json& row : reply["loaders"]) {
    if (row["loader"] == loader && (arrangement.empty() || row["arrangement"] == arrangement)) return row;
  }
  FAIL("no row " << loader);
  return reply;
}

}  // namespace

TEST_CASE("ram reply: facts go out and come back, and the machine decides") {
  const Json facts = facts_of(case_of(fp8_layers(kParameters / kLayer, kLayer)));
  Json request = {{"components", {{{"title", "m"}, {"facts", facts}}}},
                  {"machine", {{"kind", "linux"}, {"ram_bytes", 32'000'000'000}, {"free_bytes", 22'000'000'000}}}};
  const Json reply = ask(request);
  CHECK(reply["format"] == "weighbridge.ram");
  CHECK(reply["per_dtype"][1]["bytes"] == 2 * kParameters);
  CHECK(reply["loaders"].size() == loaders().size());
  const Json& before = row_of(reply, "invokeai_float32");
  CHECK(before["verdict"]["fit"] == "will_be_killed");
  CHECK(before["verdict"]["stage_name"] == "dequantize");
  CHECK(before["verdict"]["term"] == "float32_weights");
  CHECK(before["verdict"]["need_bytes"] == 4 * kParameters + 4 * kLayer);
  CHECK(before["peak_bytes"] == 5 * kParameters + 800 + 4 * kLayer);
  CHECK(before["stages"][before["peak_stage"].get<size_t>()]["total_bytes"] == before["peak_bytes"]);
  CHECK(row_of(reply, "invokeai_bf16")["verdict"]["fit"] == "fits_if_closed");
  CHECK(row_of(reply, "comfyui_comfy_quant")["verdict"]["fit"] == "fits");

  // Without being asked, help is for the row that needs the most; the best comes first and is better.
  CHECK(reply["help"]["loader"] == "invokeai_float32");
  const Json& rows = reply["help"]["rows"];
  REQUIRE(rows.size() > 2);
  CHECK(rows[0]["verdict"]["fit"] == "fits");
  CHECK(rows[0]["need_bytes"] <= rows[1]["need_bytes"]);
  request["loader"] = "invokeai_bf16";
  const Json one = ask(request);
  CHECK(one["loaders"].size() == 1);
  CHECK(one["help"]["loader"] == "invokeai_bf16");
  bool converts = false;
  for (const Json& row : one["help"]["rows"]) {
    converts |= row["action"] == "convert_first" && row["held_as"] == "bf16" && row["need_bytes"] == 0;
  }
  CHECK(converts);
}

TEST_CASE("ram reply: a pipeline together, offloaded and in turn") {
  const Json big = facts_of(case_of(fp8_layers(4, 1000)));
  const Json small = facts_of(case_of(fp8_layers(1, 1000)));
  const Json request = {{"components", {{{"title", "big"}, {"facts", big}}, {{"title", "small"}, {"facts", small}}}}};
  const Json reply = ask(request);
  CHECK(reply["loaders"].size() == 3 * loaders().size());
  const uint64_t file = 4016;
  const uint64_t together = row_of(reply, "invokeai_bf16", "together")["peak_bytes"];
  const uint64_t in_turn = row_of(reply, "invokeai_bf16", "in_turn")["peak_bytes"];
  CHECK(together == file + 8000 + 8000 + 2000);  // the small one is resident while the big one is dequantized
  CHECK(in_turn == file + 8000 + 8000);
  CHECK(row_of(reply, "invokeai_bf16", "together")["device_peak_bytes"] == 10'000);
  CHECK(row_of(reply, "invokeai_bf16", "offload")["device_peak_bytes"] == 8000);
  CHECK(row_of(reply, "invokeai_bf16", "offload")["steady_bytes"] == 10'000);
  CHECK(row_of(reply, "invokeai_bf16", "offload")["peak_bytes"] == together);
  CHECK(row_of(reply, "comfyui_legacy", "together")["steady_bytes"] == 4016 + 1004);
  CHECK(row_of(reply, "invokeai_bf16", "in_turn")["stages"][0]["component"] == "big");
}

TEST_CASE("ram reply: a context adds the cache, and a bad request is refused with a code") {
  LoadCase load = case_of(fp8_layers(1, 1000, "model.layers.0.self_attn."));
  const char* config = R"({"num_hidden_layers":61,"kv_lora_rank":512,"qk_rope_head_dim":64})";
  read_model_config("config.json", byte_view(config), load.facts);
  load.facts.quant_method = "fp8";
  const Json facts = facts_of(load);
  const Json reply = ask({{"components", {{{"title", "m"}, {"facts", facts}}}}, {"context_tokens", 163'840}});
  CHECK(reply["kv_cache"]["bytes"] == 11'513'364'480);
  CHECK(reply["kv_cache"]["lines"][0]["what"] == "latent_attention");
  CHECK(row_of(reply, "vllm")["device_peak_bytes"] == 11'513'364'480 + 1004);

  const Json whole = {{"title", "m"}, {"facts", facts}};
  for (const Json& bad :
       {Json("x"), Json::object(), Json{{"components", Json::array()}}, Json{{"components", {{{"title", "m"}}}}},
        Json{{"components", {whole}}, {"held_as", "int4"}}, Json{{"components", {whole}}, {"loader", "nobody"}},
        Json{{"components", {whole}}, {"machine", {{"kind", "linux"}}}},
        Json{{"components", {whole}}, {"machine", {{"kind", "amiga"}, {"ram_bytes", 5}}}}}) {
    INFO(bad.dump());
    Session session;
    CHECK(session.ram(bad.dump()) == Reply::error);
    CHECK(Json::parse(session.reply())["error"]["code"] == "invalid_option");
  }
}

TEST_CASE("activations: an estimate where ComfyUI's factor is known, else the reason") {
  ModelFacts facts;
  facts.family = "qwen_image";
  CHECK(activations(facts).bytes == 16384ull * 2 * 18 * 1048576 / 1000);  // 590 MiB
  facts.family = "z_image";
  CHECK(activations(facts).formula == "16384 latents x 2 bytes x 0.01 x 2.8 MiB, one image of 1024 x 1024");
  facts.family = "krea2";
  CHECK(activations(facts).bytes == 0);
  CHECK(activations(facts).missing == "no published formula was found for krea2");
}
