#include "ram/kv_cache.h"

#include <algorithm>

namespace wb {
namespace {

std::string text_of(uint64_t number) { return std::to_string(number); }

void add_line(KvCache& cache, std::string_view what, uint64_t layers, uint64_t tokens, uint64_t per_token_bytes,
              const std::string& per_token) {
  if (layers == 0) return;
  const uint64_t bytes = layers * tokens * per_token_bytes;
  cache.lines.push_back({what, layers, tokens, per_token_bytes, bytes,
                         text_of(layers) + " layers x " + text_of(tokens) + " tokens x " + per_token});
  cache.bytes += bytes;
}

// One latent vector and one rotary key for all heads, and no separate values.
KvCache latent(const ModelConfig& config, KvCache cache, uint64_t width) {
  const uint64_t values = *config.kv_lora_rank + *config.rope_head_dim;
  add_line(cache, "latent_attention", *config.layers, cache.tokens, values * width,
           "(kv_lora_rank " + text_of(*config.kv_lora_rank) + " + qk_rope_head_dim " + text_of(*config.rope_head_dim) +
               ") x " + text_of(width) + " bytes");
  return cache;
}

}  // namespace

KvCache kv_cache(const ModelFacts& facts, uint64_t tokens, uint64_t bytes_per_value) {
  KvCache cache;
  cache.tokens = tokens;
  const ModelConfig& config = facts.config;
  const auto lacks = [&cache](std::string_view what) {
    cache.missing = "config.json does not say " + std::string(what);
    return cache;
  };
  if (!facts.has_config) {
    cache.missing = "there is no config.json beside the checkpoint, and its shapes do not tell the number of heads";
    return cache;
  }
  if (!config.layers || *config.layers == 0) return lacks("num_hidden_layers");
  cache.known = true;
  if (config.kv_lora_rank && *config.kv_lora_rank > 0) {
    if (!config.rope_head_dim) cache.known = false;
    return config.rope_head_dim ? latent(config, cache, bytes_per_value) : lacks("qk_rope_head_dim");
  }
  // Without num_key_value_heads every head has its own keys and values.
  const auto heads = config.key_value_heads ? config.key_value_heads : config.attention_heads;
  auto head_dim = config.head_dim;
  if (!head_dim && config.hidden_size && config.attention_heads && *config.attention_heads > 0)
    head_dim = *config.hidden_size / *config.attention_heads;
  cache.known = heads.has_value() && head_dim.has_value();
  if (!heads) return lacks("num_key_value_heads or num_attention_heads");
  if (!head_dim) return lacks("head_dim, or hidden_size and num_attention_heads");

  const uint64_t per_token = 2 * *heads * *head_dim * bytes_per_value;
  const std::string words = "2 (keys and values) x " + text_of(*heads) + " heads x " + text_of(*head_dim) + " x " +
                            text_of(bytes_per_value) + " bytes";
  // A window without a list of layers is every layer's.
  const bool windowed = config.sliding_window && *config.sliding_window > 0;
  const uint64_t sliding = config.sliding_layers.value_or(windowed ? *config.layers : 0);
  const uint64_t full = config.full_layers.value_or(*config.layers - std::min(sliding, *config.layers));
  add_line(cache, "full_attention", full, tokens, per_token, words);
  if (sliding > 0 && !windowed) {
    cache.known = false;
    return lacks("sliding_window, though some layers slide");
  }
  if (windowed)
    add_line(cache, "sliding_attention", sliding, std::min(tokens, *config.sliding_window), per_token, words);
  if (config.recurrent_layers.value_or(0) > 0) {
    cache.missing = text_of(*config.recurrent_layers) +
                    " layers keep a state of fixed size instead of keys and values; it is not counted";
  }
  return cache;
}

}  // namespace wb
