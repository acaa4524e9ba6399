#include "base/utf8.h"

namespace wb {

// Length of the sequence that starts at `at`, or 0 when it is not valid there.
//   0xxxxxxx                             U+0000..U+007F
//   110xxxxx 10xxxxxx                    U+0080..U+07FF    (C0, C1 are overlong)
//   1110xxxx 10xxxxxx 10xxxxxx           U+0800..U+FFFF    (E0 needs A0.., ED stops at 9F: surrogates)
//   11110xxx 10xxxxxx 10xxxxxx 10xxxxxx  U+10000..U+10FFFF (F0 needs 90.., F4 stops at 8F)
static size_t sequence_length(ByteView bytes, size_t at) {
  const uint8_t lead = bytes[at];
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : (lead & 0xF0) == 0xE0        ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || bytes.size() - at < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((bytes[at + i] & 0xC0) != 0x80) return 0;
  }
  const uint8_t second = bytes[at + 1];
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
  return length;
}

size_t utf8_valid_prefix(ByteView bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    // Headers are nearly all ASCII: eight bytes at a time while no top bit is set.
    while (bytes.size() - at >= 8 && (load_le<uint64_t>(&bytes[at]) & 0x8080808080808080u) == 0) at += 8;
    if (at == bytes.size()) break;
    const size_t length = sequence_length(bytes, at);
    if (length == 0) return at;
    at += length;
  }
  return at;
}

std::string printable_utf8(ByteView bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = sequence_length(bytes, at);
    if (length == 0 || bytes[at] < 0x20 || bytes[at] == 0x7F) {
      text += '?';
      ++at;
    } else {
      text.append(reinterpret_cast<const char*>(&bytes[at]), length);
      at += length;
    }
  }
  return text;
}

}  // namespace wb
