#include "session/options.h"
#include "base/json.h"

namespace wb {
namespace {

std::string word(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at == json.end() ? std::string() : at->is_string() ? at->get<std::string>() : at->dump();
}

}  // namespace

Result<PlanOptions> parse_options(std::string_view text) {
  const Json json = parse_json(text);
  if (!json.is_object()) return fail(Errc::invalid_option, {}, "the options are not a JSON object");
  PlanOptions options;
  const std::string to = word(json, "to");
  if (to.empty()) return fail(Errc::target_required, "to", "name the target dtype: bf16 or f16");
  if (to != "bf16" && to != "f16" && to != "stored")
    return fail(Errc::invalid_option, "to", "the target `" + to + "` is neither bf16 nor f16");
  options.as_stored = to == "stored";
  options.to = to == "f16" ? Dtype::F16 : Dtype::BF16;
  const std::string others = word(json, "others");
  if (!others.empty() && others != "keep" && others != "cast") {
    return fail(Errc::invalid_option, "others", "`" + others + "` is neither keep nor cast");
  }
  options.cast_others = others == "cast";
  const std::string recipe = word(json, "recipe");
  options.recipe = recipe == recipe_name(Recipe::target_mul_rne) ? Recipe::target_mul_rne : Recipe::f32_mul_rne;
  if (!recipe.empty() && recipe != recipe_name(options.recipe)) {
    return fail(Errc::invalid_option, "recipe", "`" + recipe + "` is neither f32-mul-rne nor target-mul-rne");
  }
  if (const auto shards = json.find("shards"); shards != json.end()) {
    if (shards->is_number_unsigned() && shards->get<uint64_t>() > 0) {
      options.shards = Shards::by_size;
      options.shard_bytes_max = shards->get<uint64_t>();
    } else if (*shards == "same") {
      options.shards = Shards::same;
    } else if (*shards != "one") {
      return fail(Errc::invalid_option, "shards", "shards is neither `one`, `same` nor a number of bytes");
    }
  }
  if (const auto assume = json.find("assume"); assume != json.end()) {
    if (!assume->is_object()) return fail(Errc::invalid_option, "assume", "assume is not an object of subject: choice");
    for (const auto& [subject, choice] : assume->items()) {
      if (!choice.is_string())
        return fail(Errc::invalid_option, subject, "the choice for `" + subject + "` is not a word");
      // About the set, not about a weight: the session asks it, the planner never does.
      if (subject == errc_name(Errc::shard_missing)) {
        if (choice != "partial")
          return fail(Errc::invalid_option, subject, "the only answer to shard_missing is `partial`");
        options.partial_set = true;
        continue;
      }
      options.assumptions.push_back({subject, choice.get<std::string>()});
    }
  }
  return options;
}

}  // namespace wb
