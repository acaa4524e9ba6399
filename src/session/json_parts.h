// Pieces of JSON that several replies share.
#pragma once

#include "base/json_writer.h"
#include "plan/plan.h"
#include "readers/readers.h"
#include "safetensors/shard_set.h"

namespace wb {

/// {"code", "where", "message"}
void write_issue(JsonWriter& json, const Error& issue);

/// One decision: the question, the tensors it concerns (the first 100) and the choices it offers.
void write_decision(JsonWriter& json, const OpenQuestion& question);

/// "set": {...}, what an index promises against what is there.
void write_set(JsonWriter& json, const ShardSet& set);

/// "readers": [...], which programs read this checkpoint correctly.
void write_readers(JsonWriter& json, const Inventory& inventory, const std::vector<ReaderVerdict>& verdicts);

}  // namespace wb
