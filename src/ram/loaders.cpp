#include "ram/loaders.h"

#include <algorithm>

namespace wb {
namespace {

constexpr uint64_t kF32Bytes = 4;
constexpr uint64_t kHalfBytes = 2;

// Our own conversion, src/wasm and web/engine: the core's heap as it is linked, and two windows in flight.
constexpr uint64_t kCoreHeapBytes = 25'165'824;
constexpr uint64_t kWindowsBytes = 2ull * 1024 * 1024;

// ---------------------------------------------------------------- terms

MemoryTerm pages(std::string_view name, uint64_t bytes) { return {name, TermKind::file_pages, bytes}; }
MemoryTerm anonymous(std::string_view name, uint64_t bytes) { return {name, TermKind::anonymous, bytes}; }
MemoryTerm on_device(std::string_view name, uint64_t bytes) { return {name, TermKind::device, bytes}; }
MemoryTerm transient(std::string_view name, uint64_t bytes, bool on_device = false) {
  return {name, TermKind::transient, bytes, on_device};
}

// A stage without its empty terms; one of them is left, so that there is something to show.
MemoryStage stage(std::string_view name, std::vector<MemoryTerm> terms) {
  const auto empty = [](const MemoryTerm& term) { return term.bytes == 0; };
  std::vector<MemoryTerm> full;
  std::copy_if(terms.begin(), terms.end(), std::back_inserter(full), [&](const auto& term) { return !empty(term); });
  if (full.empty() && !terms.empty()) full.push_back(terms.front());
  return {name, std::move(full), {}};
}

HeldAs own_choice(const LoadCase& load, HeldAs choice) {
  return load.held_as == HeldAs::stored ? choice : load.held_as;
}

// The weights on the graphics card beside what stays in RAM, and the context once it is used.
void use(Stages& stages, const LoadCase& load, std::vector<MemoryTerm> resident, uint64_t weights_bytes,
         uint64_t layer_bytes) {
  if (load.device) {
    resident.push_back(on_device("device_weights", weights_bytes));
    stages.push_back(stage("on_device", resident));
  }
  if (load.kv_bytes > 0)
    resident.push_back(load.device ? on_device("kv_cache", load.kv_bytes) : anonymous("kv_cache", load.kv_bytes));
  if (layer_bytes > 0) resident.push_back(transient("one_layer", layer_bytes, load.device));
  if (load.kv_bytes > 0 || layer_bytes > 0) stages.push_back(stage("in_use", std::move(resident)));
}

// ---------------------------------------------------------------- dequantizing a state dict

// How a loader replaces the quantized weights of a mapped state dict by wider ones.
struct Dequantizing {
  uint64_t wide_bytes;       ///< per weight, in the dict it fills; 0: the compute dtype's
  uint64_t temporary_bytes;  ///< per weight of one tensor, beside source and result; 0: the compute dtype's
  uint64_t expanded_bytes;   ///< more of those where a scale stands for a block and is repeated over it
};

// The file stays mapped until the last tensor that views it is gone, so its pages count through all stages; weights
// that are not quantized and have the compute dtype already stay views for good.
Stages dequantize_dict(const LoadCase& load, const Dequantizing& how) {
  const WeightSums& sums = load.sums.all;
  const HeldAs held_as = own_choice(load, HeldAs::bf16);
  const uint64_t width = held_as_info(held_as).bytes_per_float;
  const uint64_t wide = how.wide_bytes == 0 ? width : how.wide_bytes;
  const uint64_t temporary = how.temporary_bytes == 0 ? width : how.temporary_bytes;
  const MemoryTerm file = pages("file", sums.stored_bytes);
  const MemoryTerm widened =
      anonymous(wide == kF32Bytes ? "float32_weights" : "widened_weights", wide * sums.quantized);
  Stages stages = {stage("map", {file})};
  if (sums.quantized > 0) {
    const uint64_t bytes = temporary * sums.largest_quantized + how.expanded_bytes * sums.expanded_scales;
    stages.push_back(stage("dequantize", {file, widened, transient("one_tensor", bytes)}));
  }
  if (wide != width)
    stages.push_back(stage("cast", {file, widened, transient("one_tensor", width * sums.largest_quantized)}));
  const uint64_t made = width * sums.quantized + others_cast(sums, held_as);
  const std::vector<MemoryTerm> resident = {anonymous("weights", made),
                                            pages("mapped_weights", others_kept(sums, held_as))};
  stages.push_back(stage("resident", resident));
  use(stages, load, resident, made + others_kept(sums, held_as), 0);
  return stages;
}

Stages float32_first(const LoadCase& load) { return dequantize_dict(load, {kF32Bytes, 4, 0}); }
Stages straight_to_half(const LoadCase& load) { return dequantize_dict(load, {0, 8, 0}); }
Stages in_place(const LoadCase& load) { return dequantize_dict(load, {0, 8, 4}); }

// ---------------------------------------------------------------- keeping what is stored

// Weights are views of the mapped file; each layer is widened while it computes.
Stages keep_mapped(const LoadCase& load) {
  const WeightSums& sums = load.sums.all;
  const std::vector<MemoryTerm> resident = {pages("mapped_weights", sums.stored_bytes)};
  Stages stages = {stage("map", resident)};
  use(stages, load, resident, sums.stored_bytes, kHalfBytes * sums.largest_quantized);
  return stages;
}

// The model's parameters were allocated before and are filled from the mapped file.
Stages keep_copied(const LoadCase& load) {
  const WeightSums& sums = load.sums.all;
  const bool fp8 = load.held_as == HeldAs::fp8 && sums.quantized == 0;
  const uint64_t bytes = fp8 ? bytes_as(sums, HeldAs::fp8) : sums.stored_bytes;
  const MemoryTerm weights = anonymous("weights", bytes);
  Stages stages = {stage("map", {pages("file", sums.stored_bytes)}),
                   stage("copy", {pages("file", sums.stored_bytes), weights}), stage("resident", {weights})};
  const uint64_t widened = fp8 ? sums.largest_tensor_floats : sums.largest_quantized;
  use(stages, load, {weights}, bytes, kHalfBytes * widened);
  return stages;
}

// The same with --disable-mmap: every tensor is copied out of the mapping before the next is touched.
Stages keep_read(const LoadCase& load) {
  const WeightSums& sums = load.sums.all;
  const MemoryTerm weights = anonymous("weights", sums.stored_bytes);
  Stages stages = {stage("read", {pages("file", sums.stored_bytes), weights}), stage("resident", {weights})};
  use(stages, load, {weights}, sums.stored_bytes, kHalfBytes * sums.largest_quantized);
  return stages;
}

// A view of the file where the dtype is right, a copy where it is not.
Stages view_or_cast(const LoadCase& load) {
  const WeightSums& sums = load.sums.all;
  const HeldAs held_as = load.held_as;
  const uint64_t kept =
      others_kept(sums, held_as) + (held_as == HeldAs::stored ? sums.stored_bytes - sums.others_bytes : 0);
  const MemoryTerm cast = anonymous("weights", others_cast(sums, held_as));
  Stages stages = {stage("map", {pages("file", sums.stored_bytes), cast}),
                   stage("resident", {cast, pages("mapped_weights", kept)})};
  use(stages, load, stages.back().terms, cast.bytes + kept, 0);
  return stages;
}

uint64_t largest_file(const LoadCase& load) {
  uint64_t bytes = 0;
  for (const WeightSums& file : load.sums.files) bytes = std::max(bytes, file.stored_bytes);
  return bytes;
}

// Block-scaled weights are widened one by one; every shard stays mapped until all are done.
Stages transformers_dequantize(const LoadCase& load) { return dequantize_dict(load, {0, 4, 4}); }

// Tensors go from the mapped shard to the card one by one, so RAM holds pages only.
Stages through_to_device(const LoadCase& load) {
  const WeightSums& sums = load.sums.all;
  const MemoryTerm weights = on_device("device_weights", sums.stored_bytes);
  Stages stages = {stage("load_shards", {pages("one_shard", largest_file(load)), weights})};
  stages.push_back(load.kv_bytes > 0 ? stage("in_use", {weights, on_device("kv_cache", load.kv_bytes)})
                                     : stage("on_device", {weights}));
  return stages;
}

// ---------------------------------------------------------------- reading without a mapping

Stages read_tensors(const LoadCase& load) {
  const std::vector<MemoryTerm> resident = {anonymous("weights", load.sums.all.stored_bytes)};
  Stages stages = {stage("read", resident)};
  use(stages, load, resident, load.sums.all.stored_bytes, 0);
  return stages;
}

// The whole file as one buffer, and every tensor as a copy of its part.
Stages read_buffer(const LoadCase& load) {
  const uint64_t bytes = load.sums.all.stored_bytes;
  const MemoryTerm weights = anonymous("weights", bytes);
  Stages stages = {stage("read", {anonymous("file_buffer", bytes)}),
                   stage("parse", {anonymous("file_buffer", bytes), weights}), stage("resident", {weights})};
  use(stages, load, {weights}, bytes, 0);
  return stages;
}

// A buffer for all weights is allocated, and each tensor read into it or through one of its own size.
Stages native_buffer(const LoadCase& load, uint64_t bytes) {
  const bool through = load.device;
  const uint64_t largest = load.sums.all.largest_tensor_bytes;
  const MemoryTerm buffer = through ? on_device("device_weights", bytes) : anonymous("weights", bytes);
  Stages stages = {stage("read", {buffer, transient("one_tensor", largest)}), stage("resident", {buffer})};
  if (load.kv_bytes > 0) {
    stages.push_back(stage(
        "in_use", {buffer, through ? on_device("kv_cache", load.kv_bytes) : anonymous("kv_cache", load.kv_bytes)}));
  }
  return stages;
}

// fp8 is unknown to ggml and becomes fp16 while it is read.
Stages stable_diffusion_cpp(const LoadCase& load) {
  const WeightSums& sums = load.sums.all;
  return native_buffer(load, load.held_as == HeldAs::stored ? sums.others_bytes - sums.others_narrow +
                                                                  kHalfBytes * (sums.quantized + sums.others_narrow)
                                                            : bytes_as(sums, load.held_as));
}

Stages llama_cpp(const LoadCase& load) {
  return native_buffer(load, bytes_as(load.sums.all, own_choice(load, HeldAs::bf16)));
}

Stages weighbridge(const LoadCase&) {
  return {stage("convert", {anonymous("core_heap", kCoreHeapBytes), transient("windows", kWindowsBytes)}),
          stage("done", {anonymous("core_heap", kCoreHeapBytes)})};
}

// ---------------------------------------------------------------- which rows apply

using KindSet = uint8_t;
constexpr KindSet kind_bit(ModelKind kind) { return static_cast<KindSet>(1u << static_cast<uint8_t>(kind)); }
constexpr KindSet kLanguage = kind_bit(ModelKind::language_model);
constexpr KindSet kEncoders = kind_bit(ModelKind::text_encoder) | kLanguage;
constexpr KindSet kDiffusion = kind_bit(ModelKind::diffusion_model) | kind_bit(ModelKind::vae);

struct Limits {
  KindSet kinds;              ///< beside the unknown, which may be any
  std::string_view families;  ///< separated by spaces; empty: any
  std::string_view schemes;   ///< of quantized weights that it reads; "*": any
  std::string_view held_as;   ///< dtypes it can be told to hold, beside its own choice; "*": any
};

bool lists(std::string_view words, std::string_view word) {
  if (words == "*") return true;
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

std::string refusal_by(const Limits& limits, const LoadCase& load) {
  const ModelFacts& facts = load.facts;
  if (facts.kind != ModelKind::unknown && (limits.kinds & kind_bit(facts.kind)) == 0)
    return "it does not load a " + std::string(model_kind_name(facts.kind)) + " (" + facts.because + ")";
  if (!limits.families.empty() && !facts.family.empty() && !lists(limits.families, facts.family))
    return "it is the loader of another family (" + std::string(limits.families) + "); this is " + facts.family;
  for (const std::string& id : facts.schemes) {
    if (!lists(limits.schemes, id)) return "it does not read " + std::string(scheme(id).title);
  }
  const std::string_view held_as = held_as_info(load.held_as).name;
  if (load.held_as != HeldAs::stored && !lists(limits.held_as, held_as))
    return "it cannot be told to hold this checkpoint as " + std::string(held_as);
  return {};
}

template <const Limits& limits>
std::string within(const LoadCase& load) {
  return refusal_by(limits, load);
}

constexpr Limits kInvokeKrea{kDiffusion | kEncoders, "krea2 z_image", "fp8_scaled fp8_unscaled scaled_float",
                             "bf16 f16 f32"};
constexpr Limits kInvokeFlux{kDiffusion | kEncoders, "flux2 qwen_image", "fp8_scaled fp8_unscaled scaled_float",
                             "bf16 f16 f32"};
constexpr Limits kInvokeIdeogram{kDiffusion, "ideogram4", "fp8_scaled", ""};
constexpr Limits kComfy{kDiffusion | kEncoders, "", "*", ""};
constexpr Limits kComfyCopied{kDiffusion | kEncoders, "", "fp8_scaled fp8_unscaled", "fp8"};
constexpr Limits kDiffusers{kDiffusion | kind_bit(ModelKind::text_encoder), "", "", "bf16 f16 f32"};
constexpr Limits kTransformers{
    kEncoders, "", "fp8_scaled int8 compressed_int gptq awq gptq_or_awq bnb_4bit bnb_int8 hqq quanto torchao mxfp4",
    ""};
constexpr Limits kVllm{kLanguage, "", "fp8_scaled int8 compressed_int gptq awq gptq_or_awq bnb_4bit mxfp4 nvfp4", ""};
constexpr Limits kAnyFile{0xFF, "", "*", ""};
constexpr Limits kStableDiffusionCpp{kDiffusion | kEncoders, "", "fp8_scaled fp8_unscaled", "bf16 f16 f32"};
constexpr Limits kLlamaCpp{kLanguage, "", "", "bf16 f16 f32"};

// Before and after a fix of dequantizing differ only where something is dequantized.
std::string before_the_fix(const LoadCase& load) {
  if (load.sums.all.quantized == 0) return "nothing is quantized, so the fix changes nothing";
  return within<kInvokeKrea>(load);
}

std::string legacy_scales(const LoadCase& load) {
  if (load.facts.markers) return "the file has comfy_quant markers, which this version does not know";
  return within<kComfyCopied>(load);
}

// Without a quantization_config the codes are loaded as if they were weights.
std::string configured(const LoadCase& load) {
  if (!load.facts.has_config) return "it needs the config.json of the model";
  if (load.sums.all.quantized > 0 && load.facts.quant_method.empty())
    return "config.json says nothing about quantization, so the codes would be taken for weights";
  return {};
}

std::string plain_transformers(const LoadCase& load) {
  const std::string refusal = within<kTransformers>(load);
  return refusal.empty() ? configured(load) : refusal;
}

std::string dequantizing_transformers(const LoadCase& load) {
  constexpr std::string_view kSchemes = "fp8_scaled mxfp4";
  const auto& schemes = load.facts.schemes;
  const bool reads = !schemes.empty() &&
                     std::all_of(schemes.begin(), schemes.end(), [&](const auto& id) { return lists(kSchemes, id); });
  if (!reads) return "dequantize=True is for block-scaled fp8 and MXFP4; this file has none, or something else as well";
  const std::string refusal = refusal_by({kEncoders, "", kSchemes, "bf16 f16 f32"}, load);
  return refusal.empty() ? configured(load) : refusal;
}

std::string needs_a_card(const LoadCase& load) {
  if (!load.device) return "it needs a graphics card";
  const std::string refusal = within<kVllm>(load);
  return refusal.empty() ? configured(load) : refusal;
}

std::string needs_gguf(const LoadCase& load) {
  if (load.sums.all.quantized > 0) return "it loads GGUF, and a quantized safetensors file must be converted for that";
  if (load.facts.kind == ModelKind::unknown) return "nothing says that this is a language model";
  return within<kLlamaCpp>(load);
}

std::string our_own(const LoadCase&) { return {}; }

constexpr Loader kLoaders[] = {
    {"invokeai_float32", "InvokeAI before the float32 fix (Krea-2, Z-Image)", "6.x, before PR 9429",
     "krea2.py, z_image.py: weight.float() * scale, cast later", "https://github.com/invoke-ai/InvokeAI/pull/9429",
     float32_first, before_the_fix, true},
    {"invokeai_bf16", "InvokeAI after the float32 fix (Krea-2, Z-Image)", "6.x, from PR 9429",
     "krea2.py _dequantize_scaled_fp8: each tensor straight to the compute dtype",
     "https://github.com/invoke-ai/InvokeAI/pull/9429", straight_to_half, within<kInvokeKrea>, true},
    {"invokeai_in_place", "InvokeAI FLUX.2 and Qwen-Image", "6.x",
     "flux.py _dequantize_fp8_weights, comfyui_state_dict_utils.py", "https://github.com/invoke-ai/InvokeAI/pull/9253",
     in_place, within<kInvokeFlux>, true},
    {"invokeai_fp8_resident", "InvokeAI keeping fp8 (Ideogram-4)", "6.x", "ideogram4.py",
     "https://github.com/invoke-ai/InvokeAI", keep_mapped, within<kInvokeIdeogram>, true},
    {"comfyui_legacy", "ComfyUI with scaled fp8 copied into the model", "0.3.64 (2025-10)",
     "comfy/ops.py scaled_fp8_ops", "https://github.com/comfyanonymous/ComfyUI/blob/v0.3.64/comfy/ops.py", keep_copied,
     legacy_scales, true},
    {"comfyui_comfy_quant", "ComfyUI, quantized layers kept", "0.4 and later", "comfy/ops.py mixed_precision_ops",
     "https://github.com/comfyanonymous/ComfyUI/blob/master/comfy/ops.py", keep_mapped, within<kComfy>, true},
    {"comfyui_no_mmap", "ComfyUI --disable-mmap", "0.4 and later", "comfy/utils.py load_torch_file",
     "https://github.com/comfyanonymous/ComfyUI/blob/master/comfy/utils.py", keep_read, within<kComfy>, true},
    {"diffusers", "diffusers from_pretrained, low_cpu_mem_usage", "0.42.1", "models/model_loading_utils.py",
     "https://github.com/huggingface/diffusers/blob/v0.42.1/src/diffusers/models/model_loading_utils.py", view_or_cast,
     within<kDiffusers>},
    {"transformers", "transformers from_pretrained", "5.24.0", "core_model_loading.py",
     "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/core_model_loading.py", view_or_cast,
     plain_transformers},
    {"transformers_dequantize", "transformers with dequantize=True", "5.24.0", "integrations/finegrained_fp8.py",
     "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/integrations/finegrained_fp8.py",
     transformers_dequantize, dequantizing_transformers},
    {"vllm", "vLLM", "0.11", "model_executor/model_loader/weight_utils.py safetensors_weights_iterator",
     "https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/model_executor/model_loader/weight_utils.py",
     through_to_device, needs_a_card},
    {"torch_load", "torch.load, every tensor read into memory", "2.15.0", "torch/serialization.py, mmap=False",
     "https://github.com/pytorch/pytorch/blob/main/torch/serialization.py", read_tensors, within<kAnyFile>, false,
     Purpose::tensors},
    {"safetensors_bytes", "safetensors.torch.load of the file's bytes", "0.8.0", "safetensors/torch.py load",
     "https://github.com/huggingface/safetensors/blob/v0.8.0/bindings/python/py_src/safetensors/torch.py", read_buffer,
     within<kAnyFile>, false, Purpose::tensors},
    {"safetensors_mmap", "safetensors load_file, as stored", "0.8.0", "bindings/python/src/lib.rs",
     "https://github.com/huggingface/safetensors/blob/v0.8.0/bindings/python/src/lib.rs", view_or_cast,
     within<kAnyFile>, false, Purpose::tensors},
    {"stable_diffusion_cpp", "stable-diffusion.cpp, no mapping", "97d2990 (2026-08)", "src/model.cpp",
     "https://github.com/leejet/stable-diffusion.cpp/blob/master/model.cpp", stable_diffusion_cpp,
     within<kStableDiffusionCpp>},
    {"llama_cpp_no_mmap", "llama.cpp --no-mmap, from a GGUF of the same dtype", "b6000 and later",
     "src/llama-model-loader.cpp", "https://github.com/ggml-org/llama.cpp/blob/master/src/llama-model-loader.cpp",
     llama_cpp, needs_gguf},
    {"weighbridge", "Weighbridge, converting to disk", WB_VERSION, "src/convert, docs/architecture.md", "", weighbridge,
     our_own, false, Purpose::conversion},
};

}  // namespace

std::string_view purpose_name(Purpose purpose) {
  constexpr std::string_view kNames[] = {"program", "tensors", "conversion"};
  return kNames[static_cast<uint8_t>(purpose)];
}

std::span<const Loader> loaders() { return kLoaders; }

const Loader* find_loader(std::string_view id) {
  const auto at =
      std::find_if(std::begin(kLoaders), std::end(kLoaders), [id](const Loader& row) { return row.id == id; });
  return at == std::end(kLoaders) ? nullptr : at;
}

}  // namespace wb
