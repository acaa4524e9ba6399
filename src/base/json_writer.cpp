#include "base/json_writer.h"

#include <cmath>

#include "base/float_text.h"
#include "base/json_chars.h"

namespace wb {

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  first_ = false;
  return *this;
}

// serde_json's rule: escape the quote, the backslash and what is below 0x20, leave '/', DEL and
// non-ASCII raw, hexadecimal digits in lower case.
void JsonWriter::quote(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out_ += '"';
  for (;;) {
    const size_t plain = plain_json_prefix(text);
    out_.append(text.data(), plain);
    if (plain == text.size()) break;
    const char c = text[plain];
    text.remove_prefix(plain + 1);
    switch (c) {
      case '"': out_ += "\\\""; break;
      case '\\': out_ += "\\\\"; break;
      case '\b': out_ += "\\b"; break;
      case '\t': out_ += "\\t"; break;
      case '\n': out_ += "\\n"; break;
      case '\f': out_ += "\\f"; break;
      case '\r': out_ += "\\r"; break;
      default:
        out_ += "\\u00";
        out_ += kHex[(c >> 4) & 15];
        out_ += kHex[c & 15];
    }
  }
  out_ += '"';
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  out_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) {
  separate();
  out_ += truth ? "true" : "false";
  return *this;
}

void JsonWriter::digits(uint64_t number) {
  char text[20];  // of 2^64 - 1
  char* const end = text + sizeof text;
  char* at = end;
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  out_.append(at, end);
}

JsonWriter& JsonWriter::value(uint64_t number) {
  separate();
  digits(number);
  return *this;
}

JsonWriter& JsonWriter::value(int64_t number) {
  separate();
  if (number < 0) out_ += '-';
  digits(number < 0 ? -static_cast<uint64_t>(number) : static_cast<uint64_t>(number));
  return *this;
}

JsonWriter& JsonWriter::value(float number) {
  if (std::isnan(number)) return value("NaN");
  if (std::isinf(number)) return value(number > 0 ? "Infinity" : "-Infinity");
  separate();
  out_ += float_text(number);
  return *this;
}

}  // namespace wb
