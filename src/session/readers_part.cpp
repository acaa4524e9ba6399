// The part of the report about readers.
#include "session/json_parts.h"

namespace wb {
namespace {

void write_finding(JsonWriter& json, const Inventory& inventory, const ReaderFinding& finding) {
  const ReaderRule* const rule = finding.rule;
  json.begin_object().field("answer", answer_name(finding.answer));
  json.field("outcome", outcome_name(rule ? rule->outcome : ReadOutcome::unknown)).field("weights", finding.weights);
  json.field("scheme", finding.scheme).field("example", std::string_view(inventory.tensors[finding.example].name));
  if (rule) {
    json.field("rule", rule->id).field("says", rule->says);
    const std::string because = condition_text(*rule);
    json.field("because", std::string_view(because)).key("source").begin_object();
    json.field("url", rule->source.url).field("place", rule->source.place).end_object();
  }
  json.end_object();
}

}  // namespace

void write_readers(JsonWriter& json, const Inventory& inventory, const std::vector<ReaderVerdict>& verdicts) {
  json.key("readers").begin_array();
  for (const ReaderVerdict& verdict : verdicts) {
    json.begin_object().field("reader", verdict.reader->id).field("title", verdict.reader->title);
    json.field("versions", verdict.reader->versions).field("models", models_name(verdict.reader->models));
    json.field("answer", answer_name(verdict.answer)).key("findings").begin_array();
    for (const ReaderFinding& finding : verdict.findings) write_finding(json, inventory, finding);
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace wb
