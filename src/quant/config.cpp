#include "quant/config.h"
#include "base/json.h"

namespace wb {
namespace {

std::string text_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// [rows, columns] of positive integers; null and absent mean "no blocks".
std::optional<std::array<uint64_t, 2>> block_of(const Json& quant) {
  const auto at = quant.find("weight_block_size");
  if (at == quant.end() || !at->is_array() || at->size() != 2) return std::nullopt;
  std::array<uint64_t, 2> block{};
  for (size_t i = 0; i < 2; ++i) {
    if (!(*at)[i].is_number_unsigned() || (*at)[i].get<uint64_t>() == 0) return std::nullopt;
    block[i] = (*at)[i].get<uint64_t>();
  }
  return block;
}

std::optional<uint64_t> count_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number_unsigned() || at->get<uint64_t>() == 0) return std::nullopt;
  return at->get<uint64_t>();
}

// compressed-tensors states the bits of every group of layers; one number only where all agree.
std::optional<uint64_t> bits_of_groups(const Json& quant) {
  const auto groups = quant.find("config_groups");
  if (groups == quant.end() || !groups->is_object()) return std::nullopt;
  std::optional<uint64_t> bits;
  for (const auto& [name, group] : groups->items()) {
    if (!group.is_object() || !group.contains("weights") || !group["weights"].is_object()) return std::nullopt;
    const auto here = count_of(group["weights"], "num_bits");
    if (!here || (bits && bits != here)) return std::nullopt;
    bits = here;
  }
  return bits;
}

// The block may stand at the top or, in multimodal models, inside text_config.
const Json* quantization_of(const Json& config) {
  for (const Json* owner : {&config, config.contains("text_config") ? &config["text_config"] : nullptr}) {
    if (!owner || !owner->is_object()) continue;
    for (const char* key : {"quantization_config", "quantization"}) {
      const auto at = owner->find(key);
      if (at != owner->end() && at->is_object()) return &*at;
    }
  }
  return nullptr;
}

// auto-round packs its integers for the kernels of others; here is what its packing_format means in their words. Its
// own format has GPTQ's shapes and stores zero points as they are. Source: auto-round 0.16,
// export_to_autoround/export.py.
void translate_auto_round(const Json& quant, QuantConfig& config) {
  if (config.method != "auto-round" && config.method != "intel/auto-round") return;
  const std::string packing = text_of(quant, "packing_format");
  const auto says = [&packing](const char* word) { return packing.find(word) != std::string::npos; };
  if (says("awq")) {
    config.method = "awq";
    config.version = "gemm";
  } else if (says("gptq") || packing == "auto_round") {
    config.method = "gptq";
    config.checkpoint_format = says("gptq") && !says("gptqmodel") ? "gptq" : "gptq_v2";
  }
}

std::string read_quantization(const Json& quant, QuantConfig& config) {
  config.method = text_of(quant, "quant_method");
  if (config.method.empty()) config.method = text_of(quant, "quant_algo").empty() ? "unnamed" : "modelopt";
  for (const char* key : {"fmt", "format", "quant_algo", "checkpoint_format"}) {
    if (config.format.empty()) config.format = text_of(quant, key);
  }
  config.block = block_of(quant);
  config.bits = count_of(quant, "bits");
  if (!config.bits) config.bits = bits_of_groups(quant);
  config.group_size = count_of(quant, "group_size");
  config.checkpoint_format = text_of(quant, "checkpoint_format");
  config.version = text_of(quant, "version");
  config.expert_dtype = text_of(quant, "expert_dtype");
  std::string says = "quant_method " + config.method;
  if (!config.format.empty()) says += ", format " + config.format;
  if (config.block)
    says += ", blocks of " + std::to_string((*config.block)[0]) + " x " + std::to_string((*config.block)[1]);
  translate_auto_round(quant, config);
  return says;
}

}  // namespace

Status read_side_file(const std::string& name, ByteView text, QuantConfig& config) {
  const Json json = parse_json(text);
  if (!json.is_object()) return fail(Errc::config_not_json, name, name + " is not a JSON object");
  std::string says = "nothing about quantization";
  if (const Json* quant = quantization_of(json)) says = read_quantization(*quant, config);
  for (const Json* owner : {&json, json.contains("text_config") ? &json["text_config"] : nullptr}) {
    if (!owner || !owner->is_object()) continue;
    const auto tie = owner->find("tie_word_embeddings");
    if (tie != owner->end() && tie->is_boolean() && !config.tie_word_embeddings)
      config.tie_word_embeddings = tie->get<bool>();
    if (config.expert_dtype.empty()) config.expert_dtype = text_of(*owner, "expert_dtype");
  }
  config.files.emplace_back(name, std::move(says));
  return {};
}

}  // namespace wb
