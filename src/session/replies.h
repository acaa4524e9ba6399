// Replies: the session's state as JSON. Keys are those of web/engine/report.ts.
#pragma once

#include <optional>
#include <string>

#include "convert/converter.h"
#include "plan/plan.h"
#include "quant/pairs.h"
#include "ram/model_facts.h"
#include "safetensors/shard_set.h"
#include "session/inspect_job.h"

namespace wb {

std::string error_reply(const Error& error);

std::string report_reply(const Inspection& inspection, const Pairing& pairing, const QuantConfig& config,
                         const ModelFacts& model, const std::vector<Error>& warnings, const ShardSet* set);

/// Rows [first, first + count), as far as there are any.
/// Pages of rows into `reply`, whose memory the next page uses again.
void tensors_reply(const Inspection& inspection, const Pairing& pairing, uint64_t first, uint64_t count,
                   std::string& reply);
void pairs_reply(const Inspection& inspection, const Pairing& pairing, uint64_t first, uint64_t count,
                 std::string& reply);

/// `fingerprint`: plan_fingerprint (resumption.h).
std::string plan_reply(const Plan& plan, uint64_t fingerprint);
/// [[file, source, begin, end], ...] of a plan of copies, in output order: rows [first, first + count).
std::string copies_reply(const Inventory& inventory, const Plan& plan, uint64_t first, uint64_t count);
std::string decisions_reply(const Plan& plan);

struct Outcome {
  const std::vector<StepOutcome>& steps;
  uint64_t output_hash = 0;
  bool hashed = true;
  bool verified = false;
};
std::string receipt_reply(const Inspection& inspection, const Plan& plan, const Outcome& outcome);

}  // namespace wb
