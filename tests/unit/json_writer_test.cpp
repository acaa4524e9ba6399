#include "base/json_writer.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/float_text.h"

using namespace wb;

TEST_CASE("json_writer: escapes what serde_json escapes, and nothing else") {
  struct Row {
    const char* name;
    std::string text;
    std::string written;
  };
  const Row rows[] = {
      {"empty", "", R"("")"},
      {"quote and backslash", R"(a"b\c)", R"("a\"b\\c")"},
      {"short escapes", "\b\t\n\f\r", R"("\b\t\n\f\r")"},
      {"NUL", std::string(1, '\0'), R"("\u0000")"},
      {"other controls, lower case", "\x01\x1f\x1b", R"("\u0001\u001f\u001b")"},
      {"slash and DEL stay", "/\x7f", "\"/\x7f\""},
      {"non-ASCII stays", "\xC3\xA9\xF0\x9F\x98\x80", "\"\xC3\xA9\xF0\x9F\x98\x80\""},
      {"U+2028 stays", "\xE2\x80\xA8", "\"\xE2\x80\xA8\""},
  };
  for (const Row& row : rows) {
    std::string out;
    JsonWriter(out).value(std::string_view(row.text));
    INFO(row.name);
    CHECK(out == row.written);
  }
}

TEST_CASE("json_writer: containers, commas and keys") {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("a").begin_array().end_array().key("b").begin_object().end_object();
  json.key("c")
      .begin_array()
      .value(1)
      .value(true)
      .begin_array()
      .value("x")
      .end_array()
      .value(uint64_t{UINT64_MAX})
      .end_array();
  json.field("d", int64_t{-5}).field("e", false).end_object();
  CHECK(out == R"({"a":[],"b":{},"c":[1,true,["x"],18446744073709551615],"d":-5,"e":false})");
}

namespace {

// What float_text() is by definition.
std::string shortest(float number) {
  char text[32];
  for (int digits = 6; digits <= 9; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(number));
    if (std::strtof(text, nullptr) == number) break;
  }
  return text;
}

}  // namespace

TEST_CASE(
    "float_text: the same as printf and strtof, over all exponents, at powers of two and ten and their neighbours") {
  const auto check = [](float number) {
    for (const float each : {number, -number}) {
      if (float_text(each) != shortest(each)) CHECK(float_text(each) == shortest(each));
    }
  };
  const auto around = [&](float number) {
    float below = number;
    float above = number;
    for (int i = 0; i < 8; ++i, below = std::nextafter(below, 0.0f), above = std::nextafter(above, 1e30f)) {
      check(below);
      check(above);
    }
  };
  for (int exponent = -149; exponent <= 127; ++exponent) around(std::ldexp(1.0f, exponent));
  for (int exponent = -12; exponent <= 9; ++exponent) around(static_cast<float>(std::pow(10.0, exponent)));
  for (int i = 0; i < 2000; ++i) check(static_cast<float>(i) / 1000);
  uint64_t state = 88172645463325252;
  for (int i = 0; i < 60000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    // mostly the exponents that have the quick way
    const auto exponent = static_cast<uint32_t>(i % 4 == 0 ? state >> 40 : 100 + (state >> 40) % 50) & 0xFF;
    if (exponent == 0xFF) continue;
    check(bit_cast<float>(exponent << 23 | (static_cast<uint32_t>(state) & 0x7FFFFF)));
  }
}

TEST_CASE("json_writer: floats read back as themselves") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float rows[] = {0.0f,        -0.0f,         1.0f,           0.1f,   0.0123f,   448.0f,
                        16777216.0f, 3.4028235e38f, 1.1754944e-38f, 1e-45f, -1.0f / 3, 65504.0f};
  for (const float number : rows) {
    const std::string text = float_text(number);
    INFO(text);
    CHECK(std::strtof(text.c_str(), nullptr) == number);
    CHECK(nlohmann::json::parse(text, nullptr, false).is_number());
  }
  CHECK(float_text(0.1f) == "0.1");
  std::string out;
  JsonWriter(out)
      .begin_array()
      .value(kInf)
      .value(-kInf)
      .value(std::numeric_limits<float>::quiet_NaN())
      .value(0.5f)
      .end_array();
  CHECK(out == R"(["Infinity","-Infinity","NaN",0.5])");
}
