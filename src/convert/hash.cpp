#include "convert/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wb {

struct Hash::State {
  XXH64_state_t xxh;
};

Hash::Hash() : state_(std::make_unique<State>()) { XXH64_reset(&state_->xxh, 0); }
Hash::~Hash() = default;
Hash::Hash(Hash&& other) noexcept = default;
Hash& Hash::operator=(Hash&& other) noexcept = default;
void Hash::update(ByteView bytes) { XXH64_update(&state_->xxh, bytes.data(), bytes.size()); }
uint64_t Hash::digest() const { return XXH64_digest(&state_->xxh); }

}  // namespace wb
