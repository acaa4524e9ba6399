// Model facts: what kind of model a checkpoint is, from its tensors' names, and the numbers of its config.json that
// memory depends on. Nothing is guessed: what is not said stays absent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "quant/pairs.h"
#include "safetensors/inventory.h"

namespace wb {

enum class ModelKind : uint8_t { unknown, language_model, diffusion_model, text_encoder, vae };
std::string_view model_kind_name(ModelKind kind);
ModelKind model_kind_of(std::string_view name);

/// From config.json (and its text_config). Absent: the file does not say.
struct ModelConfig {
  std::optional<uint64_t> layers;            ///< num_hidden_layers
  std::optional<uint64_t> attention_heads;   ///< num_attention_heads
  std::optional<uint64_t> key_value_heads;   ///< num_key_value_heads
  std::optional<uint64_t> head_dim;          ///< head_dim
  std::optional<uint64_t> hidden_size;       ///< hidden_size
  std::optional<uint64_t> kv_lora_rank;      ///< of multi-head latent attention
  std::optional<uint64_t> rope_head_dim;     ///< qk_rope_head_dim
  std::optional<uint64_t> sliding_window;    ///< tokens; absent also where it is switched off
  std::optional<uint64_t> full_layers;       ///< of layer_types: full_attention
  std::optional<uint64_t> sliding_layers;    ///< of layer_types: sliding_attention, chunked_attention
  std::optional<uint64_t> recurrent_layers;  ///< of layer_types: linear_attention, mamba and the like
  std::optional<uint64_t> context_max;       ///< max_position_embeddings
};
struct ConfigField {
  std::string_view key;
  std::optional<uint64_t> ModelConfig::*member;
};
std::span<const ConfigField> config_fields();

struct ModelFacts {
  ModelKind kind = ModelKind::unknown;
  std::string family;   ///< "krea2", "flux2", ...; empty when no row of the table fits
  std::string because;  ///< the name, or the line of config.json, that decided
  bool has_config = false;
  ModelConfig config;
  std::vector<std::string> schemes;  ///< ids of the rows of schemes() that its weights have, sorted
  std::string quant_method;          ///< of config.json
  bool legacy_scales = false;        ///< scales are spelled .scale_weight
  bool markers = false;              ///< .comfy_quant tensors or _quantization_metadata
};

/// What config.json says; leaves `facts` as it is when the text is another file's.
void read_model_config(std::string_view name, ByteView text, ModelFacts& facts);

/// Completes `facts` from the tensors, where config.json did not decide.
void identify(const Inventory& inventory, const Pairing& pairing, ModelFacts& facts);

}  // namespace wb
