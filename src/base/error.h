// Error: a failure as a value. A code, where it happened, and words with both numbers that disagree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wb {

enum class Errc : uint8_t {
#define WB_ERRC(code, meaning) code,
#include "base/errc.inc"
#undef WB_ERRC
};

/// The code's one spelling, e.g. "duplicate_tensor".
std::string_view errc_name(Errc code);

/// What a code means, one clause for the documentation.
std::string_view errc_meaning(Errc code);

struct Error {
  Errc code;
  std::string where;    ///< tensor, file or option; empty when the whole input is meant
  std::string message;  ///< one sentence; where two numbers disagree, both stand in it. Empty: what the code means
};

}  // namespace wb
