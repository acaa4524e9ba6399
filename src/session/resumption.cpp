#include "session/resumption.h"

#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "base/json_writer.h"
#include "plan/output_files.h"
#include "session/replies.h"

namespace wb {
namespace {

void add(Hash& hash, std::string_view text) {
  hash.update({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

void add(Hash& hash, std::initializer_list<uint64_t> numbers) {
  for (uint64_t number : numbers) hash.update({reinterpret_cast<const uint8_t*>(&number), sizeof number});
}

void add_place(Hash& hash, const Inventory& inventory, uint32_t index) {
  if (index == kNoTensor) return add(hash, {kNoTensor});
  const Tensor& tensor = inventory.tensors[index];
  add(hash, {tensor.source, tensor.begin, tensor.end});
}

void add_step(Hash& hash, const Inventory& inventory, const Step& step) {
  add_place(hash, inventory, step.tensor);
  add_place(hash, inventory, step.scale);
  add(hash, {static_cast<uint64_t>(step.action), static_cast<uint64_t>(step.codec),
             static_cast<uint64_t>(step.scale_dtype), step.row_bytes, step.divide_global, step.round_scales});
  const Grid& grid = step.grid;
  add(hash, {grid.rows, grid.cols, grid.batch_rows, grid.group_rows, grid.group_cols, grid.swizzled});
  hash.update({reinterpret_cast<const uint8_t*>(step.globals.data()), step.globals.size() * sizeof(float)});
  if (!step.tiling) return;
  for (const Plane& plane : step.tiling->planes) {
    add(hash, {static_cast<uint64_t>(plane.role)});
    add_place(hash, inventory, plane.tensor);
  }
}

uint64_t number_in(const Json& array, size_t at) {
  return at < array.size() && array[at].is_number_unsigned() ? array[at].get<uint64_t>() : UINT64_MAX;
}

tl::unexpected<Error> refused(std::string why) {
  return fail(Errc::resume_refused, {}, "the journal of the interrupted conversion cannot be used: " + std::move(why));
}

}  // namespace

// A tiling's arithmetic follows from the tensors, the side files and the answers, which all are in here.
uint64_t plan_fingerprint(const Inventory& inventory, const Plan& plan, uint64_t given) {
  Hash hash;
  add(hash, WB_VERSION);
  add(hash, {given});
  for (const Source& source : inventory.sources) {
    add(hash, source.name);
    add(hash, {source.size_bytes});
  }
  for (const AppliedAssumption& each : plan.assumed) {
    add(hash, each.subject);
    add(hash, each.choice);
  }
  add(hash, recipe_name(plan.recipe));
  for (const OutputFile& file : plan.files) {
    add(hash, file.name);
    add(hash, file.header);
  }
  for (const Step& step : plan.steps) add_step(hash, inventory, step);
  return hash.digest();
}

std::string mark_reply(const Mark& mark, const std::vector<StepOutcome>& outcomes, uint64_t first_step) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().field("step", mark.step).field("bytes", mark.bytes);
  json.field("xxh64", std::string_view(hex_text(mark.hash))).key("outcomes").begin_array();
  for (uint64_t i = first_step; i < mark.step; ++i) {
    const StepOutcome& each = outcomes[static_cast<size_t>(i)];
    if (each.nan_codes == 0 && each.loss.overflow == 0 && each.loss.underflow == 0) continue;
    json.begin_array().value(i).value(each.nan_codes).value(each.loss.overflow).value(each.loss.underflow).end_array();
  }
  json.end_array().end_object();
  return text;
}

Result<ResumePoint> parse_mark(std::string_view text, const Plan& plan) {
  const Json json = parse_json(text);
  const auto number = [&](const char* key) {
    const auto at = json.find(key);
    return at != json.end() && at->is_number_unsigned() ? at->get<uint64_t>() : UINT64_MAX;
  };
  if (!json.is_object()) return refused("it is no JSON object");
  ResumePoint point;
  const uint64_t step = number("step");
  if (step == 0 || step > plan.steps.size()) return refused("it names no tensor of this plan");
  point.mark.step = static_cast<uint32_t>(step);
  point.mark.bytes = number("bytes");
  const uint64_t bytes = bytes_before(plan, point.mark.step);
  if (point.mark.bytes != bytes) {
    return refused("it says " + std::to_string(point.mark.bytes) + " bytes where the plan has " +
                   std::to_string(bytes));
  }
  const auto hash = json.find("xxh64");
  unsigned long long digits = 0;
  if (hash == json.end() || !hash->is_string() ||
      std::sscanf(hash->get_ref<const std::string&>().c_str(), "%16llx", &digits) != 1)
    return refused("it has no hash");
  point.mark.hash = digits;
  point.outcomes.resize(point.mark.step);
  const auto rows = json.find("outcomes");
  if (rows == json.end() || !rows->is_array()) return refused("it has no list of outcomes");
  for (const Json& row : *rows) {
    const uint64_t at = row.is_array() && row.size() == 4 ? number_in(row, 0) : UINT64_MAX;
    if (at >= step) return refused("an outcome of it belongs to no tensor that was written");
    point.outcomes[static_cast<size_t>(at)] = {number_in(row, 1), {number_in(row, 2), number_in(row, 3)}};
  }
  return point;
}

std::string hex_text(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace wb
