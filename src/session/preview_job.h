// Preview: what a weight would look like under each answer to a question about it. The first rows are converted by the
// converter itself, once per answer; nothing here knows how.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "convert/converter.h"
#include "convert/job.h"
#include "plan/plan.h"

namespace wb {

/// Weights that are looked at per answer.
inline constexpr uint64_t kPreviewElements = 256 * 1024;
inline constexpr size_t kPreviewFirst = 8;

/// One answer and the weights it gives.
struct Preview {
  std::string_view choice;
  std::string_view meaning;
  uint64_t values = 0;
  uint64_t zeros = 0;
  uint64_t infinite = 0;
  uint64_t nan = 0;
  float largest = 0;          ///< magnitude, of the finite
  double sum_of_squares = 0;  ///< of the finite
  /// Finite non-zero values by the power of two of their magnitude: [e] counts 2^(e - 127) <= |w| < 2^(e - 126); [0]
  /// holds the subnormal ones.
  std::array<uint64_t, 256> by_exponent{};
  std::vector<float> first;  ///< the first few, as they stand
};

class PreviewJob final : public Job {
 public:
  /// Of the pair that `tensor` names and the question `code`; answers to other questions come from `options`.
  /// Errc: unknown_assumption, when there is no such question or none of its answers gives weights.
  static Result<std::unique_ptr<PreviewJob>> create(const Inventory& inventory, const Pairing& pairing,
                                                    const SmallValues& values, const PlanOptions& options,
                                                    const std::string& tensor, std::string_view code);

  JobStep begin() override { return take(converter_->begin()); }
  std::optional<Window> next_read() override { return converter_->next_read(); }
  uint8_t* input() override { return converter_->input(); }
  JobStep feed() override { return take(converter_->feed()); }

  const std::vector<Preview>& previews() const { return previews_; }

 private:
  JobStep take(JobStep step);
  void count(ByteView output);

  Plan plan_;  ///< one step per preview
  std::unique_ptr<Converter> converter_;
  std::vector<Preview> previews_;
  uint64_t counted_bytes_ = 0;  ///< of the current preview's step
  size_t current_ = 0;
};

/// The previews of one question as JSON.
std::string previews_reply(const std::string& tensor, std::string_view code, const std::vector<Preview>& previews);

}  // namespace wb
