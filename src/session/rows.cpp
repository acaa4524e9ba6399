// Rows: tensors and pairs, a page at a time.
#include <algorithm>

#include "base/json_writer.h"
#include "session/json_parts.h"
#include "session/replies.h"

namespace wb {
namespace {

void write_shape(JsonWriter& json, const Shape& shape) {
  json.key("shape").begin_array();
  for (const uint64_t dim : shape) json.value(dim);
  json.end_array();
}

std::string_view dtype_text(const Tensor& tensor) {
  return tensor.unknown_dtype.empty() ? dtype_info(tensor.dtype).name : std::string_view(tensor.unknown_dtype);
}

void write_tensor(JsonWriter& json, const Inspection& inspection, const Pairing& pairing, uint32_t index) {
  const Tensor& tensor = inspection.inventory.tensors[index];
  const DtypeKind kind = tensor.unknown_dtype.empty() ? dtype_info(tensor.dtype).kind : DtypeKind::other;
  json.begin_object()
      .field("name", std::string_view(tensor.name))
      .field("dtype", dtype_text(tensor))
      .field("kind", dtype_kind_name(kind));
  write_shape(json, tensor.shape);
  json.field("source", tensor.source)
      .field("begin", tensor.begin)
      .field("end", tensor.end)
      .field("elements", tensor.elements);
  json.field("role", role_name(pairing.roles[index])).field("pair", static_cast<int>(pairing.pair_of[index]));
  if (const auto* values = inspection.values.inline_values(index)) {
    json.key("values").begin_array();
    for (const float value : *values) json.value(value);
    json.end_array();
  }
  json.field("missing_bytes", tensor.missing_bytes).end_object();
}

std::string_view state_name(PairState state) {
  switch (state) {
    case PairState::ok: return "ok";
    case PairState::noted: return "noted";
    case PairState::undecided: return "undecided";
    case PairState::refused: return "refused";
  }
  return {};
}

struct EvidenceText {
  Evidence evidence;
  std::string_view source;
  std::string_view says;
};

constexpr EvidenceText kEvidence[] = {
    {Evidence::quantization_metadata, "_quantization_metadata", "the file's metadata names this layer and its format"},
    {Evidence::comfy_quant, "comfy_quant", "a marker tensor beside the weight names its format"},
    {Evidence::config, "config", "the config beside the file says that it is quantized"},
    {Evidence::scaled_fp8_marker, "scaled_fp8", "the file carries ComfyUI's marker for scaled fp8"},
    {Evidence::name, "name", "a tensor stands beside it under a scale's name"},
    {Evidence::dtypes_and_shapes, "dtypes and shapes", "they fit this reading"},
};

void write_scale(JsonWriter& json, const Inspection& inspection, uint32_t index) {
  const Tensor& scale = inspection.inventory.tensors[index];
  json.begin_object().field("name", std::string_view(scale.name)).field("dtype", dtype_text(scale));
  write_shape(json, scale.shape);
  json.field("source", scale.source);
  const ScaleStats* stats = inspection.values.scale(index);
  if (stats && stats->read == scale.elements && stats->read > 0) {
    const bool only_nan = stats->nan == stats->read;
    const float nan = __builtin_nanf("");
    if (stats->read == 1) json.field("value", only_nan ? nan : stats->min);
    json.field("min", only_nan ? nan : stats->min).field("max", only_nan ? nan : stats->max);
  }
  json.end_object();
}

void write_pair(JsonWriter& json, const Inspection& inspection, const Pair& pair) {
  const Inventory& inventory = inspection.inventory;
  const bool orphan = pair.weight == kNoTensor;
  const Tensor none;
  const Tensor& weight = orphan ? none : inventory.tensors[pair.weight];
  json.begin_object().field("weight", std::string_view(pair_name(inventory, pair))).field("scheme", pair.scheme);
  json.field("dtype", orphan ? std::string_view() : dtype_text(weight));
  write_shape(json, weight.shape);
  json.field("parameters", pair.parameters(inventory)).field("bytes", weight.bytes());
  json.field("granularity", granularity_name(pair.granularity)).key("group").begin_array();
  json.value(pair.grid.group_rows).value(pair.grid.group_cols).end_array().key("scales").begin_array();
  for (const uint32_t scale : pair.scales) write_scale(json, inspection, scale);
  const std::string formula = formula_text(inventory, pair);
  json.end_array().field("formula", std::string_view(formula)).key("evidence").begin_array();
  for (const EvidenceText& row : kEvidence) {
    if (pair.evidence & evidence_bit(row.evidence))
      json.begin_object().field("source", row.source).field("says", row.says).end_object();
  }
  json.end_array().field("state", state_name(pair.state())).key("issues").begin_array();
  for (const Error& issue : pair.issues) {
    write_issue(json, {issue.code, issue.where.empty() ? pair_name(inventory, pair) : issue.where, issue.message});
  }
  json.end_array().end_object();
}

// [first, last) clipped to a list's size.
std::pair<uint32_t, uint32_t> clip(uint64_t first, uint64_t count, size_t size) {
  const uint64_t begin = std::min<uint64_t>(first, size);
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + std::min<uint64_t>(count, size - begin))};
}

}  // namespace

void tensors_reply(const Inspection& inspection, const Pairing& pairing, uint64_t first, uint64_t count,
                   std::string& reply) {
  reply.clear();
  JsonWriter json(reply);
  json.begin_array();
  const auto [begin, end] = clip(first, count, inspection.inventory.tensors.size());
  for (uint32_t i = begin; i < end; ++i) write_tensor(json, inspection, pairing, i);
  json.end_array();
}

void pairs_reply(const Inspection& inspection, const Pairing& pairing, uint64_t first, uint64_t count,
                 std::string& reply) {
  reply.clear();
  JsonWriter json(reply);
  json.begin_array();
  const auto [begin, end] = clip(first, count, pairing.pairs.size());
  for (uint32_t i = begin; i < end; ++i) write_pair(json, inspection, pairing.pairs[i]);
  json.end_array();
}

}  // namespace wb
