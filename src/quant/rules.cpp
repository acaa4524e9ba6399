#include "quant/rules.h"

#include <iterator>

namespace wb {
namespace {

// First match wins. Source: reference/formats.md section 3. `_inv` is a multiplier, whatever it says.
constexpr ScaleRule kScaleRules[] = {
    {".scale_weight", ".weight", true},      // ComfyUI legacy, musubi-tuner, Kijai
    {".qscale_weight", ".weight", true},     // Mistral native
    {".weight_scale_inv", ".weight", true},  // DeepSeek family
    {".weight_scale", ".weight", true},      // ComfyUI, compressed-tensors, ModelOpt, FBGEMM, Ideogram
    {"_scale_inv", "", true},                // T_scale_inv: stacked experts
    {"_scale", "", false},                   // T_scale: Llama-4 experts; layer_scale is a parameter
    {".scale", ".weight", false},            // DeepSeek V4; norm.scale is a parameter
};

// reference/formats.md section 3, "activation side" and "KV cache"; case C09.
constexpr AuxiliaryRule kAuxiliaryRules[] = {
    {".scale_input", Role::activation_scale},
    {".input_scale", Role::activation_scale},
    {".act_scale", Role::activation_scale},
    {".activation_scale", Role::activation_scale},
    {"_activation_scale", Role::activation_scale},
    {".qscale_act", Role::activation_scale},
    {".input_scale_ub", Role::activation_scale},
    {".input_global_scale", Role::activation_scale},
    {".input_absmax", Role::activation_scale},
    {".output_scale", Role::activation_scale},
    {".weight_scalar", Role::marker},                      // convert-to-quant: for hardware without MXFP8
    {"._weight_act_quant_scale", Role::activation_scale},  // torchao, from here on
    {"._weight_act_quant_zero_point", Role::activation_scale},
    {"._weight_act_per_tensor_scale", Role::activation_scale},
    {".k_scale", Role::kv_scale},
    {".v_scale", Role::kv_scale},
    {".q_scale", Role::kv_scale},
    {".kv_scale", Role::kv_scale},
    {".prob_output_scale", Role::kv_scale},
    {".comfy_quant", Role::marker},
    {".comfy_attention.config", Role::marker},
};

constexpr FusedRule kFusedRules[] = {
    {"qkv_proj", 3}, {"gate_up_proj", 2}, {"w13", 2}, {"qkv", 3}, {"kv_proj", 2}, {"fused_qkv_a_proj", 2},
};

constexpr DtypeSet kU8 = dtype_bit(Dtype::U8);
constexpr DtypeSet kI8 = dtype_bit(Dtype::I8);
constexpr DtypeSet kI32 = dtype_bit(Dtype::I32);
constexpr DtypeSet kAny = ~DtypeSet{0};
constexpr DtypeSet kFloatScale = dtype_bit(Dtype::F32) | dtype_bit(Dtype::BF16) | dtype_bit(Dtype::F16);
constexpr DtypeSet kExponent = kU8 | dtype_bit(Dtype::F8_E8M0);
constexpr std::string_view kSvdquant =
    ".wscales .wzeros .smooth_factor .smooth_factor_orig .smooth .smooth_orig .proj_down .proj_up "
    ".lora_down .lora_up .wtscale .wcscales";
constexpr std::string_view kGptq = ".qzeros .scales .g_idx";
constexpr std::string_view kHqq =
    ".scale .zero .scale_q .zero_q .zero_scale .nbits .group_size .shape .axis .packing .view_as_float "
    ".unpack_view_dtype .compute_dtype .channel_wise .optimize .round_zero .quant_scale .quant_zero .offload_meta "
    ".encoded_state_dict .stores_quant_config";
constexpr std::string_view kTorchao =
    "._weight_scale ._weight_scale_and_zero ._weight_zero_point ._weight_per_tensor_scale ._weight_act_pre_scale";
constexpr std::string_view kBnb4 =
    ".weight.absmax .weight.quant_map .weight.nested_absmax .weight.nested_quant_map "
    ".weight.quant_state.bitsandbytes__nf4 .weight.quant_state.bitsandbytes__fp4";

// First match wins; the more telling companion comes first. Source: reference/formats.md sections 3..10.
constexpr PackedRule kPackedRules[] = {
    {"svdquant", ".qweight", kI8 | kI32, ".wscales", 0, 2, kSvdquant},
    {"gptq_or_awq", ".qweight", kI32, ".qzeros", 0, 8, kGptq},
    {"gptq_or_awq", ".qweight", kI32, ".scales", 0, 8, kGptq},
    {"compressed_int", ".weight_packed", kI32, ".weight_scale", 0, 8,
     ".weight_scale .weight_shape .weight_zero_point .weight_g_idx"},
    {"nvfp4", ".weight_packed", kU8, ".weight_global_scale", 0, 2,
     ".weight_scale .weight_global_scale .input_global_scale"},
    {"mxfp4", ".weight_packed", kU8, ".weight_scale", 0, 2, ".weight_scale"},
    {"nvfp4", ".weight", kU8 | kI8, ".weight_scale_2", 0, 2, ".weight_scale .weight_scale_2"},
    {"nvfp4", ".weight", kU8, ".weight_global_scale", 0, 2, ".weight_scale .weight_global_scale .alpha .input_absmax"},
    {"nvfp4", ".weight", kU8, ".weight_scale", dtype_bit(Dtype::F8_E4M3), 2, ".weight_scale"},
    {"mxfp4", "_blocks", kU8, "_scales", 0, 2, "_scales"},
    {"mxfp4", ".blocks", kU8, ".scales", 0, 2, ".scales"},
    {"bnb_4bit", ".weight", kAny, ".weight.absmax", 0, 2, kBnb4},
    {"bnb_int8", ".weight", kI8, ".SCB", 0, 1, ".SCB .weight_format"},
    {"hqq", ".W_q", kAny, ".zero", 0, 2, kHqq},
    {"hqq", ".W_q", kAny, ".zero_q", 0, 2, kHqq},
    {"hqq", ".W_q", kAny, ".zero_scale", 0, 2, kHqq},
    {"quanto", ".weight._data._data", kAny, ".weight._scale", 0, 1, ".weight._scale .weight._shift"},
    {"quanto", ".weight._data", kAny, ".weight._scale", 0, 1, ".weight._scale .weight._shift"},
    {"torchao", "._weight_qdata", kAny, "._weight_scale", 0, 1, kTorchao},
    {"torchao", "._weight_qdata", kAny, "._weight_scale_and_zero", 0, 8, kTorchao},
    {"comfy_int4", ".weight", kI8, ".weight_s_rel", 0, 2,
     ".weight_s_rel .weight_s_channel .weight_codebook .weight_correction"},
    {"comfy_int4", ".weight", kI8, ".weight_zeros", 0, 2, ".weight_scale .weight_zeros"},
    {"mxfp4", ".weight", kU8 | kI8, ".weight_scale", kExponent, 2, ".weight_scale"},
    {"mxfp4", ".weight", kU8 | kI8, ".scale", kExponent, 2, ".scale"},
    {"int8", ".weight", kI8, ".weight_scale", kFloatScale, 1, ".weight_scale .weight_zero_point"},
    {"int8", ".weight", kI8, ".scale_weight", kFloatScale, 1, ".scale_weight"},
    {"int8", ".weight", kI8, ".weight_scale_inv", kFloatScale, 1, ".weight_scale_inv"},
    {"fp4_native", "", dtype_bit(Dtype::F4), "", 0, 1, ""},
    {"fp6_native", "", dtype_bit(Dtype::F6_E2M3) | dtype_bit(Dtype::F6_E3M2), "", 0, 1, ""},
};

constexpr Scheme kSchemes[] = {
    {"fp8_scaled", "fp8 with scales", true, true, "w = f32(code) * f32(scale), rounded once"},
    {"fp8_unscaled", "fp8 without scales", true, true, "w = f32(code), exactly"},
    {"scaled_float", "a scale beside a float weight", true, false, "w as stored, or w * scale if you say so"},
    {"mxfp8", "MXFP8 with tiled scales", true, true, "w = fp8(code) * 2^(e - 127), e by 32 columns, in 128 x 4 tiles"},
    {"nvfp4", "NVFP4", true, true, "w = fp4(code) * (block scale * tensor scale)"},
    {"mxfp4", "MXFP4", true, true, "w = fp4(code) * 2^(e - 127), e by 32 columns"},
    {"int8", "int8 with scales", true, true, "w = code * scale"},
    {"int8_rotated", "int8, rotated (ConvRot)", true, false,
     "w = (code * scale) * H, H a Hadamard matrix by groups of columns"},
    {"comfy_int4", "ComfyUI 4-bit integers", true, false,
     "w = (int4(code) * scale) * H, or a codebook, or with an addend"},
    {"compressed_int", "compressed-tensors packed integers", true, true, "w = (code - 2^(b-1)) * scale"},
    {"gptq_or_awq", "GPTQ or AWQ", true, false, "w = (code - zero) * scale, transposed"},
    {"gptq", "GPTQ", true, false, "w = (code - zero) * scale, transposed"},
    {"awq", "AWQ", true, false, "w = (code - zero) * scale, transposed"},
    {"int4_by_outputs", "ModelOpt INT4_AWQ", true, false, "w = int4(code) * scale, two rows a byte"},
    {"bnb_4bit", "bitsandbytes 4-bit (NF4, FP4)", true, false, "w = table[code] * absmax"},
    {"bnb_int8", "bitsandbytes LLM.int8", true, false, "w = (code * SCB) * f32(1/127)"},
    {"hqq", "HQQ", true, false, "w = (code - zero) * scale"},
    {"quanto", "optimum-quanto", true, true, "w = data * scale"},
    {"torchao", "torchao", true, true, "w = code * scale, or (code - zero) * scale"},
    {"svdquant", "SVDQuant (Nunchaku)", false, false,
     "tiled int4 plus a low-rank part; the weight alone cannot be recovered"},
    {"fp4_native", "native F4 without scales", true, true, "w = fp4(code)"},
    {"fp6_native", "native F6", false, false, "w = fp6(code)"},
    {"unknown_marker", "a format that its marker names", false, false, "unknown"},
};

struct MarkerFormat {
  std::string_view format;
  std::string_view scheme;  ///< empty: plain fp8, decided by dtype and shapes
};
// reference/formats.md 5.2 and 5.4. "blockwise" labels are known to lie; for fp8 the shapes decide.
constexpr MarkerFormat kMarkerFormats[] = {
    {"float8_e4m3fn", ""},          {"float8_e5m2", ""},
    {"float8_e4m3fn_rowwise", ""},  {"float8_e4m3fn_blockwise", ""},
    {"float8_e4m3fn_block3d", ""},  {"mxfp8", "mxfp8"},
    {"hybrid_mxfp8", "mxfp8"},      {"nvfp4", "nvfp4"},
    {"int8_tensorwise", "int8"},    {"int8_blockwise", "int8"},
    {"convrot_w4a4", "comfy_int4"}, {"asym_w4a8_int8", "comfy_int4"},
    {"awq_w4a16", "comfy_int4"},
};

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::parameter: return "parameter";
    case Role::weight: return "weight";
    case Role::scale: return "scale";
    case Role::activation_scale: return "activation_scale";
    case Role::kv_scale: return "kv_scale";
    case Role::marker: return "marker";
    case Role::auxiliary: return "auxiliary";
  }
  return {};
}

