// RAM: what each way of loading a checkpoint costs, stage by stage. Pure functions from the inventory
// and its pairs; every number is a sum of named terms (reference/peers.md section 5).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "quant/pairs.h"
#include "safetensors/inventory.h"

namespace wb {

/// The sums that all loader models are made of.
struct WeightSums {
  uint64_t file_bytes = 0;         ///< tensor data as stored, scales and markers included
  uint64_t parameters = 0;         ///< logical: scales, markers and padding are none
  uint64_t quantized = 0;          ///< logical elements of the quantized weights
  uint64_t largest_quantized = 0;  ///< of one tensor
  uint64_t other_bytes = 0;        ///< stored bytes of the parameters that are not quantized
  uint64_t other_floats = 0;       ///< elements of those that are floats
  uint64_t other_rest_bytes = 0;   ///< bytes of those that are not (integers, flags): never cast
};

WeightSums weight_sums(const Inventory& inventory, const Pairing& pairing);

/// Bytes of all parameters when every float is held with `bytes_per_float`.
uint64_t bytes_as(const WeightSums& sums, uint64_t bytes_per_float);

struct MemoryTerm {
  std::string_view name;
  uint64_t bytes = 0;
};

struct MemoryStage {
  std::string_view stage;
  std::vector<MemoryTerm> terms;
  uint64_t total_bytes() const;
};

/// A way of loading, with the stages it goes through and its highest moment.
struct LoaderTimeline {
  std::string_view loader;
  std::string_view title;
  std::string_view source;
  std::vector<MemoryStage> stages;
  MemoryStage peak;  ///< with the overlap of stages: the source still alive while the result grows
  uint64_t steady_bytes = 0;
};

/// One timeline per row of the loader table.
std::vector<LoaderTimeline> loader_timelines(const WeightSums& sums);

}  // namespace wb
