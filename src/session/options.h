// Options: the JSON of a conversion's options, read strictly: the target is required, an unknown
// value is an error.
#pragma once

#include <string_view>

#include "plan/plan.h"

namespace wb {

/// {"to": "bf16"|"f16"|"stored", "others": "keep"|"cast", "assume": {subject: choice}, "shards": "one"|"same"|bytes}
/// Errc: target_required, invalid_option.
Result<PlanOptions> parse_options(std::string_view json);

}  // namespace wb
