// Sources: where the rules were read. "Read" means that the code was read at the commit or on the day that is named.
#pragma once

#include "readers/readers.h"

namespace wb {

inline constexpr ReaderSource kContainer{"https://github.com/huggingface/safetensors#format", "Format"};

inline constexpr ReaderSource kComfyLegacy{
    "https://github.com/Comfy-Org/ComfyUI/pull/11000",
    "comfy/ops.py and model_detection.py before it, read at a125cd84 (2025-10-12)"};
inline constexpr ReaderSource kComfyGroups{"https://github.com/Comfy-Org/ComfyUI/issues/10491", "report of 2025-10-26"};
inline constexpr ReaderSource kComfyFp8{"https://github.com/Comfy-Org/ComfyUI/issues/2157", "comment of 2023-12-04"};
inline constexpr ReaderSource kComfyConvert{"https://github.com/Comfy-Org/ComfyUI/pull/11000",
                                            "comfy/utils.py convert_old_quants"};
inline constexpr ReaderSource kComfyOps{
    "https://github.com/Comfy-Org/ComfyUI/blob/0271a469fe29524fafe5872b737123d65a63e5fc/comfy/ops.py",
    "_load_quantized_module"};
inline constexpr ReaderSource kComfyAlgos{
    "https://github.com/Comfy-Org/ComfyUI/blob/0271a469fe29524fafe5872b737123d65a63e5fc/comfy/quant_ops.py",
    "QUANT_ALGOS"};
inline constexpr ReaderSource kComfyNoMarker{"https://github.com/Comfy-Org/ComfyUI/issues/15511",
                                             "report of 2026-08-11"};
inline constexpr ReaderSource kComfyKernel{"https://github.com/Comfy-Org/comfy-kitchen",
                                           "fp8 kernel, read at 7d86acf: it reads scale[0]"};
inline constexpr ReaderSource kComfyInt8{"https://github.com/Comfy-Org/ComfyUI/pull/14636", "merged June 2026"};
inline constexpr ReaderSource kComfyInt8Before{"https://github.com/BobJohnson24/ComfyUI-INT8-Fast/issues/90",
                                               "report of 2026-06-30"};
inline constexpr ReaderSource kComfyInt8Blocks{"https://github.com/Comfy-Org/ComfyUI/issues/12830",
                                               "report of 2026-03-08"};
inline constexpr ReaderSource kComfyMxfp8{"https://github.com/Comfy-Org/ComfyUI/pull/12907", "merged March 2026"};

inline constexpr std::string_view kInvokeFiles =
    "https://github.com/invoke-ai/InvokeAI/tree/main/invokeai/backend/model_manager/load/model_loaders";
inline constexpr ReaderSource kInvokeKrea2{
    "https://github.com/invoke-ai/InvokeAI/blob/0b0c8bb73b7c2c99b404e0c01291cf61b9ed06c7/invokeai/backend/"
    "model_manager/load/model_loaders/krea2.py",
    "_dequantize_scaled_fp8"};
inline constexpr ReaderSource kInvokeFlux{kInvokeFiles, "flux.py _dequantize_fp8_weights, read at 8e71a8a5"};
inline constexpr ReaderSource kInvokeZImage{kInvokeFiles, "z_image.py, read at 8e71a8a5"};
inline constexpr ReaderSource kInvokeQwen{kInvokeFiles,
                                          "qwen_image.py and wan.py _dequantize_comfyui_fp8, read at 8e71a8a5"};
inline constexpr ReaderSource kInvokeHelper{kInvokeFiles, "comfyui_state_dict_utils.py, read at 8e71a8a5"};
inline constexpr ReaderSource kInvoke9478{"https://github.com/invoke-ai/InvokeAI/pull/9478", "description"};
inline constexpr ReaderSource kInvoke9478Review{"https://github.com/invoke-ai/InvokeAI/pull/9478",
                                                "review of e93854e6, blocker 1"};

inline constexpr ReaderSource kWanWrapper{"https://github.com/kijai/ComfyUI-WanVideoWrapper",
                                          "custom_linear.py, read at 33175770"};
inline constexpr ReaderSource kWanWrapperMicro{"https://github.com/kijai/ComfyUI-WanVideoWrapper/issues/1966",
                                               "report of 2026-03-15"};
inline constexpr ReaderSource kComfyGguf{"https://github.com/city96/ComfyUI-GGUF/issues/293", "and tools/convert.py"};

inline constexpr ReaderSource kSdcppNoScale{"https://github.com/leejet/stable-diffusion.cpp/pull/1898", "description"};
inline constexpr ReaderSource kSdcppReader{
    "https://github.com/leejet/stable-diffusion.cpp/blob/"
    "0a7ae07f948eff4611968a65a22bd7c7031ad74f/src/model_io/safetensors_io.cpp",
    "str_to_ggml_type, read_safetensors_file"};
inline constexpr ReaderSource kSdcppScale{"https://github.com/leejet/stable-diffusion.cpp/pull/1913", "summary"};
inline constexpr ReaderSource kSdcppInt8{"https://github.com/leejet/stable-diffusion.cpp/pull/1857", "summary"};
inline constexpr ReaderSource kSglangMxfp8{"https://github.com/sgl-project/sglang/pull/38028", "motivation"};
inline constexpr ReaderSource kDiffusersBnb{"https://huggingface.co/docs/diffusers/quantization/bitsandbytes",
                                            "quantization, bitsandbytes"};
inline constexpr ReaderSource kDiffusersFp8{"https://github.com/huggingface/diffusers/pull/11647", "open"};

inline constexpr ReaderSource kTransformersTypes{"https://github.com/coreweave/tensorizer/issues/171",
                                                 "the error names the supported types"};
inline constexpr ReaderSource kTransformersFp8{
    "https://github.com/huggingface/transformers/blob/0095b97653938e60bedf484ded6499f486611582/src/transformers/"
    "integrations/finegrained_fp8.py",
    "FP8Linear"};
inline constexpr ReaderSource kTransformersScalar{"https://github.com/huggingface/transformers/pull/42715",
                                                  "Ministral, one scale a tensor"};
inline constexpr ReaderSource kTransformersNoConfig{"https://github.com/huggingface/transformers/issues/35471",
                                                    "the config block removed"};
inline constexpr ReaderSource kTransformersMxfp4{"https://github.com/huggingface/transformers",
                                                 "integrations/mxfp4.py"};
inline constexpr ReaderSource kTransformersBlocks{"https://github.com/huggingface/transformers",
                                                  "integrations/finegrained_conversions.py"};
inline constexpr ReaderSource kTransformersDocs{
    "https://raw.githubusercontent.com/huggingface/transformers/main/docs/source/en/quantization/overview.md",
    "Load a pre-quantized checkpoint"};

inline constexpr ReaderSource kVllmFp8{
    "https://github.com/vllm-project/vllm/blob/"
    "0071b24bf8fe8c3d1bc3516d0ff8477f07964aaf/vllm/model_executor/layers/quantization/"
    "fp8.py",
    "Fp8LinearMethod.create_weights"};
inline constexpr ReaderSource kVllmExponents{"https://github.com/vllm-project/vllm/pull/51946", "description"};
inline constexpr ReaderSource kVllmModelopt{"https://docs.vllm.ai/en/v0.29.0/features/quantization/modelopt/",
                                            "Supported ModelOpt checkpoint formats"};
inline constexpr ReaderSource kVllmDocs{"https://docs.vllm.ai/en/v0.15.1/features/quantization/", "supported formats"};
inline constexpr ReaderSource kSglangDocs{
    "https://github.com/sgl-project/sglang/blob/0f4513c2f46be5ae1e0d9bf0a8f7b5471a8b3d16/docs/advanced_features/"
    "quantization.md",
    "Platform Compatibility"};
inline constexpr ReaderSource kSglangNoConfig{"https://github.com/sgl-project/sglang/issues/4018", "report"};
inline constexpr ReaderSource kLlamaCpp{
    "https://github.com/ggml-org/llama.cpp/blob/"
    "0024aa7417efd50a7c2a79e049dfbbbceb0beaaf/convert_hf_to_gguf.py",
    "dequant_model"};
inline constexpr ReaderSource kLlamaCppNames{
    "https://github.com/ggml-org/llama.cpp/blob/"
    "0024aa7417efd50a7c2a79e049dfbbbceb0beaaf/convert_hf_to_gguf.py",
    "map_tensor_name"};
inline constexpr ReaderSource kGptqModel{"https://github.com/ModelCloud/GPTQModel/wiki/Loading-and-Inference",
                                         "GPTQModel.load"};
inline constexpr ReaderSource kGptqModelFormats{"https://github.com/ModelCloud/GPTQModel",
                                                "nn_modules/qlinear/__init__.py, read in August 2026"};
inline constexpr ReaderSource kBitsandbytes{"https://github.com/bitsandbytes-foundation/bitsandbytes",
                                            "functional.py and nn/modules.py, read in August 2026"};
inline constexpr ReaderSource kDeepseekCast{
    "https://github.com/deepseek-ai/DeepSeek-V3/blob/main/inference/fp8_cast_bf16.py", "main"};
inline constexpr ReaderSource kRawCast{"https://github.com/Lightricks/LTX-2/pull/172", "root cause"};
inline constexpr ReaderSource kRawBytes{"https://github.com/onnxruntime/mobius/pull/446", "packed bytes as a matrix"};

}  // namespace wb
