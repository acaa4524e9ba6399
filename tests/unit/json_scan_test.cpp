// json_scan() beside the library that it replaces: on every text the same events, in the same order, or both refuse it
// after the same events.
#include "base/json_scan.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "oracle/json_trace.h"

using namespace wb;

namespace {

// Pieces of which texts are put together: all kinds of tokens, sound and broken.
const std::vector<std::string> kPieces = {
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"a\"",
    "\"\\n\\u0041\"",
    "\"",
    "\\",
    "0",
    "-0",
    "-",
    "1",
    "01",
    "1.5",
    "1.",
    ".5",
    "1e5",
    "1E+5",
    "1e-5",
    "1e",
    "1e999",
    "-1e999",
    "1e-999",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "true",
    "tru",
    "false",
    "null",
    "nul",
    "nulll",
    " ",
    "\t\n\r",
    "\f",
    "\v",
    "/**/",
    "'a'",
    "NaN",
    "Infinity",
    "+1",
    "0x1",
    "\xC2\xA0",
    "\"\x1F\"",
    "\"\x7F\"",
    "\"\xF0\x9F\x98\x80\"",
};

// xorshift64*: the same texts in every run, native and wasm.
struct Random {
  uint64_t state = 0x9E3779B97F4A7C15;
  size_t below(size_t bound) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return static_cast<size_t>(state * 0x2545F4914F6CDD1D >> 33) % bound;
  }
};

void check_same(const std::string& text) {
  const std::string scanned = oracle::scan_trace(text);
  const std::string expected = oracle::library_trace(text);
  if (scanned == expected) return;  // so that Catch does not keep a million passed checks
  CAPTURE(text);
  CHECK(scanned == expected);
}

}  // namespace

TEST_CASE("json_scan: the library's events for every one, two and three pieces") {
  for (const std::string& a : kPieces) {
    check_same(a);
    for (const std::string& b : kPieces) {
      check_same(a + b);
      for (const std::string& c : kPieces) {
        check_same(a + b + c);
        check_same("[" + a + b + c + "]");
        check_same("{\"k\":" + a + b + c);
      }
    }
  }
}

TEST_CASE("json_scan: the library's events for random rows of pieces, and sound texts with one byte changed") {
  Random random;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (size_t pieces = random.below(12); pieces > 0; --pieces) text += kPieces[random.below(kPieces.size())];
    check_same(text);
  }
  const std::string sound =
      R"({"__metadata__":{"format":"pt"},"a\"b":{"dtype":"F8_E4M3","shape":[2, 3.5e1],"data_offsets":[0,6]},"x":[[],{}]})";
  check_same(sound);
  for (size_t at = 0; at < sound.size(); ++at) {
    check_same(sound.substr(0, at));
    for (int byte = 1; byte < 128; ++byte) {
      std::string changed = sound;
      changed[at] = static_cast<char>(byte);
      check_same(changed);
    }
  }
}

TEST_CASE("json_scan: escapes") {
  const auto string_of = [](const std::string& inside) { return oracle::scan_trace("\"" + inside + "\""); };
  CHECK(string_of(R"(\"\\\/\b\f\n\r\t)") == "string \"\\/\b\f\n\r\t\nwhole");
  CHECK(string_of(R"(\u0041\u00e9\u20AC\ud83d\ude00)") == "string A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\nwhole");
  CHECK(string_of(R"(\uD7FF\uE000)") == "string \xED\x9F\xBF\xEE\x80\x80\nwhole");
  CHECK(string_of(R"(\ud800\udc00\udbff\udfff)") == "string \xF0\x90\x80\x80\xF4\x8F\xBF\xBF\nwhole");
  for (const char* broken : {R"(\)", R"(\a)", R"(\u)", R"(\u12)", R"(\u12g4)", R"(\U0041)", R"(\ud800)", R"(\ud800x)",
                             R"(\ud800\n)", R"(\ud800\u0041)", R"(\ud800\ud800)", R"(\udc00)", R"(\ud800\udc0)"}) {
    CHECK(string_of(broken) == "error\nbroken");
    check_same(std::string("\"") + broken + "\"");
    check_same(std::string("\"") + broken);
  }
  // Every unit, as the first half, as the second half and alone.
  for (uint32_t unit = 0; unit < 0x10000; ++unit) {
    char text[40];
    std::snprintf(text, sizeof text, "[\"\\u%04x\"", unit);
    check_same(text);
    std::snprintf(text, sizeof text, "[\"\\uD834\\u%04X\"", unit);
    check_same(text);
    std::snprintf(text, sizeof text, "[\"\\u%04X\\udd1e\"", unit);
    check_same(text);
  }
}

TEST_CASE("json_scan: escaped is said of strings that are spelled with a backslash, and where an error stands") {
  struct Handler : oracle::ScanTrace {
    std::vector<bool> escaped;
    uint64_t error_bytes = 0;
    bool key(const JsonString& key) { return escaped.push_back(key.escaped), true; }
    bool string(const JsonString& string) { return escaped.push_back(string.escaped), true; }
    void syntax_error(uint64_t at) { error_bytes = at; }
  };
  Handler handler;
  CHECK(json_scan(R"({"a":"b","\u0061":"\"","a/":""})", handler));
  CHECK(handler.escaped == std::vector<bool>{false, false, true, true, false, false});
  const std::pair<const char*, uint64_t> rows[] = {
      {"", 0},      {"{", 1},     {"[1,]", 3},       {"{\"a\" 1}", 5},
      {"[1] x", 4}, {"[tru]", 4}, {"[\"a\nb\"]", 3}, {"[\"a\\xb\"]", 3},
  };
  for (const auto& [text, at] : rows) {
    INFO(text);
    Handler broken;
    CHECK_FALSE(json_scan(text, broken));
    CHECK(broken.error_bytes == at);
  }
}

TEST_CASE("json_scan: a handler that has enough ends the reading, wherever it says so") {
  // Refuses the event of this number, and counts on, so that an event after it would show.
  struct Refusing {
    int left;
    int seen = 0;
    bool next() { return ++seen, left-- > 0; }
    bool null() { return next(); }
    bool boolean(bool) { return next(); }
    bool unsigned_number(uint64_t) { return next(); }
    bool other_number(std::string_view) { return next(); }
    bool string(const JsonString&) { return next(); }
    bool key(const JsonString&) { return next(); }
    bool start_object() { return next(); }
    bool end_object() { return next(); }
    bool start_array() { return next(); }
    bool end_array() { return next(); }
    void syntax_error(uint64_t) { seen = 1000; }
  };
  constexpr std::string_view kText = R"({"a":[null,true,1,-1,"s",{}],"b":2})";
  constexpr int kEvents = 14;
  for (int allowed = 0; allowed <= kEvents; ++allowed) {
    Refusing handler{allowed};
    CHECK(json_scan(kText, handler) == (allowed == kEvents));
    CHECK(handler.seen == std::min(allowed + 1, kEvents));
  }
}

TEST_CASE("json_scan: a million open containers take a million bytes, not the stack") {
  const std::string deep(1'000'000, '[');
  CHECK(oracle::scan_trace(deep + std::string(deep.size(), ']')).ends_with("whole"));
  CHECK(oracle::scan_trace(deep).ends_with("error\nbroken"));
}
