// json_scan(): strict JSON (RFC 8259) read once, front to back, by a handler of events, without a tree.
//
// The library's parser costs some ten calls a character; headers and indexes have up to 100,000,000 of them, and
// reading them is what this tool is for. tests/unit/json_scan_test.cpp and tests/fuzz/json_scan_fuzz.cpp hold the
// library beside it as the oracle: the same texts are taken, with the same events.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_chars.h"

namespace wb {

/// A string of the text. `text` is good until the handler returns.
struct JsonString {
  std::string_view text;  ///< decoded
  bool escaped;           ///< it was spelled with at least one backslash
};

/// Appends the code point that the escape at the front of `text` (after its backslash) stands for, surrogate pairs
/// together. Returns the characters read; 0 when it is no escape or half a pair.
size_t json_unescape(std::string_view text, std::string& out);

/// json_scan()'s state; see there.
template <class Handler>
class JsonScanner {
 public:
  JsonScanner(std::string_view text, Handler& handler)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()), handler_(handler) {}

  bool run() {
    bool more = value();
    while (more && !open_.empty()) more = open_.back() == Open::object ? member() : element();
    if (!more) return false;
    skip_space();
    return at_ == end_ || wrong();
  }

 private:
  enum class Open : uint8_t { object, array };

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  char peek() const { return at_ == end_ ? '\0' : *at_; }
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  void skip_plain() { at_ += plain_json_prefix({at_, static_cast<size_t>(end_ - at_)}); }
  bool wrong() {
    handler_.syntax_error(static_cast<uint64_t>(at_ - begin_));
    return false;
  }

  bool value() {
    skip_space();
    switch (peek()) {
      case '{': return ++at_, open(Open::object) && handler_.start_object();
      case '[': return ++at_, open(Open::array) && handler_.start_array();
      case '"': {
        const std::optional<JsonString> text = read_string();
        return text && handler_.string(*text);
      }
      case 't': return word("true") && handler_.boolean(true);
      case 'f': return word("false") && handler_.boolean(false);
      case 'n': return word("null") && handler_.null();
      default: return number();
    }
  }

  bool open(Open kind) {
    open_.push_back(kind);
    first_ = true;
    return true;
  }
  bool close(Open kind) {
    ++at_;
    open_.pop_back();
    first_ = false;
    return kind == Open::object ? handler_.end_object() : handler_.end_array();
  }
  // Past the comma before everything but the first; false when there is none.
  bool comma() {
    if (!std::exchange(first_, false)) {
      if (peek() != ',') return wrong();
      ++at_;
      skip_space();
    }
    return true;
  }

  bool member() {
    skip_space();
    if (peek() == '}') return close(Open::object);
    if (!comma()) return false;
    if (peek() != '"') return wrong();
    const std::optional<JsonString> name = read_string();
    if (!name || !handler_.key(*name)) return false;
    skip_space();
    if (peek() != ':') return wrong();
    ++at_;
    return value();
  }

  bool element() {
    skip_space();
    if (peek() == ']') return close(Open::array);
    return comma() && value();
  }

  bool word(std::string_view wanted) {
    for (const char letter : wanted) {
      if (peek() != letter) return wrong();
      ++at_;
    }
    return true;
  }

  // At the opening quote. A plain string, as nearly all are, is a view into the text.
  std::optional<JsonString> read_string() {
    const char* const start = ++at_;
    skip_plain();
    if (peek() == '"') return JsonString{{start, static_cast<size_t>(at_++ - start)}, false};
    decoded_.assign(start, at_);
    while (at_ != end_ && *at_ == '\\') {
      const size_t read = json_unescape({at_ + 1, static_cast<size_t>(end_ - at_ - 1)}, decoded_);
      if (read == 0) break;
      const char* const plain = at_ += 1 + read;
      skip_plain();
      decoded_.append(plain, at_);
    }
    if (at_ == end_ || *at_ != '"') {
      wrong();
      return std::nullopt;
    }
    ++at_;
    return JsonString{decoded_, true};
  }

  bool digits() {
    if (!is_digit(peek())) return wrong();
    while (is_digit(peek())) ++at_;
    return true;
  }

  // -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
  bool number() {
    const char* const start = at_;
    bool whole = peek() != '-';
    if (!whole) ++at_;
    uint64_t number = 0;
    if (peek() == '0') {
      ++at_;
    } else if (!is_digit(peek())) {
      return wrong();
    } else {
      for (; is_digit(peek()); ++at_) {
        const auto digit = static_cast<uint64_t>(*at_ - '0');
        whole = whole && number <= (UINT64_MAX - digit) / 10;
        number = number * 10 + digit;
      }
    }
    if (peek() == '.') {
      whole = false;
      ++at_;
      if (!digits()) return false;
    }
    if (peek() == 'e' || peek() == 'E') {
      whole = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) return false;
    }
    if (whole) return handler_.unsigned_number(number);
    const std::string written(start, at_);
    if (!std::isfinite(std::strtod(written.c_str(), nullptr))) return wrong();
    return handler_.other_number(written);
  }

  const char* const begin_;
  const char* at_;
  const char* const end_;
  Handler& handler_;
  std::vector<Open> open_;
  std::string decoded_;
  bool first_ = true;  // nothing stands yet in the innermost container
};

/// Reads `text`, which must be UTF-8, and calls `handler`:
///   bool null(), bool boolean(bool), bool unsigned_number(uint64_t), bool other_number(std::string_view as_written),
///   bool string(JsonString), bool key(JsonString), bool start_object(), end_object(), start_array(), end_array()
/// and, instead of going on, void syntax_error(uint64_t offset_bytes). A handler that returns false ends the reading.
/// Not JSON here, though the grammar has it: numbers that no double can hold, and half a surrogate pair.
/// Depth is the handler's to limit: one byte is kept per open container. Returns whether the whole text was read.
template <class Handler>
bool json_scan(std::string_view text, Handler& handler) {
  return JsonScanner<Handler>(text, handler).run();
}

}  // namespace wb
