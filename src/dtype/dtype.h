// Dtype: the 22 element types a safetensors header can name. Wire spelling everywhere: F8_E4M3 means
// the "fn" variant. The enum order is the reference crate's, which decides the order of written files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wb {

enum class Dtype : uint8_t {
#define WB_DTYPE(name, bits, kind, is_float, meaning) name,
#include "dtype/dtypes.inc"
#undef WB_DTYPE
};

/// What a person counts as one kind of number; the page has one colour per kind.
enum class DtypeKind : uint8_t { fp8, fp6, fp4, int8, half, f32, other };

struct DtypeInfo {
  std::string_view name;
  uint32_t bits;
  DtypeKind kind;
  bool is_float;
  std::string_view meaning;
};

const DtypeInfo& dtype_info(Dtype dtype);
std::string_view dtype_kind_name(DtypeKind kind);

/// Exact spelling only, as the format demands ("f32" and "F8_E4M3FN" are unknown).
std::optional<Dtype> dtype_from_name(std::string_view name);

inline constexpr int kDtypeCount = 22;

/// The fp8 payload types: one byte a code, a sign, an exponent and a mantissa.
inline bool is_fp8_payload(Dtype dtype) {
  return dtype == Dtype::F8_E4M3 || dtype == Dtype::F8_E5M2 || dtype == Dtype::F8_E4M3FNUZ ||
         dtype == Dtype::F8_E5M2FNUZ;
}

}  // namespace wb
