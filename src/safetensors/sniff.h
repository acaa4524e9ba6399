// Sniff: what a file is when it is not safetensors. Nearly every "header too large" in the wild is a
// Git LFS pointer, a web page or a renamed pickle; the first bytes tell.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/error.h"

namespace wb {

/// As many bytes of the start of the file as sniffing wants to see.
inline constexpr uint64_t kSniffBytes = 4096;

/// Names the file for what it is, from its first min(size, kSniffBytes) bytes. Nothing when they
/// look like no format that is known here. Only to be asked when the framing is wrong: a genuine
/// header length can by chance look like anything.
std::optional<Error> sniff(ByteView start, uint64_t file_bytes);

}  // namespace wb
