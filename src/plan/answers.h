// Answers: which assumption, if any, answers which question about which weight.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace wb {

class Answers {
 public:
  explicit Answers(const std::vector<Assumption>& assumptions);

  /// The choice for this question: an assumption about the tensor beats one about the code, which
  /// beats one about the scheme. Counts what was used; asks nothing about choices' validity.
  std::optional<std::string> answer(Errc code, const std::string& tensor, std::string_view scheme);

  /// Assumptions that were used, with the number of tensors each decided.
  std::vector<AppliedAssumption> applied() const;

  /// Errc: unknown_assumption when one was never asked for, invalid_option when a choice is not
  /// among those that its question offers.
  Status check() const;

 private:
  struct Entry {
    Assumption assumption;
    uint64_t used = 0;
    std::optional<Errc> misfit;  // a question for which its choice is not offered
  };
  std::vector<Entry> entries_;
};

}  // namespace wb
