#include "session/scan_job.h"

#include <algorithm>
#include <cmath>

namespace wb {
namespace {

/// The least magnitude that rounds to infinity in f16 (65504 plus half a step).
constexpr float kF16Overflow = 65520.0f;

}  // namespace

Result<std::unique_ptr<ScanJob>> ScanJob::create(const Inventory& inventory, const Pairing& pairing,
                                                 SmallValues& values, F16Losses& losses, const PlanOptions& options) {
  std::unique_ptr<ScanJob> job(new ScanJob(inventory, pairing, values, losses, options));
  for (const Pair& pair : pairing.pairs) {
    if (options.as_stored) break;  // nothing is multiplied
    if (pair.weight == kNoTensor || pair.scales.empty() || !scheme(pair.scheme).supported) continue;
    const uint32_t scale = pair.scales[0];
    const Plane* const plane = pair.tiling ? pair.tiling->plane(PlaneRole::scale) : nullptr;
    if (pair.tiling && (!plane || plane->bits != 0)) continue;  // codes of scales, not scales
    const Tensor& tensor = inventory.tensors[scale];
    const ScaleStats* known = values.scale(scale);
    if (tensor.bytes() == 0 || (known && known->read == tensor.elements)) continue;
    job->scales_.push_back(scale);
  }
  // Tensors of an inventory stand in file order, in which neighbours share a read.
  std::sort(job->scales_.begin(), job->scales_.end());
  std::vector<Range> ranges;
  for (const uint32_t scale : job->scales_) {
    const Tensor& tensor = inventory.tensors[scale];
    ranges.push_back({static_cast<int32_t>(tensor.source), tensor.begin, tensor.end});
  }
  if (!ranges.empty()) {
    WB_TRY(auto reader, RangeReader::create(std::move(ranges)));
    job->scale_reader_ = std::move(reader);
    job->widened_.resize(kWindowBytes);
  }
  return job;
}

JobStep ScanJob::begin() { return scale_reader_ ? JobStep::need_input : begin_counting(); }

std::optional<Window> ScanJob::next_read() {
  if (scale_reader_) return scale_reader_->next_read();
  return counter_ ? counter_->next_read() : std::nullopt;
}

uint8_t* ScanJob::input() { return scale_reader_ ? scale_reader_->input() : counter_->input(); }

JobStep ScanJob::feed() {
  if (!scale_reader_) return count(counter_->feed());
  scale_reader_->feed(
      [this](size_t range, uint64_t offset_bytes, ByteView bytes) { take_scales(range, offset_bytes, bytes); });
  if (!scale_reader_->finished()) return JobStep::need_input;
  scale_reader_.reset();
  return begin_counting();
}

void ScanJob::take_scales(size_t range, uint64_t offset_bytes, ByteView bytes) {
  const Tensor& tensor = inventory_.tensors[scales_[range]];
  const size_t n = bytes.size() / (dtype_info(tensor.dtype).bits / 8);
  kernels::widen_scales(tensor.dtype, bytes.data(), n, widened_.data());
  ScaleStats& stats = values_.scale_to_fill(scales_[range]);
  if (offset_bytes == 0) stats = {};  // a scan before this one may have been abandoned half way
  stats.add(widened_.data(), n);
}

namespace {

// The largest magnitude before the scale, where that and the scale are all there is; else infinite, which means: count.
float largest_code_of(const Tiling& tiling) {
  float zero = 0;
  for (const Plane& plane : tiling.planes) {
    const bool field = plane.bits != 0;
    if (plane.role == PlaneRole::zero && field) zero = 255 + tiling.zero_bias;
    const bool bounded = plane.role == PlaneRole::codes || plane.role == PlaneRole::order ||
                         (plane.role == PlaneRole::scale && !field) || (plane.role == PlaneRole::zero && field);
    if (!bounded) return INFINITY;
  }
  float largest = 0;
  if (tiling.table.empty()) {
    for (const float value : code_table(tiling.codec)) largest = std::max(largest, std::fabs(value));
  }
  for (const float value : tiling.table) largest = std::max(largest, std::fabs(value));
  // Un-rotating adds up `rotation` values and divides by the root of their number.
  return (largest + zero) * std::sqrt(static_cast<float>(std::max<uint64_t>(tiling.rotation, 1)));
}

}  // namespace

bool ScanJob::may_overflow(const Pair& pair) const {
  float largest_code = pair.tiling ? largest_code_of(*pair.tiling) : codec_info(pair.codec).max_finite;
  float most = 1;
  for (const float global :
       pair.global_scale == kNoTensor ? std::vector<float>{} : *values_.global_scale(pair.global_scale)) {
    most = std::max(most, std::fabs(pair.divide_global ? 1 / global : global));
  }
  largest_code *= most;
  float scale = 1;
  if (!pair.scales.empty()) {
    const ScaleStats* stats = values_.scale(pair.scales[0]);
    scale = stats ? stats->largest_magnitude() : INFINITY;
  }
  // A scale that is rounded first may grow by 2^-11 of itself.
  if (options_.recipe == Recipe::target_mul_rne) scale *= 1.001f;
  return !(largest_code * scale < kF16Overflow);
}

// The weights whose largest code times their largest scale leaves f16, and the floats to be cast.
JobStep ScanJob::begin_counting() {
  if (options_.to != Dtype::F16) return JobStep::done;
  counting_.to = Dtype::F16;
  Answers answers(options_.assumptions);
  for (const Pair& pair : pairing_.pairs) {
    const bool convertible =
        pair.weight != kNoTensor && scheme(pair.scheme).supported && pair.state() != PairState::refused;
    if (convertible) count_weight(pair, answers);
  }
  for (uint32_t i = 0; options_.cast_others && i < inventory_.tensors.size(); ++i) {
    if (pairing_.roles[i] == Role::parameter) count_cast(i);
  }
  if (counting_.steps.empty()) return JobStep::done;
  auto counter = Converter::create(inventory_, counting_, Converter::Mode::count);
  if (!counter) return failed(std::move(counter.error()));
  counter_ = std::move(*counter);
  return count(counter_->begin());
}

// Where an answer decides how the codes are read, or whether they are multiplied, it decides the losses too.
void ScanJob::count_weight(const Pair& pair, Answers& answers) {
  Pair decided = pair;
  bool multiply = pair.scheme != "scaled_float";
  for (const Error& issue : pair.issues) {
    if (issue_kind(issue.code) != IssueKind::question) continue;
    losses_.erase(pair.weight);  // a scan before this one may have had another answer
    const auto choice = answers.answer(issue.code, pair_name(inventory_, pair), pair.scheme);
    multiply = multiply || choice == "multiply";
    apply_choice(choice.value_or(""), decided);
  }
  if (!multiply) {
    if (options_.cast_others) count_cast(pair.weight);
    return;
  }
  if (losses_.contains(pair.weight) || !may_overflow(decided)) return;
  counting_.steps.push_back(dequantizing_step(inventory_, values_, decided, Dtype::F16, options_.recipe));
}

void ScanJob::count_cast(uint32_t tensor) {
  const Dtype dtype = inventory_.tensors[tensor].dtype;
  const bool wide = dtype == Dtype::F32 || dtype == Dtype::F64 || dtype == Dtype::BF16;
  if (!wide || losses_.contains(tensor)) return;
  Step step;
  step.tensor = tensor;
  step.action = Action::cast;
  step.codec = codec_of(dtype);
  step.dtype = Dtype::F16;
  counting_.steps.push_back(std::move(step));
}

JobStep ScanJob::count(JobStep step) {
  if (step == JobStep::failed) return failed(counter_->error());
  if (step == JobStep::done) {
    for (size_t i = 0; i < counting_.steps.size(); ++i)
      losses_[counting_.steps[i].tensor] = counter_->outcomes()[i].loss;
  }
  return step;
}

}  // namespace wb
