#include "session/ram_reply.h"

#include <algorithm>

#include "base/json.h"
#include "ram/activations.h"
#include "ram/help.h"

namespace wb {
namespace {

// ---------------------------------------------------------------- facts, out and in

void write_sums(JsonWriter& json, const WeightSums& sums) {
  json.begin_object();
  for (const SumField& field : sum_fields()) json.field(field.key, sums.*field.member);
  json.end_object();
}

void write_facts(JsonWriter& json, const CheckpointSums& sums, const ModelFacts& facts) {
  json.begin_object().field("kind", model_kind_name(facts.kind)).field("family", std::string_view(facts.family));
  json.field("because", std::string_view(facts.because)).field("has_config", facts.has_config);
  json.key("config").begin_object();
  for (const ConfigField& field : config_fields()) {
    if (const auto& number = facts.config.*field.member) json.field(field.key, *number);
  }
  json.end_object().field("quant_method", std::string_view(facts.quant_method));
  json.key("schemes").begin_array();
  for (const std::string& id : facts.schemes) json.value(std::string_view(id));
  json.end_array().field("legacy_scales", facts.legacy_scales).field("markers", facts.markers);
  json.key("sums");
  write_sums(json, sums.all);
  json.key("files").begin_array();
  for (const WeightSums& file : sums.files) write_sums(json, file);
  json.end_array().end_object();
}

uint64_t count_in(const Json& object, std::string_view key, uint64_t otherwise = 0) {
  const auto at = object.find(std::string(key));
  return at != object.end() && at->is_number_unsigned() ? at->get<uint64_t>() : otherwise;
}
std::string word_in(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}
bool flag_in(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_boolean() && at->get<bool>();
}
Json child(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() ? *at : Json();
}

WeightSums sums_in(const Json& object) {
  WeightSums sums;
  for (const SumField& field : sum_fields()) sums.*field.member = count_in(object, field.key);
  return sums;
}

ModelFacts facts_in(const Json& object) {
  ModelFacts facts;
  facts.kind = model_kind_of(word_in(object, "kind"));
  facts.family = word_in(object, "family");
  facts.because = word_in(object, "because");
  facts.has_config = flag_in(object, "has_config");
  const Json config = child(object, "config");
  for (const ConfigField& field : config_fields()) {
    if (config.is_object() && config.contains(std::string(field.key)))
      facts.config.*field.member = count_in(config, field.key);
  }
  facts.quant_method = word_in(object, "quant_method");
  for (const Json& id : child(object, "schemes")) {
    if (id.is_string()) facts.schemes.push_back(id.get<std::string>());
  }
  facts.legacy_scales = flag_in(object, "legacy_scales");
  facts.markers = flag_in(object, "markers");
  return facts;
}

// ---------------------------------------------------------------- the request

struct Request {
  std::vector<Component> components;
  std::optional<Machine> machine;
  const Loader* loader = nullptr;  // all of them
  HeldAs held_as = HeldAs::stored;
  uint64_t context_tokens = 0;
  uint64_t kv_bytes_per_value = 2;
};

Result<Machine> machine_in(const Json& object) {
  Machine machine;
  machine.ram_bytes = count_in(object, "ram_bytes");
  if (machine.ram_bytes == 0) return fail(Errc::invalid_option, "machine", "ram_bytes is missing");
  machine.free_bytes = count_in(object, "free_bytes", machine.ram_bytes);
  machine.swap_bytes = count_in(object, "swap_bytes");
  if (object.contains("vram_bytes") && object["vram_bytes"].is_number_unsigned())
    machine.vram_bytes = count_in(object, "vram_bytes");
  const std::string word = word_in(object, "kind");
  const auto kind = word.empty() ? MachineKind::linux_like : machine_kind_of(word);
  if (!kind) return fail(Errc::invalid_option, "kind", "`" + word + "` is no kind of machine");
  machine.kind = *kind;
  return machine;
}

Result<HeldAs> held_as_in(const std::string& word) {
  if (word.empty()) return HeldAs::stored;
  for (const HeldAsName& row : held_as_names()) {
    if (row.name == word) return row.held_as;
  }
  return fail(Errc::invalid_option, "held_as", "weights are not held as `" + word + "`");
}

Result<Request> parse_request(std::string_view text) {
  const Json json = parse_json(text);
  const Json components = json.is_object() ? child(json, "components") : Json();
  if (!components.is_array() || components.empty())
    return fail(Errc::invalid_option, "components", "there is no checkpoint to weigh");
  Request request;
  WB_TRY(request.held_as, held_as_in(word_in(json, "held_as")));
  if (const Json machine = child(json, "machine"); machine.is_object()) {
    WB_TRY(request.machine, machine_in(machine));
  }
  const std::string id = word_in(json, "loader");
  request.loader = find_loader(id);
  if (!id.empty() && id != "all" && !request.loader)
    return fail(Errc::invalid_option, "loader", "there is no loader `" + id + "`");
  request.context_tokens = count_in(json, "context_tokens");
  request.kv_bytes_per_value = std::max<uint64_t>(1, count_in(json, "kv_bytes_per_value", 2));
  for (const Json& each : components) {
    const Json facts = each.is_object() ? child(each, "facts") : Json();
    if (!facts.is_object()) return fail(Errc::invalid_option, "components", "a component has no facts");
    Component component{word_in(each, "title"), {}};
    component.load.facts = facts_in(facts);
    component.load.sums.all = sums_in(child(facts, "sums"));
    for (const Json& file : child(facts, "files")) component.load.sums.files.push_back(sums_in(file));
    component.load.held_as = request.held_as;
    component.load.device = !(request.machine && request.machine->vram_bytes && *request.machine->vram_bytes == 0);
    if (request.context_tokens > 0 && component.load.facts.kind == ModelKind::language_model) {
      component.load.kv_bytes =
          kv_cache(component.load.facts, request.context_tokens, request.kv_bytes_per_value).bytes;
    }
    request.components.push_back(std::move(component));
  }
  return request;
}

// ---------------------------------------------------------------- the reply

void write_stage(JsonWriter& json, const MemoryStage& stage) {
  json.begin_object().field("stage", stage.stage);
  if (!stage.component.empty()) json.field("component", std::string_view(stage.component));
  json.field("total_bytes", stage.ram_bytes()).field("firm_bytes", stage.firm_bytes());
  json.field("device_bytes", stage.device_bytes()).key("terms").begin_array();
  for (const MemoryTerm& term : stage.terms) {
    json.begin_object().field("name", term.name).field("kind", term_kind_name(term.kind));
    json.field("place", term.in_ram() ? "ram" : "device").field("bytes", term.bytes).end_object();
  }
  json.end_array().end_object();
}

void write_verdict(JsonWriter& json, const MachineVerdict& verdict, const Stages& stages) {
  json.key("verdict").begin_object().field("fit", fit_name(verdict.fit)).field("pool", verdict.pool);
  json.field("stage", static_cast<uint64_t>(verdict.stage)).field("stage_name", stages[verdict.stage].stage);
  json.field("term", verdict.term).field("need_bytes", verdict.need_bytes).field("have_bytes", verdict.have_bytes);
  json.field("dropped_bytes", verdict.dropped_bytes).end_object();
}

void write_peaks(JsonWriter& json, const Stages& stages) {
  const size_t peak = highest(stages, &MemoryStage::ram_bytes);
  json.field("peak_stage", static_cast<uint64_t>(peak)).field("peak_bytes", stages[peak].ram_bytes());
  json.field("firm_peak_bytes", firm_peak(stages));
  json.field("device_peak_bytes", stages[highest(stages, &MemoryStage::device_bytes)].device_bytes());
  json.field("steady_bytes", stages.back().lasting_bytes());
}

void write_timeline(JsonWriter& json, const LoaderTimeline& timeline, const std::optional<Machine>& machine,
                    bool with_arrangement) {
  const Loader& row = *timeline.loader;
  json.begin_object().field("loader", row.id).field("title", row.title).field("version", row.version);
  json.field("source", row.source).field("url", row.url).field("purpose", purpose_name(row.purpose));
  if (with_arrangement) json.field("arrangement", arrangement_name(timeline.arrangement));
  json.field("applies", timeline.applies());
  if (!timeline.applies()) {
    json.field("reason", std::string_view(timeline.reason)).end_object();
    return;
  }
  json.key("stages").begin_array();
  for (const MemoryStage& stage : timeline.stages) write_stage(json, stage);
  json.end_array();
  write_peaks(json, timeline.stages);
  if (machine) write_verdict(json, judge(timeline.stages, *machine, row.splits_over_devices), timeline.stages);
  json.end_object();
}

void write_kv_cache(JsonWriter& json, const KvCache& cache) {
  json.key("kv_cache").begin_object().field("tokens", cache.tokens).field("known", cache.known);
  json.field("bytes", cache.bytes);
  if (!cache.missing.empty()) json.field("missing", std::string_view(cache.missing));
  json.key("lines").begin_array();
  for (const KvLine& line : cache.lines) {
    json.begin_object().field("what", line.what).field("layers", line.layers).field("tokens", line.tokens);
    json.field("bytes", line.bytes).field("formula", std::string_view(line.formula)).end_object();
  }
  json.end_array().end_object();
}

// Of the diffusion model among the components, if there is one.
void write_activations(JsonWriter& json, const std::vector<Component>& components) {
  for (const Component& component : components) {
    if (component.load.facts.kind != ModelKind::diffusion_model) continue;
    const Activations found = activations(component.load.facts);
    json.key("activations").begin_object().field("estimate", found.bytes > 0);
    if (found.bytes > 0) {
      json.field("bytes", found.bytes).field("formula", std::string_view(found.formula));
      json.field("source", found.source).end_object();
    } else {
      json.field("missing", std::string_view(found.missing)).end_object();
    }
    return;
  }
}

void write_help(JsonWriter& json, const LoaderTimeline& helped, const Request& request, bool with_arrangement) {
  json.key("help").begin_object().field("loader", helped.loader->id);
  if (with_arrangement) json.field("arrangement", arrangement_name(helped.arrangement));
  json.key("rows").begin_array();
  for (const HelpRow& row : what_would_help(helped, request.components, request.machine)) {
    json.begin_object().field("action", help_action_name(row.action)).field("loader", row.timeline.loader->id);
    json.field("title", row.timeline.loader->title).field("held_as", held_as_info(row.held_as).name);
    if (with_arrangement) json.field("arrangement", arrangement_name(row.timeline.arrangement));
    json.field("need_bytes", row.need_bytes).field("saves_bytes", row.saves_bytes);
    if (row.verdict) write_verdict(json, *row.verdict, row.timeline.stages);
    json.end_object();
  }
  json.end_array().end_object();
}

// The row that help is about: the one that was asked for, else the one that needs the most.
const LoaderTimeline* helped_row(const std::vector<LoaderTimeline>& rows) {
  if (rows.size() == 1) return rows[0].applies() ? &rows[0] : nullptr;
  const LoaderTimeline* worst = nullptr;
  for (const LoaderTimeline& row : rows) {
    if (!row.applies() || row.loader->purpose != Purpose::program) continue;
    if (!worst || firm_peak(row.stages) > firm_peak(worst->stages)) worst = &row;
  }
  return worst;
}

std::vector<LoaderTimeline> timelines(const Request& request) {
  std::vector<LoaderTimeline> rows;
  for (const Arrangement arrangement : arrangements(request.components)) {
    for (const Loader& loader : loaders()) {
      if (!request.loader || request.loader == &loader)
        rows.push_back(timeline_of(loader, request.components, arrangement));
    }
  }
  return rows;
}

// The table of the InvokeAI fix: the same weights through the loader before and after it, whichever loader the
// checkpoint is for. A peak is the source still in memory beside the result.
void write_load_stages(JsonWriter& json, const WeightSums& sums) {
  const uint64_t f32 = 4 * sums.quantized + sums.others_bytes;
  const uint64_t bf16 = 2 * sums.quantized + sums.others_bytes;
  json.key("load_stages").begin_object().field("file_read_bytes", sums.stored_bytes);
  json.field("dequantized_f32_bytes", f32).field("dequantized_bf16_bytes", bf16);
  json.field("peak_f32_bytes", sums.stored_bytes + 4 * sums.quantized);
  json.field("peak_bf16_bytes", sums.stored_bytes + 2 * sums.quantized).end_object();
}

}  // namespace

void write_ram(JsonWriter& json, const CheckpointSums& sums, const ModelFacts& facts) {
  json.key("ram").begin_object().key("per_dtype").begin_array();
  for (const HeldAsName& row : held_as_names())
    json.begin_object().field("dtype", row.name).field("bytes", bytes_as(sums.all, row.held_as)).end_object();
  json.end_array();
  write_load_stages(json, sums.all);
  json.key("facts");
  write_facts(json, sums, facts);
  json.key("loaders").begin_array();
  const Component whole[] = {{{}, {sums, facts}}};
  for (const Loader& loader : loaders())
    write_timeline(json, timeline_of(loader, whole, Arrangement::together), std::nullopt, false);
  json.end_array().end_object();
}

Result<std::string> ram_reply(std::string_view text) {
  WB_TRY(const Request request, parse_request(text));
  const std::vector<LoaderTimeline> rows = timelines(request);
  const bool with_arrangement = request.components.size() > 1;
  std::string reply;
  JsonWriter json(reply);
  json.begin_object().field("format", "weighbridge.ram").field("version", 1);
  json.field("held_as", held_as_info(request.held_as).name).key("per_dtype").begin_array();
  for (const HeldAsName& row : held_as_names()) {
    uint64_t bytes = 0;
    for (const Component& component : request.components) bytes += bytes_as(component.load.sums.all, row.held_as);
    json.begin_object().field("dtype", row.name).field("bytes", bytes).end_object();
  }
  json.end_array().key("loaders").begin_array();
  for (const LoaderTimeline& row : rows) write_timeline(json, row, request.machine, with_arrangement);
  json.end_array();
  if (request.context_tokens > 0) {
    for (const Component& component : request.components) {
      if (component.load.facts.kind != ModelKind::language_model) continue;
      write_kv_cache(json, kv_cache(component.load.facts, request.context_tokens, request.kv_bytes_per_value));
      break;
    }
  }
  write_activations(json, request.components);
  if (const LoaderTimeline* helped = helped_row(rows)) write_help(json, *helped, request, with_arrangement);
  json.end_object();
  return reply;
}

}  // namespace wb
