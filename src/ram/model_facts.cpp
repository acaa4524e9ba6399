#include "ram/model_facts.h"

#include <array>
#include <set>

#include "base/json.h"

namespace wb {
namespace {

constexpr std::string_view kKinds[] = {"unknown", "language_model", "diffusion_model", "text_encoder", "vae"};

constexpr ConfigField kConfigFields[] = {
    {"num_hidden_layers", &ModelConfig::layers},
    {"num_attention_heads", &ModelConfig::attention_heads},
    {"num_key_value_heads", &ModelConfig::key_value_heads},
    {"head_dim", &ModelConfig::head_dim},
    {"hidden_size", &ModelConfig::hidden_size},
    {"kv_lora_rank", &ModelConfig::kv_lora_rank},
    {"qk_rope_head_dim", &ModelConfig::rope_head_dim},
    {"sliding_window", &ModelConfig::sliding_window},
    {"full_layers", &ModelConfig::full_layers},
    {"sliding_layers", &ModelConfig::sliding_layers},
    {"recurrent_layers", &ModelConfig::recurrent_layers},
    {"max_position_embeddings", &ModelConfig::context_max},
};

// A part of a tensor's name that only one family of models has, without the prefixes that tools put before it.
// The more telling rows stand first. Sources: the key lists of ComfyUI comfy/model_detection.py and the loaders of
// InvokeAI (krea2.py, z_image.py, flux.py, qwen_image.py, ideogram4.py).
struct NameRule {
  std::string_view begins;  ///< of the name; empty: anywhere
  std::string_view contains;
  ModelKind kind;
  std::string_view family;
};
constexpr NameRule kNameRules[] = {
    {"txtfusion.", "", ModelKind::diffusion_model, "krea2"},
    {"text_fusion.", "", ModelKind::diffusion_model, "krea2"},
    {"double_stream_modulation_img.", "", ModelKind::diffusion_model, "flux2"},
    {"cap_pad_token", "", ModelKind::diffusion_model, "z_image"},  // what tells it from Lumina 2
    {"txt_norm.", "", ModelKind::diffusion_model, "qwen_image"},
    {"blocks.0.cross_attn.norm_k.", "", ModelKind::diffusion_model, "wan"},
    {"llm_cond_proj.", "", ModelKind::diffusion_model, "ideogram4"},
    {"cap_embedder.", "", ModelKind::diffusion_model, ""},
    {"noise_refiner.", "", ModelKind::diffusion_model, ""},
    {"double_blocks.", "", ModelKind::diffusion_model, ""},
    {"single_blocks.", "", ModelKind::diffusion_model, ""},
    {"joint_blocks.", "", ModelKind::diffusion_model, ""},
    {"transformer_blocks.", "", ModelKind::diffusion_model, ""},
    {"input_blocks.", "", ModelKind::diffusion_model, ""},
    {"down_blocks.", "", ModelKind::diffusion_model, ""},
    {"patch_embedding.", "", ModelKind::diffusion_model, ""},
    {"decoder.conv_in.", "", ModelKind::vae, ""},
    {"encoder.conv_in.", "", ModelKind::vae, ""},
    {"decoder.up_blocks.", "", ModelKind::vae, ""},
    {"text_model.encoder.", "", ModelKind::text_encoder, ""},
    {"encoder.block.", "SelfAttention", ModelKind::text_encoder, ""},
    {"lm_head.", "", ModelKind::language_model, ""},
    {"", "layers.0.self_attn.", ModelKind::language_model, ""},
    {"", "layers.0.linear_attn.", ModelKind::language_model, ""},
};

constexpr std::string_view kPrefixes[] = {"model.diffusion_model.", "diffusion_model.", "transformer."};

std::string_view bare(std::string_view name) {
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

std::optional<uint64_t> count_of(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number_unsigned()) return std::nullopt;
  return at->get<uint64_t>();
}

std::string word(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// layer_types names every layer; older configs say every how many layers one attends to everything.
void read_layers(const Json& config, ModelConfig& model) {
  if (const auto types = config.find("layer_types"); types != config.end() && types->is_array()) {
    model.full_layers = model.sliding_layers = model.recurrent_layers = 0;
    for (const Json& type : *types) {
      const std::string name = type.is_string() ? type.get<std::string>() : std::string();
      (has(name, "sliding") || has(name, "chunked") ? model.sliding_layers
       : has(name, "full") || name == "attention"   ? model.full_layers
                                                    : model.recurrent_layers)
          .value()++;
    }
  } else if (const auto pattern = count_of(config, "sliding_window_pattern"); pattern && *pattern > 0 && model.layers) {
    model.full_layers = *model.layers / *pattern;
    model.sliding_layers = *model.layers - *model.full_layers;
  }
}

void read_sizes(const Json& config, ModelConfig& model) {
  for (const ConfigField& field : kConfigFields) {
    if (const auto number = count_of(config, std::string(field.key).c_str())) model.*field.member = number;
  }
  const auto off = config.find("use_sliding_window");
  if (off != config.end() && off->is_boolean() && !off->get<bool>()) model.sliding_window.reset();
  read_layers(config, model);
}

void decide(ModelFacts& facts, ModelKind kind, std::string because) {
  if (facts.kind != ModelKind::unknown) return;
  facts.kind = kind;
  facts.because = std::move(because);
}

bool follows(const NameRule& rule, std::string_view name) {
  return name.starts_with(rule.begins) && name.find(rule.contains) != std::string_view::npos;
}

void name_kind(const Inventory& inventory, ModelFacts& facts) {
  // The first tensor of each rule, in one walk over a model's hundred thousand names.
  std::array<const Tensor*, std::size(kNameRules)> first{};
  for (const Tensor& tensor : inventory.tensors) {
    const std::string_view name = bare(tensor.name);
    for (size_t i = 0; i < first.size(); ++i) {
      if (!first[i] && follows(kNameRules[i], name)) first[i] = &tensor;
    }
  }
  for (size_t i = 0; i < first.size(); ++i) {
    const NameRule& rule = kNameRules[i];
    if (!first[i]) continue;
    if (facts.kind != ModelKind::unknown && (facts.kind != rule.kind || rule.family.empty())) continue;
    decide(facts, rule.kind, "tensor " + first[i]->name);
    facts.family = rule.family;
    return;
  }
}

}  // namespace

std::string_view model_kind_name(ModelKind kind) { return kKinds[static_cast<uint8_t>(kind)]; }

ModelKind model_kind_of(std::string_view name) {
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    if (kKinds[i] == name) return static_cast<ModelKind>(i);
  }
  return ModelKind::unknown;
}

std::span<const ConfigField> config_fields() { return kConfigFields; }

void read_model_config(std::string_view name, ByteView text, ModelFacts& facts) {
  const std::string_view base = name.substr(name.rfind('/') + 1);
  if (base != "config.json") return;
  const Json json = parse_json(text);
  if (!json.is_object()) return;
  facts.has_config = true;
  read_sizes(json, facts.config);
  if (const auto inner = json.find("text_config"); inner != json.end() && inner->is_object())
    read_sizes(*inner, facts.config);
  if (const std::string type = word(json, "_class_name"); !type.empty()) {
    decide(facts, has(type, "Autoencoder") ? ModelKind::vae : ModelKind::diffusion_model, "_class_name " + type);
  }
  const auto architectures = json.find("architectures");
  if (architectures == json.end() || !architectures->is_array() || architectures->empty()) return;
  const Json& first = architectures->front();
  const std::string type = first.is_string() ? first.get<std::string>() : std::string();
  const bool generates = has(type, "ForCausalLM") || has(type, "ForConditionalGeneration") || has(type, "LMHead");
  if (!type.empty())
    decide(facts, generates ? ModelKind::language_model : ModelKind::text_encoder, "architecture " + type);
}

void identify(const Inventory& inventory, const Pairing& pairing, ModelFacts& facts) {
  name_kind(inventory, facts);
  constexpr EvidenceSet kMarked = evidence_bit(Evidence::comfy_quant) | evidence_bit(Evidence::quantization_metadata);
  std::set<std::string_view> schemes;
  for (const Pair& pair : pairing.pairs) {
    if (pair.weight == kNoTensor) continue;
    schemes.insert(pair.scheme);
    facts.markers |= (pair.evidence & kMarked) != 0;
    for (const uint32_t scale : pair.scales)
      facts.legacy_scales |= ends_with(inventory.tensors[scale].name, ".scale_weight");
  }
  facts.schemes.assign(schemes.begin(), schemes.end());
}

}  // namespace wb
