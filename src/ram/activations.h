// Activations of a diffusion model: an estimate, and only for families that a published formula covers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ram/model_facts.h"

namespace wb {

struct Activations {
  uint64_t bytes = 0;   ///< 0: not estimated
  std::string formula;  ///< with the numbers put in
  std::string_view source;
  std::string missing;  ///< why nothing was estimated
};

/// For one image of 1024 x 1024 in bf16.
Activations activations(const ModelFacts& facts);

}  // namespace wb
