// The table of readers and rules. To correct an answer, change its row and the row's source; docs/readers.md says how.
// "Read" in a source means that its code was read at the commit or on the day that is named.
#include "readers/readers.h"
#include "readers/sources.h"

namespace wb {
namespace {

constexpr ReadAnswer kRight = ReadAnswer::reads_right;
constexpr ReadAnswer kWrong = ReadAnswer::reads_wrong;
constexpr ReadAnswer kUnknown = ReadAnswer::unknown;

constexpr FactSet kLayerMarker = fact_bit(Fact::layer_marker);
constexpr FactSet kLegacyMarker = fact_bit(Fact::legacy_marker);
constexpr FactSet kAnyMarker = kLayerMarker | kLegacyMarker;
constexpr FactSet kPerTensor = fact_bit(Fact::per_tensor);
constexpr FactSet kPerRow = fact_bit(Fact::per_row);
constexpr FactSet kGrouped = fact_bit(Fact::grouped);
constexpr FactSet kFlat = fact_bit(Fact::flat_scale);
constexpr FactSet kRagged = fact_bit(Fact::ragged);
constexpr FactSet kSquare = fact_bit(Fact::square);
constexpr FactSet kExponent = fact_bit(Fact::exponent);
constexpr FactSet kTiled = fact_bit(Fact::tiled);
constexpr FactSet kE5m2 = fact_bit(Fact::e5m2);
constexpr FactSet kLostScale = fact_bit(Fact::lost_scale);
constexpr FactSet kThreeBits = fact_bit(Fact::three_bits);
constexpr FactSet kGroupIndex = fact_bit(Fact::group_index);
constexpr FactSet kNormOrTime = fact_bit(Fact::norm_or_time);

constexpr Reader kReaders[] = {
    {"comfyui_2025", "ComfyUI", "before PR 11000 (December 2025)", Models::image},
    {"comfyui_2026", "ComfyUI", "from PR 11000 until PR 14636 (June 2026, before v0.27)", Models::image},
    {"comfyui", "ComfyUI", "since PR 14636 (v0.27); read at 0271a469", Models::image},
    {"invokeai", "InvokeAI", "main on 2026-08-19, before and after PR 9429 alike", Models::image},
    {"invokeai_9478", "InvokeAI", "with PR 9478, open on 2026-08-08", Models::image},
    {"wan_wrapper", "WanVideoWrapper (Kijai)", "read at 33175770, without PR 2029", Models::image},
    {"comfyui_gguf", "ComfyUI-GGUF convert.py", "2026", Models::image},
    {"sdcpp_old", "stable-diffusion.cpp", "before PR 1857 (5 August 2026)", Models::image},
    {"sdcpp", "stable-diffusion.cpp", "since PR 1913 (26 August 2026)", Models::image},
    {"sglang_diffusion", "SGLang-Diffusion", "without PR 38028, open on 2026-09-04", Models::image},
    {"diffusers", "diffusers", "0.33 and later", Models::image},
    {"transformers_old", "transformers", "before PR 36026 (February 2025)", Models::language},
    {"transformers", "transformers", "since PR 36026 (February 2025)", Models::language},
    {"transformers_dequantize", "transformers, dequantize=True", "since PR 36026 (February 2025)", Models::language},
    {"vllm_old", "vLLM", "before PR 51946", Models::language},
    {"vllm", "vLLM", "since PR 51946", Models::language},
    {"sglang", "SGLang", "documentation read at 0f4513c2", Models::language},
    {"llama_cpp", "llama.cpp convert_hf_to_gguf.py", "read at 0024aa74", Models::language},
    {"gptqmodel", "GPTQModel", "documentation of c1976918", Models::language},
    {"bitsandbytes", "bitsandbytes", "read in August 2026", Models::any},
    {"deepseek_cast", "DeepSeek-V3 fp8_cast_bf16.py", "since PR 2", Models::language},
    {"load_file", "safetensors load_file, then .to(bfloat16)", "any version", Models::any},
};

constexpr std::string_view kEveryReader =
    "comfyui_2025 comfyui_2026 comfyui invokeai invokeai_9478 wan_wrapper comfyui_gguf sdcpp_old sdcpp "
    "sglang_diffusion diffusers transformers_old transformers transformers_dequantize vllm_old vllm sglang llama_cpp "
    "gptqmodel bitsandbytes deepseek_cast load_file";
constexpr std::string_view kComfyNewer = "comfyui_2026 comfyui";
constexpr std::string_view kInt8 = "int8 int8_rotated";

// clang-format off: a row stays together
constexpr ReaderRule kRules[] = {
#include "readers/rules_comfyui.inc"
#include "readers/rules_image.inc"
#include "readers/rules_language.inc"
};
// clang-format on

}  // namespace

std::span<const Reader> readers() { return kReaders; }
std::span<const ReaderRule> reader_rules() { return kRules; }

}  // namespace wb
