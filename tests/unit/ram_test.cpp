// RAM: the sums, every row of the loader table, verdicts, pipelines, KV caches. The numbers are those of the issue and
// of the projects the rows were read from.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "oracle/pump.h"
#include "ram/help.h"
#include "session/ram_reply.h"

using namespace wb;
using Json = nlohmann::json;

namespace {

Tensor tensor(const std::string& name, Dtype dtype, uint64_t elements, uint64_t begin) {
  Tensor each;
  each.name = name;
  each.dtype = dtype;
  each.shape = {elements};
  each.elements = elements;
  each.begin = begin;
  each.end = begin + elements * dtype_info(dtype).bits / 8;
  return each;
}

// `layers` fp8 weights of `size` with a scale each, and a little beside them.
Inventory fp8_layers(uint64_t layers, uint64_t size, const std::string& stem = "blocks.") {
  Inventory inventory;
  uint64_t at = 0;
  for (uint64_t i = 0; i < layers; ++i) {
    const std::string layer = stem + std::to_string(i);
    for (const Tensor& each : {tensor(layer + ".weight", Dtype::F8_E4M3, size, at),
                               tensor(layer + ".weight_scale", Dtype::F32, 1, at + size)}) {
      at = each.end;
      inventory.tensors.push_back(each);
    }
  }
  Source source;
  source.name = "m.safetensors";
  source.size_bytes = at;
  inventory.sources.push_back(source);
  REQUIRE(inventory.build_index().empty());
  return inventory;
}

LoadCase case_of(const Inventory& inventory) {
  LoadCase load;
  const Pairing pairing = find_pairs(inventory, {}, {});
  load.sums = checkpoint_sums(inventory, pairing);
  identify(inventory, pairing, load.facts);
  return load;
}

Stages stages_of(std::string_view id, const LoadCase& load) {
  const Loader* loader = find_loader(id);
  REQUIRE(loader);
  REQUIRE(loader->refusal(load).empty());
  return loader->stages(load);
}

const MemoryStage& named(const Stages& stages, std::string_view name) {
  for (const MemoryStage& stage : stages) {
    if (stage.stage == name) return stage;
  }
  FAIL("there is no stage " << name);
  return stages[0];
}

uint64_t term(const MemoryStage& stage, std::string_view name) {
  for (const MemoryTerm& each : stage.terms) {
    if (each.name == name) return each.bytes;
  }
  return 0;
}

constexpr uint64_t kParameters = 12'200'000'000;
constexpr uint64_t kLayer = 61'000'000;

}  // namespace

TEST_CASE("ram: 12.2e9 one-byte parameters are 12 GB on disk, 49 as float32, 25 as bf16, 61 and 37 at the overlap") {
  LoadCase load = case_of(fp8_layers(kParameters / kLayer, kLayer));
  const WeightSums& sums = load.sums.all;
  CHECK(sums.parameters == kParameters);
  CHECK(sums.stored_bytes == kParameters + 800);
  CHECK(bytes_as(sums, HeldAs::bf16) == 2 * kParameters);
  CHECK(bytes_as(sums, HeldAs::f32) == 4 * kParameters);
  CHECK(bytes_as(sums, HeldAs::fp8) == kParameters);

  const Stages before = stages_of("invokeai_float32", load);
  CHECK(before[0].ram_bytes() == kParameters + 800);
  CHECK(term(named(before, "dequantize"), "float32_weights") == 4 * kParameters);
  CHECK(named(before, "dequantize").ram_bytes() == 5 * kParameters + 800 + 4 * kLayer);
  CHECK(named(before, "dequantize").firm_bytes() == 4 * kParameters + 4 * kLayer);
  CHECK(named(before, "resident").ram_bytes() == 2 * kParameters);

  const Stages after = stages_of("invokeai_bf16", load);
  CHECK(term(named(after, "dequantize"), "widened_weights") == 2 * kParameters);
  CHECK(named(after, "dequantize").ram_bytes() == 3 * kParameters + 800 + 8 * kLayer);
  CHECK(after.back().device_bytes() == 2 * kParameters);

  const Stages kept = stages_of("comfyui_comfy_quant", load);
  CHECK(kept.back().firm_bytes() == 0);
  CHECK(kept.back().device_bytes() == kParameters + 800 + 2 * kLayer);
  load.device = false;
  CHECK(stages_of("comfyui_comfy_quant", load).back().firm_bytes() == 2 * kLayer);
}
