// Resumption: what lets a conversion go on where an earlier run was ended: a mark after every whole tensor, and a
// fingerprint of all that the bytes before it depend on.
#pragma once

#include <string>
#include <string_view>

#include "convert/converter.h"

namespace wb {

/// A mark as an earlier run told it. The hash is to be found again in the bytes on disk.
struct ResumePoint {
  Mark mark;
  std::vector<StepOutcome> outcomes;  ///< of the steps before it
};

/// Equal for two plans only if they write the same bytes from the same places of the same sources. `given`: of the side
/// files. The contents of the sources are the host's to tell apart.
uint64_t plan_fingerprint(const Inventory& inventory, const Plan& plan, uint64_t given);

/// {"step", "bytes", "xxh64", "outcomes": [[step, nan, overflow, underflow], ...]} of the steps from `first_step` on
/// that met something.
std::string mark_reply(const Mark& mark, const std::vector<StepOutcome>& outcomes, uint64_t first_step);

/// The same text read again. Errc: resume_refused.
Result<ResumePoint> parse_mark(std::string_view text, const Plan& plan);

/// Sixteen hex digits.
std::string hex_text(uint64_t number);

}  // namespace wb
