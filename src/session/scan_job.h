// ScanJob: what must be known before a plan can be trusted: the values of all scales, and, for fp16,
// what the tensors that could leave its range really would lose.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "convert/converter.h"
#include "convert/range_reader.h"
#include "plan/answers.h"
#include "plan/plan.h"

namespace wb {

class ScanJob final : public Job {
 public:
  /// Everything must outlive the job; `values` and `losses` are added to. Errc: out_of_memory.
  static Result<std::unique_ptr<ScanJob>> create(const Inventory& inventory, const Pairing& pairing,
                                                 SmallValues& values, F16Losses& losses, const PlanOptions& options);

  JobStep begin() override;
  std::optional<Window> next_read() override;
  uint8_t* input() override;
  JobStep feed() override;

 private:
  ScanJob(const Inventory& inventory, const Pairing& pairing, SmallValues& values, F16Losses& losses,
          const PlanOptions& options)
      : inventory_(inventory), pairing_(pairing), values_(values), losses_(losses), options_(options) {}

  void take_scales(size_t range, uint64_t offset_bytes, ByteView bytes);
  JobStep begin_counting();
  JobStep count(JobStep step);
  void count_weight(const Pair& pair, Answers& answers);
  void count_cast(uint32_t tensor);
  bool may_overflow(const Pair& pair) const;

  const Inventory& inventory_;
  const Pairing& pairing_;
  SmallValues& values_;
  F16Losses& losses_;
  const PlanOptions& options_;
  std::vector<uint32_t> scales_;
  std::optional<RangeReader> scale_reader_;
  std::vector<float> widened_;
  Plan counting_;  // only steps to f16 whose losses are counted
  std::unique_ptr<Converter> counter_;
};

}  // namespace wb
