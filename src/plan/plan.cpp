#include "plan/plan.h"

#include <algorithm>

#include "base/checked.h"
#include "plan/answers.h"
#include "plan/output_files.h"
#include "plan/tile_cursor.h"

namespace wb {
namespace {

// Keys of __metadata__ that describe a quantization which the output no longer has.
constexpr std::string_view kStaleMetadata[] = {"_quantization_metadata", "quantization_config"};

bool castable(Dtype from, Dtype to) {
  return from != to && (from == Dtype::F32 || from == Dtype::F64 || from == Dtype::F16 || from == Dtype::BF16);
}

class Planner {
 public:
  Planner(const Inventory& inventory, const Pairing& pairing, const SmallValues& values, const F16Losses& losses,
          const PlanOptions& options)
      : inventory_(inventory),
        pairing_(pairing),
        values_(values),
        losses_(losses),
        options_(options),
        answers_(options.assumptions) {}

  Result<Plan> make() {
    plan_.to = options_.to;
    plan_.cast_others = options_.cast_others;
    plan_.recipe = options_.recipe;
    drop_.assign(inventory_.tensors.size(), 0);
    plan_.steps.reserve(inventory_.tensors.size());
    if (options_.as_stored) return make_as_stored();
    WB_CHECK(refuse_if_any());  // 1. nothing is written beside a refusal
    for (const Pair& pair : pairing_.pairs)
      WB_CHECK(plan_pair(pair));  // 2. quantized weights, with the answers to their questions
    for (uint32_t i = 0; i < inventory_.tensors.size(); ++i) plan_other(i);  // 3. everything else
    WB_CHECK(answers_.check());
    plan_.assumed = answers_.applied();
    if (!plan_.questions.empty()) return std::move(plan_);
    WB_CHECK(lay_out());  // 4. order, offsets, header
    return std::move(plan_);
  }

 private:
  // Every tensor as it is, scales and markers too: what describes them stays true.
  Result<Plan> make_as_stored() {
    plan_.as_stored = true;
    for (uint32_t i = 0; i < inventory_.tensors.size(); ++i) copy(i);
    for (const Pair& pair : pairing_.pairs) plan_.kept_quantized += pair.weight != kNoTensor;
    WB_CHECK(answers_.check());
    WB_CHECK(lay_out_files(inventory_, options_, inventory_.metadata, plan_));
    return std::move(plan_);
  }

  Status refuse_if_any() const {
    const Error* first = nullptr;
    std::string all;
    size_t refused = 0;
    for (const Pair& pair : pairing_.pairs) {
      for (const Error& issue : pair.issues) {
        if (issue_kind(issue.code) == IssueKind::note) continue;
        if (issue_kind(issue.code) == IssueKind::refusal) {
          ++refused;
          if (!first) first = &issue;
        }
        if (all.size() < kMessageBytes) all += "; " + issue.message;
      }
    }
    if (!first) return {};
    return fail(first->code, first->where,
                std::to_string(refused) + (refused == 1 ? " weight" : " weights") + " cannot be converted" + all);
  }

  // The answer to a question, or nothing and the question stays open.
  std::optional<std::string> ask(const Error& issue, const Pair& pair) {
    return ask(issue.code, pair_name(inventory_, pair), pair.scheme, issue.message);
  }
  std::optional<std::string> ask(Errc code, const std::string& tensor, std::string_view scheme_id,
                                 const std::string& message) {
    auto answer = answers_.answer(code, tensor, scheme_id);
    if (answer) return answer;
    auto at = std::find_if(plan_.questions.begin(), plan_.questions.end(),
                           [code](const OpenQuestion& q) { return q.code == code; });
    if (at == plan_.questions.end()) at = plan_.questions.insert(at, OpenQuestion{code, {}, message});
    at->tensors.push_back(tensor);
    return std::nullopt;
  }

  Status plan_pair(const Pair& pair) {
    bool keep = false;
    bool multiply = false;
    Pair decided = pair;  // as the answers make it
    for (const Error& issue : pair.issues) {
      if (issue_kind(issue.code) != IssueKind::question) continue;
      const std::string choice = ask(issue, pair).value_or("");
      keep = keep || choice == "keep";
      multiply = multiply || choice == "multiply";
      if (choice == "columns" && pair.granularity != Granularity::per_column) {
        return fail(Errc::invalid_option, pair_name(inventory_, pair),
                    "`columns` is no reading of this scale: " + issue.message);
      }
      apply_choice(choice, decided);
    }
    for (const uint32_t scale : pair.scales) drop_[scale] = !keep;
    if (pair.weight == kNoTensor) return {};
    drop_[pair.weight] = 1;  // not one of the others; its own step follows
    if (keep) {
      copy(pair.weight);
      ++plan_.kept_quantized;
      return {};
    }
    if (pair.scheme == "scaled_float" && !multiply) {
      drop_[pair.weight] = 0;
      return {};
    }
    WB_CHECK(check_recipe(pair));
    dequantize(pair, decided);
    return {};
  }

