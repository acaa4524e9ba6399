// Loaders: one row per way of loading a checkpoint, with the source it was read from and the function that makes its
// timeline. The formulas are derived in docs/ram.md and measured in docs/ram-calibration.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ram/kv_cache.h"
#include "ram/model_facts.h"
#include "ram/timeline.h"
#include "ram/weight_sums.h"

namespace wb {

/// One checkpoint and what is wanted of it.
struct LoadCase {
  CheckpointSums sums;
  ModelFacts facts;
  HeldAs held_as = HeldAs::stored;  ///< stored: each loader's own choice
  bool device = true;               ///< false: there is no graphics card, the processor computes
  uint64_t kv_bytes = 0;            ///< of the context, where there is one
};

/// What is there once it is loaded: something to run, tensors for a program of one's own, or a file.
enum class Purpose : uint8_t { program, tensors, conversion };
std::string_view purpose_name(Purpose purpose);

struct Loader {
  std::string_view id;
  std::string_view title;
  std::string_view version;  ///< of the program whose source was read
  std::string_view source;   ///< where it stands
  std::string_view url;
  Stages (*stages)(const LoadCase&);
  std::string (*refusal)(const LoadCase&);  ///< empty: the row applies
  /// What does not fit on the graphics card stays in RAM; else all of it must fit.
  bool splits_over_devices = false;
  Purpose purpose = Purpose::program;
};

std::span<const Loader> loaders();
const Loader* find_loader(std::string_view id);

}  // namespace wb
