#include "base/name_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wb {

uint64_t name_hash(std::string_view name, uint64_t seed) { return XXH64(name.data(), name.size(), seed); }

}  // namespace wb
