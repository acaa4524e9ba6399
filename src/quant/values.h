// SmallValues: the contents of the tensors that are small enough to read when a file is opened:
// scales, markers, flags. Big scales are read by the scan before a conversion.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "quant/markers.h"
#include "safetensors/inventory.h"

namespace wb {

/// A tensor of more bytes than this is not read on opening.
inline constexpr uint64_t kSmallTensorBytes = 64 * 1024;
/// All small tensors together; what is beyond it waits for the scan.
inline constexpr uint64_t kSmallTotalBytes = 16 * 1024 * 1024;
/// Where every read is a request to a server, longer scales wait for the scan.
inline constexpr uint64_t kSparingScaleBytes = 64;
/// Second-level scales are kept whole up to this many: one per expert of a stack.
inline constexpr uint64_t kGlobalScales = 4096;
/// Values shown inline in the tensor table.
inline constexpr uint64_t kInlineElements = 8;

/// Over all values of one scale tensor, as float32.
struct ScaleStats {
  uint64_t read = 0;  ///< values seen so far; all of them when equal to the element count
  float min = 0;      ///< of the values that are numbers
  float max = 0;
  uint64_t zero = 0;
  uint64_t negative = 0;
  uint64_t infinite = 0;
  uint64_t nan = 0;

  void add(const float* values, size_t n);
  float largest_magnitude() const;

 private:
  uint64_t numbers_ = 0;  // values that are not NaN
};

class SmallValues {
 public:
  /// Indices of the tensors worth reading, by source and offset. Scales of more bytes than that are left out;
  /// a scan reads them all the same.
  static std::vector<uint32_t> wanted(const Inventory& inventory, uint64_t scale_bytes_max = kSmallTensorBytes);

  /// Takes the bytes of one wanted tensor. Problems with markers and flags go to `warnings`.
  void take(const Inventory& inventory, uint32_t tensor, ByteView bytes, std::vector<Error>& warnings);

  const ScaleStats* scale(uint32_t tensor) const;
  ScaleStats& scale_to_fill(uint32_t tensor) { return scales_[tensor]; }
  /// All values of a second-level scale, or null when it is larger than kGlobalScales or was not read.
  const std::vector<float>* global_scale(uint32_t tensor) const;
  /// The values of a small integer tensor that describes a payload (weight_shape, nbits), or null.
  const Shape* integers(uint32_t tensor) const;
  /// The values of a code table (quant_map, weight_codebook), or null.
  const std::vector<float>* table(uint32_t tensor) const;
  /// The bytes of a small tensor that holds text (bitsandbytes' quant_state), or null.
  const std::string* text(uint32_t tensor) const;
  /// Up to kInlineElements values of a small float tensor, or null.
  const std::vector<float>* inline_values(uint32_t tensor) const;

  LayerMarkers markers;  ///< of all .comfy_quant tensors

 private:
  std::unordered_map<uint32_t, ScaleStats> scales_;
  std::unordered_map<uint32_t, std::vector<float>> inline_;
  std::unordered_map<uint32_t, std::vector<float>> global_;
  std::unordered_map<uint32_t, Shape> integers_;
  std::unordered_map<uint32_t, std::vector<float>> tables_;
  std::unordered_map<uint32_t, std::string> texts_;
};

}  // namespace wb
