// What json_scan() and the library it replaces say about one text, event by event, so that both can be compared.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json_scan.h"

namespace wb::oracle {

inline std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value + 0.0);  // + 0.0: the library reads -0 as a whole number
  return text;
}

struct ScanTrace {
  std::string events;

  bool say(std::string_view kind, std::string_view what = {}) {
    events.append(kind).append(what).push_back('\n');
    return true;
  }
  bool null() { return say("null"); }
  bool boolean(bool value) { return say(value ? "true" : "false"); }
  bool unsigned_number(uint64_t number) { return say("whole ", std::to_string(number)); }
  bool other_number(std::string_view written) {
    return say("number ", number_text(std::strtod(std::string(written).c_str(), nullptr)));
  }
  bool string(const JsonString& string) { return say("string ", string.text); }
  bool key(const JsonString& key) { return say("key ", key.text); }
  bool start_object() { return say("{"); }
  bool end_object() { return say("}"); }
  bool start_array() { return say("["); }
  bool end_array() { return say("]"); }
  void syntax_error(uint64_t) { say("error"); }
};

struct LibraryTrace : nlohmann::json_sax<nlohmann::json> {
  ScanTrace trace;

  bool null() override { return trace.null(); }
  bool boolean(bool value) override { return trace.boolean(value); }
  bool number_integer(number_integer_t value) override {
    return trace.say("number ", number_text(static_cast<double>(value)));
  }
  bool number_unsigned(number_unsigned_t value) override { return trace.unsigned_number(value); }
  bool number_float(number_float_t value, const string_t&) override { return trace.say("number ", number_text(value)); }
  bool string(string_t& text) override { return trace.say("string ", text); }
  bool key(string_t& text) override { return trace.say("key ", text); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return trace.start_object(); }
  bool end_object() override { return trace.end_object(); }
  bool start_array(std::size_t) override { return trace.start_array(); }
  bool end_array() override { return trace.end_array(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    trace.syntax_error(0);
    return false;
  }
};

inline std::string scan_trace(std::string_view text) {
  ScanTrace trace;
  const bool whole = json_scan(text, trace);
  return trace.events + (whole ? "whole" : "broken");
}

inline std::string library_trace(std::string_view text) {
  LibraryTrace sax;
  const bool whole = nlohmann::json::sax_parse(text.begin(), text.end(), &sax);
  return sax.trace.events + (whole ? "whole" : "broken");
}

/// The library skips a byte order mark and takes NUL for the end; both are the callers' to refuse.
inline bool comparable(std::string_view text) {
  return text.find('\0') == std::string_view::npos && text.substr(0, 3) != "\xEF\xBB\xBF";
}

}  // namespace wb::oracle
