#include "dtype/codec.h"

namespace wb {
namespace {

// What a wire dtype is called in a formula, and the largest number it can hold; the rest are no payloads.
struct PayloadDtype {
  Dtype dtype;
  float max_finite;
  std::string_view formula_name;
};
constexpr PayloadDtype kPayloads[] = {
    {Dtype::F8_E4M3, 448, "e4m3"},
    {Dtype::F8_E5M2, 57344, "e5m2"},
    {Dtype::F8_E4M3FNUZ, 240, "e4m3fnuz"},
    {Dtype::F8_E5M2FNUZ, 57344, "e5m2fnuz"},
    {Dtype::F4, 6, "fp4"},
    {Dtype::I8, 128, "int8"},
    {Dtype::F16, 65504, "f16"},
    {Dtype::BF16, 0x1.FEp127f, "bf16"},
    {Dtype::F32, 0x1.FFFFFEp127f, "f32"},
};

constexpr CodecInfo from_dtype(Dtype dtype, std::string_view name, uint32_t bits) {
  for (const PayloadDtype& row : kPayloads) {
    if (row.dtype == dtype) return {name, bits, row.max_finite, row.formula_name};
  }
  return {name, bits, 0, name};
}

constexpr CodecInfo kCodecs[] = {
#define WB_DTYPE(name, bits, kind, is_float, meaning) from_dtype(Dtype::name, #name, bits),
#include "dtype/dtypes.inc"
#undef WB_DTYPE
#define WB_CODEC(name, bits, max_finite, formula_name, meaning) {#name, bits, max_finite, formula_name},
#include "dtype/codecs.inc"
#undef WB_CODEC
};

}  // namespace

const CodecInfo& codec_info(Codec codec) { return kCodecs[static_cast<uint8_t>(codec)]; }

}  // namespace wb
