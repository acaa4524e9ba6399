// Bytes: views, bit casts and little-endian loads. Safetensors is little-endian, and so is every
// machine this runs on (wasm, x86-64, arm64); a big-endian build is refused here, once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace wb {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian machines only");

using ByteView = std::span<const uint8_t>;
using MutableBytes = std::span<uint8_t>;

/// std::bit_cast is missing in Emscripten 3.1.6's libc++.
template <class To, class From>
constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

/// Loads and stores at any address; tensors need not be aligned to their element size.
template <class T>
inline T load_le(const void* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
inline void store_le(void* to, T value) {
  __builtin_memcpy(to, &value, sizeof value);
}

}  // namespace wb
