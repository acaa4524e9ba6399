// Checkpoints made in memory, and what converting them must give, computed without the product's code:
// element by element, by the formula, over whole tensors. Only the dtype table is shared with src/.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dtype/dtype.h"
#include "oracle/kernel_cases.h"

namespace wb::oracle {

using Bytes = std::vector<uint8_t>;
using Strings = std::vector<std::pair<std::string, std::string>>;

struct TensorSpec {
  std::string name;
  Dtype dtype = Dtype::U8;
  std::vector<uint64_t> shape;
  Bytes bytes;
};

size_t element_count(const TensorSpec& tensor);

/// Random bytes.
TensorSpec random_tensor(Random& random, std::string name, Dtype dtype, std::vector<uint64_t> shape);
/// A scale tensor whose values come from a pool of about a hundred, all of them positive and finite.
TensorSpec random_scale(Random& random, std::string name, Dtype dtype, std::vector<uint64_t> shape);
/// F32 values.
TensorSpec f32_tensor(std::string name, std::vector<uint64_t> shape, const std::vector<float>& values);

/// A safetensors file with the tensors in the given order. `extra_spaces` more bytes of padding
/// unalign the data.
Bytes file_of(const std::vector<TensorSpec>& tensors, const Strings& metadata = {}, size_t extra_spaces = 0);
/// What the reference writer makes of these tensors: dtype descending, then name; header padded to 8.
Bytes canonical_file(std::vector<TensorSpec> tensors, const Strings& metadata);

/// Which scale belongs to the element at (matrix, row, column).
using ScaleOf = std::function<uint64_t(uint64_t matrix, uint64_t row, uint64_t col)>;

/// A quantized weight; without a scale when `scale_of` is empty.
struct Layer {
  TensorSpec weight;
  TensorSpec scale;
  ScaleOf scale_of;
};

/// The weight as `to`: f32(code) times f32(scale) in float32, rounded once.
TensorSpec dequantized_tensor(const Layer& layer, Dtype to);
/// A float tensor narrowed to `to`.
TensorSpec cast_tensor(const TensorSpec& tensor, Dtype to);

}  // namespace wb::oracle
