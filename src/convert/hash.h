// Hash: XXH64 of a stream, from the xxHash library. Tells whether the file on disk is the one that
// was computed; it is no defence against an attacker.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"

namespace wb {

class Hash {
 public:
  Hash();
  ~Hash();
  Hash(Hash&& other) noexcept;
  Hash& operator=(Hash&& other) noexcept;
  void update(ByteView bytes);
  uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wb