  Status check_recipe(const Pair& pair) const {
    const bool offered = scheme(pair.scheme).target_recipe && !pair.tiling && !pair.divide_global;
    if (options_.recipe == Recipe::f32_mul_rne || offered) return {};
    return fail(Errc::recipe_unsupported, pair_name(inventory_, pair),
                "`" + pair_name(inventory_, pair) + "` is " + std::string(scheme(pair.scheme).title) + ", for which " +
                    std::string(recipe_name(options_.recipe)) + " is not defined");
  }

  void dequantize(const Pair& pair, const Pair& decided) {
    Step step = dequantizing_step(inventory_, values_, decided, target(pair.weight, pair.scheme), options_.recipe);
    // The names belong to the pairing, which outlives the plan; `decided` does not.
    step.name = pair.output_name.empty() ? &inventory_.tensors[pair.weight].name : &pair.output_name;
    step.shape = &pair.shape;
    add(step);
    ++plan_.dequantized;
  }

  // bf16 instead of f16 where the scan found an overflow and the user wants no infinities.
  Dtype target(uint32_t tensor, std::string_view scheme_id) {
    if (options_.to != Dtype::F16) return options_.to;
    const auto loss = losses_.find(tensor);
    if (loss == losses_.end() || loss->second.overflow == 0) return Dtype::F16;
    const std::string& name = inventory_.tensors[tensor].name;
    const auto choice = ask(Errc::f16_overflow, name, scheme_id,
                            "`" + name + "`: " + std::to_string(loss->second.overflow) +
                                " values are beyond 65504 and would become infinite in fp16");
    return choice && *choice == "bf16" ? Dtype::BF16 : Dtype::F16;
  }

  void plan_other(uint32_t index) {
    if (pairing_.roles[index] == Role::marker || pairing_.roles[index] == Role::activation_scale ||
        pairing_.roles[index] == Role::kv_scale) {
      drop_[index] = 1;
    }
    if (drop_[index]) {
      if (pairing_.roles[index] != Role::weight) plan_.dropped.push_back(index);
      return;
    }
    const Tensor& tensor = inventory_.tensors[index];
    // Only numbers of the model are cast; a scale that stays does so unchanged.
    const bool is_number = pairing_.roles[index] == Role::parameter || pairing_.roles[index] == Role::weight;
    if (!options_.cast_others || !is_number || !castable(tensor.dtype, options_.to)) return copy(index);
    Step step;
    step.tensor = index;
    step.action = Action::cast;
    step.codec = codec_of(tensor.dtype);
    step.dtype = target(index, "");
    if (step.dtype == tensor.dtype) return copy(index);  // bf16 that overflows f16 stays what it is
    add(step);
    ++plan_.cast;
  }

  void copy(uint32_t index) {
    Step step;
    step.tensor = index;
    step.dtype = inventory_.tensors[index].dtype;
    step.codec = codec_of(step.dtype);
    add(step);
    ++plan_.copied;
  }

  void add(Step& step) {
    const Tensor& tensor = inventory_.tensors[step.tensor];
    if (!step.name) step.name = &tensor.name;
    if (!step.shape) step.shape = &tensor.shape;
    // 2 bytes an element cannot overflow: no element count that fits a file does.
    const uint64_t elements = step.action == Action::dequantize ? step.grid.rows * step.grid.cols : tensor.elements;
    step.out_bytes = step.action == Action::copy ? tensor.bytes() : elements * 2;
    if (step.action == Action::cast) step.kernel = kernels::find_cast(tensor.dtype, step.dtype);
    plan_.read_bytes += step.tiling               ? tiled_read_bytes(inventory_, *step.tiling)
                        : step.scale == kNoTensor ? tensor.bytes()
                                                  : tensor.bytes() + inventory_.tensors[step.scale].bytes();
    plan_.steps.push_back(std::move(step));
  }

  Status lay_out() {
    WB_CHECK(refuse_taken_names());
    return lay_out_files(inventory_, options_, output_metadata(), plan_);
  }

