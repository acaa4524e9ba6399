// The sums that every way of loading is made of: what a checkpoint holds, counted once and by what becomes of it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quant/pairs.h"
#include "safetensors/inventory.h"

namespace wb {

/// Of one file, or of all files of a set together. "Quantized" are weights that a scale or a table belongs to;
/// "others" are the remaining parameters.
struct WeightSums {
  uint64_t stored_bytes = 0;           ///< tensor data as stored, scales and markers included
  uint64_t parameters = 0;             ///< logical: scales, markers and padding are none
  uint64_t quantized = 0;              ///< logical elements of the quantized weights
  uint64_t quantized_bytes = 0;        ///< their payloads as stored
  uint64_t largest_quantized = 0;      ///< logical elements of the largest
  uint64_t largest_tensor_bytes = 0;   ///< as stored, of any tensor
  uint64_t largest_tensor_floats = 0;  ///< logical elements of the largest float parameter, quantized or not
  uint64_t others_bytes = 0;           ///< the others as stored
  uint64_t others_bf16 = 0;            ///< elements of the others, by dtype
  uint64_t others_f16 = 0;
  uint64_t others_f32 = 0;
  uint64_t others_wider = 0;     ///< F64
  uint64_t others_narrow = 0;    ///< fp8 and smaller that nothing marks as quantized
  uint64_t others_integers = 0;  ///< bytes of integers and flags: never cast
  uint64_t expanded_scales = 0;  ///< elements of the largest weight whose scales stand for more than one row or tensor
  uint64_t others_floats() const { return others_bf16 + others_f16 + others_f32 + others_wider + others_narrow; }
};

/// Names and members, for JSON in both directions.
struct SumField {
  std::string_view key;
  uint64_t WeightSums::*member;
};
std::span<const SumField> sum_fields();

/// Of the checkpoint as a whole, and of each of its files in the order of the sources.
struct CheckpointSums {
  WeightSums all;
  std::vector<WeightSums> files;
};
CheckpointSums checkpoint_sums(const Inventory& inventory, const Pairing& pairing);

/// What weights may be held as. `stored`: as the file has them.
enum class HeldAs : uint8_t { stored, bf16, f16, f32, fp8 };
struct HeldAsName {
  HeldAs held_as;
  std::string_view name;
  uint64_t bytes_per_float;  ///< 0: the file's own
};
std::span<const HeldAsName> held_as_names();
const HeldAsName& held_as_info(HeldAs held_as);

/// Bytes of all parameters when every float is held as `held_as`; integers stay what they are.
uint64_t bytes_as(const WeightSums& sums, HeldAs held_as);

/// Bytes of those of the others that a cast to `held_as` leaves as they are, and of the new ones it makes.
uint64_t others_kept(const WeightSums& sums, HeldAs held_as);
uint64_t others_cast(const WeightSums& sums, HeldAs held_as);

/// The same checkpoint after a conversion: nothing is quantized any more. Only bf16, f16 and f32.
WeightSums converted(const WeightSums& sums, HeldAs to);

}  // namespace wb