std::span<const ScaleRule> scale_rules() { return kScaleRules; }
std::span<const AuxiliaryRule> auxiliary_rules() { return kAuxiliaryRules; }
std::span<const PackedRule> packed_rules() { return kPackedRules; }
std::span<const Scheme> schemes() { return kSchemes; }

uint64_t fused_parts(std::string_view weight_name) {
  std::string_view layer = layer_of(weight_name);
  if (const size_t dot = layer.rfind('.'); dot != std::string_view::npos) layer.remove_prefix(dot + 1);
  for (const FusedRule& rule : kFusedRules) {
    if (layer == rule.name) return rule.parts;
  }
  return 1;
}

const Scheme& scheme(std::string_view id) {
  for (const Scheme& row : kSchemes) {
    if (row.id == id) return row;
  }
  return *std::prev(std::end(kSchemes));
}

std::string_view scheme_of_marker(std::string_view format) {
  for (const MarkerFormat& row : kMarkerFormats) {
    if (row.format == format) return row.scheme;
  }
  return "unknown_marker";
}

std::string_view layer_of(std::string_view weight_name) {
  constexpr std::string_view kWeight = ".weight";
  return ends_with(weight_name, kWeight) ? weight_name.substr(0, weight_name.size() - kWeight.size()) : weight_name;
}

}  // namespace wb