  // A packed weight gets its plain name, which some other tensor may already have.
  Status refuse_taken_names() const {
    for (const Step& step : plan_.steps) {
      const Tensor* other = step.name == &inventory_.tensors[step.tensor].name ? nullptr : inventory_.find(*step.name);
      if (!other) continue;
      return fail(Errc::output_name_taken, *step.name,
                  "`" + inventory_.tensors[step.tensor].name + "` would be written as `" + *step.name +
                      "`, which is another tensor of the input");
    }
    return {};
  }

  Metadata output_metadata() {
    Metadata kept;
    for (const auto& entry : inventory_.metadata) {
      if (std::find(std::begin(kStaleMetadata), std::end(kStaleMetadata), entry.first) != std::end(kStaleMetadata)) {
        plan_.notes.push_back("the metadata key " + entry.first + " described the quantization and is left out");
      } else {
        kept.push_back(entry);
      }
    }
    if (!inventory_.metadata_value("format")) {
      kept.emplace_back("format", "pt");
      plan_.notes.push_back("the metadata key format=pt was missing and is added");
    }
    return kept;
  }

  static constexpr size_t kMessageBytes = 4000;

  const Inventory& inventory_;
  const Pairing& pairing_;
  const SmallValues& values_;
  const F16Losses& losses_;
  const PlanOptions& options_;
  Answers answers_;
  std::vector<uint8_t> drop_;  // per tensor: not one of the others
  Plan plan_;
};

}  // namespace

std::string_view recipe_name(Recipe recipe) { return recipe == Recipe::f32_mul_rne ? "f32-mul-rne" : "target-mul-rne"; }

bool copies_only(const Plan& plan) {
  return std::all_of(plan.steps.begin(), plan.steps.end(),
                     [](const Step& step) { return step.action == Action::copy; });
}

Grid unscaled_grid(const Tensor& tensor) {
  Grid grid;
  grid.rows = grid.batch_rows = grid.group_rows = grid.grid_rows = grid.grid_cols = 1;
  grid.cols = tensor.elements;
  grid.group_cols = std::max<uint64_t>(tensor.elements, 1);
  return grid;
}

// The same choices for a weight that is put together from planes.
static std::shared_ptr<const Tiling> with_choice(std::string_view choice, Tiling tiling) {
  if (choice == "v1") tiling.zero_bias = 1;
  if (choice == "v2") tiling.zero_bias = 0;
  const bool order = choice == "high" || choice == "low";
  if (order && tiling.planes.front().bits == 4) {
    tiling.planes.front().packing = choice == "high" ? kernels::Packing::rows_high : kernels::Packing::rows_low;
  }
  for (Plane& plane : tiling.planes) {
    if (plane.role == PlaneRole::scale && (choice == "swizzled" || choice == "linear"))
      plane.swizzled = choice == "swizzled";
  }
  return std::make_shared<const Tiling>(std::move(tiling));
}

void apply_choice(std::string_view choice, Pair& pair) {
  if (choice == "e4m3") pair.codec = Codec::F8_E4M3;
  if (choice == "e5m2") pair.codec = Codec::F8_E5M2;
  if (choice == "high") pair.codec = Codec::F4_HIGH;
  if (choice == "low") pair.codec = Codec::F4;
  if (choice == "swizzled") pair.grid.swizzled = true;
  if (choice == "linear") pair.grid.swizzled = false;
  if (pair.tiling) pair.tiling = with_choice(choice, *pair.tiling);
}

Step dequantizing_step(const Inventory& inventory, const SmallValues& values, const Pair& pair, Dtype to,
                       Recipe recipe) {
  Step step;
  step.tensor = pair.weight;
  step.action = Action::dequantize;
  step.dtype = to;
  step.codec = pair.codec;
  if (pair.tiling) {
    step.grid = pair.grid;
    step.tiling = pair.tiling;
    if (pair.global_scale != kNoTensor) step.globals = *values.global_scale(pair.global_scale);
    step.divide_global = pair.divide_global;
    return step;
  }
  step.kernel = kernels::find_strip(pair.codec, to);
  if (pair.scales.empty()) {
    step.grid = unscaled_grid(inventory.tensors[pair.weight]);
    return step;
  }
  step.scale = pair.scales[0];
  step.scale_dtype = pair.scale_dtype;
  step.grid = pair.grid;
  if (pair.global_scale != kNoTensor) step.globals = *values.global_scale(pair.global_scale);
  step.divide_global = pair.divide_global;
  step.row_bytes = pair.row_bytes;
  step.round_scales = recipe == Recipe::target_mul_rne;
  return step;
}

Result<Plan> make_plan(const Inventory& inventory, const Pairing& pairing, const SmallValues& values,
                       const F16Losses& losses, const PlanOptions& options) {
  return Planner(inventory, pairing, values, losses, options).make();
}

}  // namespace wb
