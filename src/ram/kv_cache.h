// KV cache of a language model for a context: one line per kind of layer, each with its formula.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ram/model_facts.h"

namespace wb {

struct KvLine {
  std::string_view what;  ///< full_attention, sliding_attention, latent_attention
  uint64_t layers = 0;
  uint64_t tokens = 0;           ///< that each of them keeps
  uint64_t per_token_bytes = 0;  ///< of one layer
  uint64_t bytes = 0;
  std::string formula;  ///< with the numbers put in
};

struct KvCache {
  uint64_t tokens = 0;
  uint64_t bytes = 0;
  std::vector<KvLine> lines;
  std::string missing;  ///< not empty: why nothing was computed, or what is left out of it
  bool known = false;
};

/// `bytes_per_value`: 2 unless the cache itself is quantized.
KvCache kv_cache(const ModelFacts& facts, uint64_t tokens, uint64_t bytes_per_value);

}  // namespace wb
