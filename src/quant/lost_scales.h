// Lost scales: where an index says in which unopened file the other half of a pair stands, the pair's
// message says so. A shard opened alone must never be cast as if it had no scales (case B01).
#pragma once

#include "quant/pairs.h"
#include "safetensors/shard_set.h"

namespace wb {

/// Rewrites the issues of pairs whose missing half `set.elsewhere` lists.
void name_lost_scales(const Inventory& inventory, const ShardSet& set, Pairing& pairing);

}  // namespace wb
