#include "dtype/dtype.h"

namespace wb {

static constexpr DtypeInfo kDtypes[] = {
#define WB_DTYPE(name, bits, kind, is_float, meaning) {#name, bits, DtypeKind::kind, is_float, meaning},
#include "dtype/dtypes.inc"
#undef WB_DTYPE
};
static_assert(sizeof kDtypes / sizeof kDtypes[0] == kDtypeCount);

const DtypeInfo& dtype_info(Dtype dtype) { return kDtypes[static_cast<uint8_t>(dtype)]; }

std::string_view dtype_kind_name(DtypeKind kind) {
  switch (kind) {
    case DtypeKind::fp8: return "fp8";
    case DtypeKind::fp6: return "fp6";
    case DtypeKind::fp4: return "fp4";
    case DtypeKind::int8: return "int8";
    case DtypeKind::half: return "half";
    case DtypeKind::f32: return "f32";
    case DtypeKind::other: return "other";
  }
  return {};
}

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (int i = 0; i < kDtypeCount; ++i) {
    if (kDtypes[i].name == name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

}  // namespace wb
