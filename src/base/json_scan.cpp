// The rare half of json_scan(): escapes in strings.
#include "base/json_scan.h"

namespace wb {
namespace {

constexpr uint32_t kHighSurrogate = 0xD800;
constexpr uint32_t kLowSurrogate = 0xDC00;
constexpr uint32_t kAfterSurrogates = 0xE000;

// 0xxxxxxx | 110xxxxx 10xxxxxx | 1110xxxx 10xxxxxx 10xxxxxx | 11110xxx 10xxxxxx 10xxxxxx 10xxxxxx (RFC 3629)
void append_utf8(uint32_t point, std::string& out) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | (point >> 12));
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | (point >> 18));
    tail(12), tail(6), tail(0);
  }
}

// Four hexadecimal digits at the front of `text`, if they are there.
std::optional<uint32_t> hex4(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  uint32_t value = 0;
  for (const char c : text.substr(0, 4)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = value << 4 | static_cast<uint32_t>(digit);
  }
  return value;
}

// RFC 8259 section 7: outside the first plane a character is two halves, \uD834\uDD1E. Returns the characters read.
size_t unescape_unicode(std::string_view text, std::string& out) {
  const std::optional<uint32_t> unit = hex4(text.substr(1));
  if (!unit || (*unit >= kLowSurrogate && *unit < kAfterSurrogates)) return 0;
  if (*unit < kHighSurrogate || *unit >= kAfterSurrogates) return append_utf8(*unit, out), 5;
  const bool paired = text.substr(5, 2) == "\\u";
  const std::optional<uint32_t> low = paired ? hex4(text.substr(7)) : std::nullopt;
  if (!low || *low < kLowSurrogate || *low >= kAfterSurrogates) return 0;
  return append_utf8(0x10000 + ((*unit - kHighSurrogate) << 10) + (*low - kLowSurrogate), out), 11;
}

}  // namespace

size_t json_unescape(std::string_view text, std::string& out) {
  if (text.empty()) return 0;
  if (text.front() == 'u') return unescape_unicode(text, out);
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const size_t which = kLetters.find(text.front());
  if (which == std::string_view::npos) return 0;
  out += kMeanings[which];
  return 1;
}

}  // namespace wb
