#include "readers/readers.h"

#include <algorithm>

namespace wb {
namespace {

// A list that asks nothing, or one that has the word; "-" stands for an empty one.
bool asks_for(std::string_view words, std::string_view word) {
  return words.empty() || has_word(words, word.empty() ? "-" : word);
}

struct FileFacts {
  std::string_view method;
  std::string_view format;
  std::string_view family;
};

bool matches(const ReaderRule::Condition& when, const WeightKind& kind, const FileFacts& file) {
  if ((kind.facts & when.all) != when.all || (kind.facts & when.none) != 0) return false;
  if (!asks_for(when.schemes, kind.scheme) || !asks_for(when.scales, kind.scale)) return false;
  if (!asks_for(when.methods, file.method) || !asks_for(when.formats, file.format)) return false;
  return when.families.empty() || has_word(when.families, file.family);
}

const ReaderRule* rule_for(const Reader& reader, const WeightKind& kind, const FileFacts& file) {
  for (const ReaderRule& rule : reader_rules()) {
    if (has_word(rule.readers, reader.id) && matches(rule.when, kind, file)) return &rule;
  }
  return nullptr;
}

void add_finding(const ReaderRule* rule, const WeightKind& kind, ReaderVerdict& verdict) {
  const auto same = [&](const ReaderFinding& each) { return each.rule == rule && each.scheme == kind.scheme; };
  const auto at = std::find_if(verdict.findings.begin(), verdict.findings.end(), same);
  if (at != verdict.findings.end()) {
    at->weights += kind.weights;
    return;
  }
  const ReadAnswer answer = rule ? rule->answer : ReadAnswer::unknown;
  verdict.findings.push_back({rule, answer, kind.weights, kind.scheme, kind.example});
}

ReaderVerdict judge(const Reader& reader, const std::vector<WeightKind>& kinds, const FileFacts& file) {
  ReaderVerdict verdict;
  verdict.reader = &reader;
  for (const WeightKind& kind : kinds) add_finding(rule_for(reader, kind, file), kind, verdict);
  std::stable_sort(verdict.findings.begin(), verdict.findings.end(),
                   [](const ReaderFinding& a, const ReaderFinding& b) {
                     return a.answer != b.answer ? a.answer < b.answer : a.weights > b.weights;
                   });
  verdict.answer = verdict.findings.front().answer;
  return verdict;
}

std::string alternatives(std::string_view words) {
  std::string text;
  for (const char c : words) text += c == ' ' ? std::string(" or ") : std::string(1, c);
  return text;
}

void append(std::string& text, const std::string& part) { text += (text.empty() ? "" : "; ") + part; }

}  // namespace

std::string_view answer_name(ReadAnswer answer) {
  switch (answer) {
    case ReadAnswer::reads_wrong: return "reads_wrong";
    case ReadAnswer::unknown: return "unknown";
    case ReadAnswer::reads_right: return "reads_right";
  }
  return {};
}

std::string_view outcome_name(ReadOutcome outcome) {
  switch (outcome) {
    case ReadOutcome::correct: return "correct";
    case ReadOutcome::scale_ignored: return "scale_ignored";
    case ReadOutcome::wrong_scale: return "wrong_scale";
    case ReadOutcome::wrong_layout: return "wrong_layout";
    case ReadOutcome::codes_as_numbers: return "codes_as_numbers";
    case ReadOutcome::precision_lost: return "precision_lost";
    case ReadOutcome::refused: return "refused";
    case ReadOutcome::crash: return "crash";
    case ReadOutcome::unknown: return "unknown";
  }
  return {};
}

std::string_view models_name(Models models) {
  switch (models) {
    case Models::image: return "image";
    case Models::language: return "language";
    case Models::any: return "any";
  }
  return {};
}

std::string condition_text(const ReaderRule& rule) {
  const ReaderRule::Condition& when = rule.when;
  std::string text;
  if (!when.families.empty()) append(text, "family " + alternatives(when.families));
  if (!when.schemes.empty()) append(text, "scheme " + alternatives(when.schemes));
  if (!when.scales.empty()) append(text, "scale under " + alternatives(when.scales));
  for (const FactText& each : fact_texts()) {
    if (when.all & fact_bit(each.fact)) append(text, std::string(each.is));
    if (when.none & fact_bit(each.fact)) append(text, std::string(each.is_not));
  }
  if (when.methods == "-") {
    append(text, "no config says that it is quantized");
  } else if (!when.methods.empty()) {
    append(text, "quant_method " + alternatives(when.methods));
  }
  if (!when.formats.empty()) append(text, "format " + alternatives(when.formats));
  return text;
}

std::vector<ReaderVerdict> judge_readers(const Inventory& inventory, const Pairing& pairing, const QuantConfig& config,
                                         std::string_view family) {
  const std::vector<WeightKind> kinds = weight_kinds(inventory, pairing, config);
  std::vector<ReaderVerdict> verdicts;
  if (kinds.empty()) return verdicts;
  const FileFacts file{config.method, config.format, family};
  for (const Reader& reader : readers()) verdicts.push_back(judge(reader, kinds, file));
  return verdicts;
}

}  // namespace wb
