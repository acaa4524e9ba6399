// Plan and receipt: what will be written, and what a finished conversion says about itself.
#include <algorithm>

#include "base/json_writer.h"
#include "session/json_parts.h"
#include "session/replies.h"
#include "session/resumption.h"

namespace wb {
namespace {

constexpr size_t kNamesMax = 100;

void write_plan_fields(JsonWriter& json, const Plan& plan) {
  json.field("to", plan.as_stored          ? "stored"
                   : plan.to == Dtype::F16 ? "f16"
                                           : "bf16")
      .field("others", plan.cast_others ? "cast" : "keep");
  json.field("recipe", recipe_name(plan.recipe));
  uint64_t header_bytes = 0;
  json.key("files").begin_array();
  for (const OutputFile& file : plan.files) {
    json.begin_object().field("name", std::string_view(file.name)).field("bytes", file.bytes).end_object();
    header_bytes += file.header.size();
  }
  json.end_array().field("index", std::string_view(plan.index_name));
  json.field("output_bytes", plan.output_bytes).field("output_header_bytes", header_bytes);
  json.field("read_bytes", plan.read_bytes).field("tensors", static_cast<uint64_t>(plan.steps.size()));
  json.field("dequantized", plan.dequantized).field("cast", plan.cast).field("copied", plan.copied);
  json.field("kept_quantized", plan.kept_quantized).field("copies_only", copies_only(plan));
  json.field("dropped", static_cast<uint64_t>(plan.dropped.size())).key("notes").begin_array();
  for (const std::string& note : plan.notes) json.value(std::string_view(note));
  json.end_array();
}

}  // namespace

std::string error_reply(const Error& error) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().key("error");
  write_issue(json, error);
  json.end_object();
  return text;
}

std::string plan_reply(const Plan& plan, uint64_t fingerprint) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  write_plan_fields(json, plan);
  json.field("fingerprint", std::string_view(hex_text(fingerprint))).end_object();
  return text;
}

std::string copies_reply(const Inventory& inventory, const Plan& plan, uint64_t first, uint64_t count) {
  std::string text;
  JsonWriter json(text);
  json.begin_array();
  for (uint64_t i = first; i < plan.steps.size() && i - first < count; ++i) {
    const Step& step = plan.steps[static_cast<size_t>(i)];
    const Tensor& tensor = inventory.tensors[step.tensor];
    json.begin_array().value(step.file).value(tensor.source).value(tensor.begin).value(tensor.end).end_array();
  }
  json.end_array();
  return text;
}

std::string decisions_reply(const Plan& plan) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().key("decisions").begin_array();
  for (const OpenQuestion& question : plan.questions) write_decision(json, question);
  json.end_array().end_object();
  return text;
}

std::string receipt_reply(const Inspection& inspection, const Plan& plan, const Outcome& outcome) {
  const Inventory& inventory = inspection.inventory;
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  write_plan_fields(json, plan);
  json.field("version", WB_VERSION).key("sources").begin_array();
  for (const Source& source : inventory.sources) {
    json.begin_object()
        .field("name", std::string_view(source.name))
        .field("size_bytes", source.size_bytes)
        .end_object();
  }
  json.end_array().key("assumed").begin_array();
  for (const AppliedAssumption& each : plan.assumed) {
    json.begin_object().field("subject", std::string_view(each.subject)).field("choice", std::string_view(each.choice));
    json.field("tensors", each.tensors).end_object();
  }
  // The core did not see bytes that the host moved itself.
  const std::string hash = outcome.hashed ? hex_text(outcome.output_hash) : std::string();
  json.end_array().field("output_xxh64", std::string_view(hash)).field("verified", outcome.verified);
  kernels::F16Loss loss;
  size_t named = 0;
  json.key("nan_tensors").begin_array();
  for (size_t i = 0; i < outcome.steps.size(); ++i) {
    loss += outcome.steps[i].loss;
    if (outcome.steps[i].nan_codes == 0 || named++ >= kNamesMax) continue;
    json.begin_object().field("name", std::string_view(inventory.tensors[plan.steps[i].tensor].name));
    json.field("count", outcome.steps[i].nan_codes).end_object();
  }
  json.end_array()
      .field("f16_overflow", loss.overflow)
      .field("f16_underflow", loss.underflow)
      .key("dropped_names")
      .begin_array();
  for (size_t i = 0; i < plan.dropped.size(); ++i)
    json.value(std::string_view(inventory.tensors[plan.dropped[i]].name));
  json.end_array().end_object();
  return text;
}

}  // namespace wb
