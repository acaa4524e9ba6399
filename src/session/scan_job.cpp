#include "session/scan_job.h"

#include <algorithm>
#include <cmath>

namespace wb {
namespace {

/// The least magnitude that rounds to infinity in f16 (65504 plus half a step).
constexpr float kF16Overflow = 65520.0f;

}  // namespace

Result<std::unique_ptr<ScanJob>> ScanJob::create(const Inventory& inventory, const Pairing& pairing, SmallValues& values, F16Losses& losses,
                                                 const PlanOptions& options) {
  std::unique_ptr<ScanJob> job(new ScanJob(inventory, pairing, values, losses, options));
  for (const Pair& pair : pairing.pairs) {
    if (pair.weight == kNoTensor || pair.scales.empty() || !scheme(pair.scheme).supported) continue;
    const uint32_t scale = pair.scales[0];
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
  scale_reader_->feed([this](size_t range, uint64_t offset_bytes, ByteView bytes) { take_scales(range, offset_bytes, bytes); });
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

bool ScanJob::may_overflow(const Pair& pair, Dtype codec) const {
  if (!is_fp8_payload(codec)) return true;  // floats reach beyond f16 without any scale
  float scale = 1;
  if (!pair.scales.empty()) {
    const ScaleStats* stats = values_.scale(pair.scales[0]);
    scale = stats ? stats->largest_magnitude() : INFINITY;
  }
  return !(kernels::max_finite(codec) * scale < kF16Overflow);
}

// The weights whose largest code times their largest scale leaves f16, and the floats to be cast.
JobStep ScanJob::begin_counting() {
  if (options_.to != Dtype::F16) return JobStep::done;
  counting_.to = Dtype::F16;
  Answers answers(options_.assumptions);
  for (const Pair& pair : pairing_.pairs) {
    const bool convertible = pair.weight != kNoTensor && scheme(pair.scheme).supported && pair.state() != PairState::refused;
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

Step& ScanJob::add(uint32_t tensor, Action action, Dtype codec) {
  Step step;
  step.tensor = tensor;
  step.action = action;
  step.codec = codec;
  step.dtype = Dtype::F16;
  counting_.steps.push_back(step);
  return counting_.steps.back();
}

// Where an answer decides how the codes are read, or whether they are multiplied, it decides the losses too.
void ScanJob::count_weight(const Pair& pair, Answers& answers) {
  const std::string& name = pair_name(inventory_, pair);
  Dtype codec = pair.codec;
  if (pair.has(Errc::layout_undecided)) {
    losses_.erase(pair.weight);
    if (answers.answer(Errc::layout_undecided, name, pair.scheme) == "e5m2") codec = Dtype::F8_E5M2;
  }
  if (pair.scheme == "scaled_float") {
    losses_.erase(pair.weight);
    if (answers.answer(Errc::scale_on_float_weight, name, pair.scheme) != "multiply") {
      if (options_.cast_others) count_cast(pair.weight);
      return;
    }
  }
  if (losses_.contains(pair.weight) || !may_overflow(pair, codec)) return;
  Step& step = add(pair.weight, Action::dequantize, codec);
  step.grid = pair.scales.empty() ? unscaled_grid(inventory_.tensors[pair.weight]) : pair.grid;
  if (!pair.scales.empty()) step.scale = pair.scales[0];
}

void ScanJob::count_cast(uint32_t tensor) {
  const Dtype dtype = inventory_.tensors[tensor].dtype;
  const bool wide = dtype == Dtype::F32 || dtype == Dtype::F64 || dtype == Dtype::BF16;
  if (wide && !losses_.contains(tensor)) add(tensor, Action::cast, dtype);
}

JobStep ScanJob::count(JobStep step) {
  if (step == JobStep::failed) return failed(counter_->error());
  if (step == JobStep::done) {
    for (size_t i = 0; i < counting_.steps.size(); ++i) losses_[counting_.steps[i].tensor] = counter_->outcomes()[i].loss;
  }
  return step;
}

}  // namespace wb
