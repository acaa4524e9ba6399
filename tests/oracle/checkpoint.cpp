#include "oracle/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "oracle/numbers.h"

namespace wb::oracle {
namespace {

std::string list_text(const std::vector<uint64_t>& numbers) {
  std::string text;
  for (const uint64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return "[" + text + "]";
}

// Names and metadata in these tests need no escapes but the quote and the backslash.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string header_text(const std::vector<TensorSpec>& tensors, const Strings& metadata) {
  std::string text;
  if (!metadata.empty()) {
    std::string pairs;
    for (const auto& [key, value] : metadata) pairs += (pairs.empty() ? "" : ",") + quoted(key) + ":" + quoted(value);
    text = "\"__metadata__\":{" + pairs + "}";
  }
  uint64_t offset = 0;
  for (const TensorSpec& tensor : tensors) {
    text += (text.empty() ? "" : ",") + quoted(tensor.name) + ":{\"dtype\":\"" +
            std::string(dtype_info(tensor.dtype).name) + "\",\"shape\":" + list_text(tensor.shape) +
            ",\"data_offsets\":" + list_text({offset, offset + tensor.bytes.size()}) + "}";
    offset += tensor.bytes.size();
  }
  return "{" + text + "}";
}

uint64_t element_of(const TensorSpec& tensor, size_t index) {
  const size_t bytes = dtype_info(tensor.dtype).bits / 8;
  uint64_t bits = 0;
  std::memcpy(&bits, tensor.bytes.data() + index * bytes, bytes);
  return bits;
}

void put(Bytes& out, uint16_t value) {
  out.push_back(static_cast<uint8_t>(value));
  out.push_back(static_cast<uint8_t>(value >> 8));
}

}  // namespace

size_t element_count(const TensorSpec& tensor) {
  size_t count = 1;
  for (const uint64_t dim : tensor.shape) count *= static_cast<size_t>(dim);
  return count;
}

TensorSpec random_tensor(Random& random, std::string name, Dtype dtype, std::vector<uint64_t> shape) {
  TensorSpec tensor{std::move(name), dtype, std::move(shape), {}};
  const size_t bytes = element_count(tensor) * dtype_info(dtype).bits / 8;
  tensor.bytes.resize((bytes + 3) / 4 * 4);
  for (size_t i = 0; i < tensor.bytes.size(); i += 4) {
    const uint32_t bits = random.bits();
    std::memcpy(&tensor.bytes[i], &bits, 4);
  }
  tensor.bytes.resize(bytes);
  return tensor;
}

TensorSpec random_scale(Random& random, std::string name, Dtype dtype, std::vector<uint64_t> shape) {
  TensorSpec tensor{std::move(name), dtype, std::move(shape), {}};
  const size_t count = element_count(tensor);
  const size_t bytes = dtype_info(dtype).bits / 8;
  tensor.bytes.resize(count * bytes);
  Random pool_random(7);
  uint32_t pool[97];
  for (uint32_t& each : pool) {
    const double value = (1 + pool_random.below(1u << 20)) * 1e-8;
    each = bytes == 1 ? 100 + pool_random.below(28) : nearest(dtype, value);
  }
  for (size_t i = 0; i < count; ++i) std::memcpy(&tensor.bytes[i * bytes], &pool[random.below(97)], bytes);
  return tensor;
}

TensorSpec f32_tensor(std::string name, std::vector<uint64_t> shape, const std::vector<float>& values) {
  TensorSpec tensor{std::move(name), Dtype::F32, std::move(shape), Bytes(values.size() * sizeof(float))};
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

Bytes file_of(const std::vector<TensorSpec>& tensors, const Strings& metadata, size_t extra_spaces) {
  std::string text = header_text(tensors, metadata);
  text.append((8 - text.size() % 8) % 8 + extra_spaces, ' ');
  Bytes file(8);
  const uint64_t length = text.size();
  std::memcpy(file.data(), &length, 8);
  file.insert(file.end(), text.begin(), text.end());
  for (const TensorSpec& tensor : tensors) file.insert(file.end(), tensor.bytes.begin(), tensor.bytes.end());
  return file;
}

Bytes canonical_file(std::vector<TensorSpec> tensors, const Strings& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorSpec& a, const TensorSpec& b) {
    return a.dtype != b.dtype ? static_cast<int>(a.dtype) > static_cast<int>(b.dtype) : a.name < b.name;
  });
  return file_of(tensors, metadata);
}

TensorSpec dequantized_tensor(const Layer& layer, Dtype to) {
  const TensorSpec& weight = layer.weight;
  TensorSpec out{weight.name, to, weight.shape, {}};
  const std::vector<uint64_t>& shape = weight.shape;
  const bool stack = shape.size() == 3;
  const uint64_t matrices = stack ? shape[0] : 1;
  const uint64_t rows = stack ? shape[1] : shape.empty() ? 1 : shape[0];
  const size_t count = element_count(weight);
  const uint64_t cols = count == 0 ? 0 : count / (matrices * rows);
  out.bytes.reserve(count * 2);
  const bool fp8 = is_fp8_payload(weight.dtype);
  const bool exponent = layer.scale.dtype == Dtype::U8;
  std::unordered_map<uint32_t, std::vector<uint16_t>> tables;  // by the scale's bits
  const uint16_t* table = nullptr;
  uint32_t table_key = 0;
  size_t index = 0;
  for (uint64_t matrix = 0; matrix < matrices && count > 0; ++matrix) {
    for (uint64_t row = 0; row < rows; ++row) {
      for (uint64_t col = 0; col < cols; ++col, ++index) {
        float scale = 1;
        if (layer.scale_of) {
          const uint64_t bits = element_of(layer.scale, static_cast<size_t>(layer.scale_of(matrix, row, col)));
          scale = static_cast<float>(value_of(exponent ? Dtype::F8_E8M0 : layer.scale.dtype, bits));
        }
        if (!fp8) {
          const double product = value_of(weight.dtype, element_of(weight, index)) * static_cast<double>(scale);
          put(out.bytes, static_cast<uint16_t>(nearest(to, value_of(Dtype::F32, nearest(Dtype::F32, product)))));
          continue;
        }
        uint32_t key;
        std::memcpy(&key, &scale, sizeof key);
        if (!table || key != table_key) {
          std::vector<uint16_t>& entry = tables[key];
          if (entry.empty()) entry = dequantized_codes(weight.dtype, to, scale);
          table = entry.data();
          table_key = key;
        }
        put(out.bytes, table[weight.bytes[index]]);
      }
    }
  }
  return out;
}

TensorSpec cast_tensor(const TensorSpec& tensor, Dtype to) {
  TensorSpec out{tensor.name, to, tensor.shape, {}};
  const size_t count = element_count(tensor);
  for (size_t i = 0; i < count; ++i)
    put(out.bytes, static_cast<uint16_t>(nearest(to, value_of(tensor.dtype, element_of(tensor, i)))));
  return out;
}

}  // namespace wb::oracle
