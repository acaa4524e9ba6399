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

static void write_names(JsonWriter& json, const NameList& list) {
  json.begin_object().field("count", list.count).key("names").begin_array();
  for (const std::string& name : list.names) json.value(std::string_view(name));
  json.end_array().end_object();
}

void write_set(JsonWriter& json, const ShardSet& set) {
  json.key("set").begin_object().field("index", std::string_view(set.index)).field("whole", set.whole);
  json.field("shards", set.shards).field("opened", set.opened).field("tensors", set.tensors);
  if (set.total_size) json.field("total_size", *set.total_size);
  json.key("missing_shards").begin_array();
  for (const MissingShard& each : set.missing) {
    json.begin_object().field("name", std::string_view(each.file)).key("tensors");
    write_names(json, each.tensors);
    json.end_object();
  }
  json.end_array();
  const std::pair<std::string_view, const NameList*> lists[] = {{"extra_shards", &set.extra},
                                                                {"phantom_tensors", &set.phantom},
                                                                {"unlisted_tensors", &set.unlisted},
                                                                {"wrong_shard", &set.wrong_shard}};
  for (const auto& [key, list] : lists) {
    json.key(key);
    write_names(json, *list);
  }
  json.end_object();
}

}  // namespace wb
