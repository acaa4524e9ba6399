#include "session/json_parts.h"

namespace wb {

void write_issue(JsonWriter& json, const Error& issue) {
  json.begin_object().field("code", errc_name(issue.code)).field("where", std::string_view(issue.where));
  const std::string_view message = issue.message.empty() ? errc_meaning(issue.code) : std::string_view(issue.message);
  json.field("message", message).end_object();
}

void write_decision(JsonWriter& json, const OpenQuestion& question) {
  constexpr size_t kNamesMax = 100;
  json.begin_object().field("code", errc_name(question.code)).field("subject", errc_name(question.code));
  json.key("tensors").begin_array();
  for (size_t i = 0; i < question.tensors.size() && i < kNamesMax; ++i)
    json.value(std::string_view(question.tensors[i]));
  json.end_array().field("count", static_cast<uint64_t>(question.tensors.size()));
  const std::string text = std::string(question_text(question.code)) + " " + question.first_message;
  json.field("question", std::string_view(text)).key("choices").begin_array();
  for (const Choice& row : choices()) {
    if (row.code == question.code)
      json.begin_object().field("choice", row.choice).field("meaning", row.meaning).end_object();
  }
  json.end_array().end_object();
}

}  // namespace wb
