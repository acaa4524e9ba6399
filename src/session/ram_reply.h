// RAM replies: the facts of one checkpoint as part of its report, and what loading one or several checkpoints costs
// on a machine. The second is computed from the first alone: nothing has to be open, and it can be asked at any time.
#pragma once

#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "base/result.h"
#include "ram/model_facts.h"
#include "ram/weight_sums.h"

namespace wb {

/// "ram": {...} of a report.
void write_ram(JsonWriter& json, const CheckpointSums& sums, const ModelFacts& facts);

/// {"components": [{"title", "facts": a report's ram.facts}], "machine": {...} or null, "held_as": dtype,
/// "context_tokens": count, "kv_bytes_per_value": count, "loader": id or "all"}; all but components may be absent.
/// Errc: invalid_option.
Result<std::string> ram_reply(std::string_view request);

}  // namespace wb
