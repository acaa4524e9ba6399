// Codec: how the codes of a payload are read. Most are wire dtypes (a codec of the same name and value
// exists for each); the others are encodings that files keep in integer containers.
#pragma once

#include <cstdint>
#include <string_view>

#include "dtype/dtype.h"

namespace wb {

enum class Codec : uint8_t {
#define WB_DTYPE(name, bits, kind, is_float, meaning) name,
#include "dtype/dtypes.inc"
#undef WB_DTYPE
#define WB_CODEC(name, bits, max_finite, formula_name, meaning) name,
#include "dtype/codecs.inc"
#undef WB_CODEC
};

struct CodecInfo {
  std::string_view name;
  uint32_t bits;
  float max_finite;               ///< largest finite magnitude of a code; 0 for what is no payload
  std::string_view formula_name;  ///< as formulas write it: "e4m3", "fp4", "int8"
};

const CodecInfo& codec_info(Codec codec);

constexpr Codec codec_of(Dtype dtype) { return static_cast<Codec>(dtype); }

/// Only for codecs that are wire dtypes.
constexpr Dtype dtype_of(Codec codec) { return static_cast<Dtype>(codec); }
constexpr bool is_wire_dtype(Codec codec) { return static_cast<int>(codec) < kDtypeCount; }

}  // namespace wb
