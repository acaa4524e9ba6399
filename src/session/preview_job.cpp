#include "session/preview_job.h"

#include <algorithm>
#include <cmath>

#include "base/json_writer.h"
#include "plan/answers.h"
#include "session/json_parts.h"

namespace wb {
namespace {

// The first rows, as many as kPreviewElements hold, or a part of the first.
void crop(Step& step) {
  Grid& grid = step.grid;
  if (step.tiling) {
    Tiling tiling = *step.tiling;
    tiling.batches = 1;
    tiling.cols = std::min(tiling.cols, kPreviewElements);
    tiling.rows = std::clamp<uint64_t>(kPreviewElements / std::max<uint64_t>(tiling.cols, 1), 1, tiling.rows);
    // A rotation and the groups of an order need whole rows; a row that long is a rare thing and stays whole.
    if (step.tiling->rotation != 0 || tiling.plane(PlaneRole::order)) tiling.cols = step.tiling->cols;
    grid.rows = tiling.rows;
    grid.cols = tiling.cols;
    step.tiling = std::make_shared<const Tiling>(std::move(tiling));
  } else {
    if (grid.rows == 1) grid.cols = std::min(grid.cols, kPreviewElements);
    grid.rows = std::clamp<uint64_t>(kPreviewElements / std::max<uint64_t>(grid.cols, 1), 1, grid.rows);
  }
  step.out_bytes = grid.rows * grid.cols * 2;
}

// A weight whose answer is to leave it as stored: what its codes or floats say by themselves.
Pair without_scale(const Pair& pair) {
  Pair plain = pair;
  plain.scales.clear();
  plain.tiling = nullptr;
  return plain;
}

// Answers that change no weight have no preview: `keep` leaves fp8 or packed bytes as they are.
bool gives_weights(const Choice& choice) { return choice.choice != "keep" && choice.choice != "drop"; }

}  // namespace

Result<std::unique_ptr<PreviewJob>> PreviewJob::create(const Inventory& inventory, const Pairing& pairing,
                                                       const SmallValues& values, const PlanOptions& options,
                                                       const std::string& tensor, std::string_view code) {
  const auto pair = std::find_if(pairing.pairs.begin(), pairing.pairs.end(), [&](const Pair& each) {
    return each.weight != kNoTensor && pair_name(inventory, each) == tensor;
  });
  std::unique_ptr<PreviewJob> job(new PreviewJob);
  job->plan_.to = Dtype::BF16;
  Answers answers(options.assumptions);
  for (const Choice& choice : choices()) {
    const bool asked = pair != pairing.pairs.end() && errc_name(choice.code) == code && pair->has(choice.code) &&
                       pair->state() != PairState::refused;
    if (!asked || !gives_weights(choice)) continue;
    Pair decided = choice.choice == "ignore" || choice.choice == "raw" ? without_scale(*pair) : *pair;
    for (const Error& issue : pair->issues) {
      if (issue.code == choice.code || issue_kind(issue.code) != IssueKind::question) continue;
      apply_choice(answers.answer(issue.code, tensor, pair->scheme).value_or(""), decided);
    }
    apply_choice(choice.choice, decided);
    Step step = dequantizing_step(inventory, values, decided, Dtype::BF16, Recipe::f32_mul_rne);
    if (!step.tiling && !step.kernel) continue;
    crop(step);
    job->plan_.steps.push_back(std::move(step));
    Preview preview;
    preview.choice = choice.choice;
    preview.meaning = choice.meaning;
    job->previews_.push_back(std::move(preview));
  }
  if (job->previews_.empty()) {
    return fail(Errc::unknown_assumption, tensor,
                "there is nothing to compare about `" + tensor + "` and " + std::string(code));
  }
  WB_TRY(job->converter_, Converter::create(inventory, job->plan_, Converter::Mode::write));
  return job;
}

JobStep PreviewJob::take(JobStep step) {
  while (step == JobStep::has_output) {
    count(converter_->output());
    step = converter_->resume();
  }
  return step == JobStep::failed ? failed(converter_->error()) : step;
}

void PreviewJob::count(ByteView output) {
  for (size_t at = 0; at + 2 <= output.size(); at += 2, counted_bytes_ += 2) {
    while (counted_bytes_ == plan_.steps[current_].out_bytes) ++current_, counted_bytes_ = 0;
    Preview& preview = previews_[current_];
    const auto bits = load_le<uint16_t>(&output[at]);
    const uint32_t exponent = bits >> 7 & 0xFF;
    const float value = bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    ++preview.values;
    if (preview.first.size() < kPreviewFirst) preview.first.push_back(value);
    preview.nan += exponent == 255 && (bits & 0x7F) != 0;
    preview.infinite += exponent == 255 && (bits & 0x7F) == 0;
    preview.zeros += (bits & 0x7FFF) == 0;
    if (exponent == 255 || (bits & 0x7FFF) == 0) continue;
    ++preview.by_exponent[exponent];
    preview.largest = std::max(preview.largest, std::fabs(value));
    preview.sum_of_squares += static_cast<double>(value) * static_cast<double>(value);
  }
}

std::string previews_reply(const std::string& tensor, std::string_view code, const std::vector<Preview>& previews) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().field("tensor", std::string_view(tensor)).field("code", code).key("choices").begin_array();
  for (const Preview& each : previews) {
    const uint64_t finite = each.values - each.nan - each.infinite;
    json.begin_object().field("choice", each.choice).field("meaning", each.meaning).field("values", each.values);
    json.field("zeros", each.zeros).field("infinite", each.infinite).field("nan", each.nan);
    json.field("largest", each.largest);
    json.field("rms",
               finite == 0 ? 0.0f : static_cast<float>(std::sqrt(each.sum_of_squares / static_cast<double>(finite))));
    // The powers of two that occur, the smallest first.
    const auto is_used = [](uint64_t count) { return count > 0; };
    const auto begin = std::find_if(each.by_exponent.begin(), each.by_exponent.end(), is_used);
    const auto end = std::find_if(each.by_exponent.rbegin(), each.by_exponent.rend(), is_used).base();
    json.field("first_exponent",
               begin == each.by_exponent.end() ? 0 : static_cast<int>(begin - each.by_exponent.begin()) - 127);
    json.key("histogram").begin_array();
    for (auto at = begin; at < end; ++at) json.value(*at);
    json.end_array().key("first").begin_array();
    for (const float value : each.first) json.value(value);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return text;
}

}  // namespace wb
