// UTF-8: the whole header must be valid (rule 8), and text from damaged files must be made so before
// it may stand in a reply.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace wb {

/// Offset of the first byte that is not valid UTF-8 (overlong forms, surrogates and code points above
/// U+10FFFF included), or bytes.size() when all of it is.
size_t utf8_valid_prefix(ByteView bytes);

/// The text with every invalid byte and every control character below 0x20 replaced by '?'.
std::string printable_utf8(ByteView bytes);

}  // namespace wb
