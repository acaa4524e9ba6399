// utf8, checked, error, buffer, dtype: the small things everything stands on.
#include <catch2/catch.hpp>
#include <set>

#include "base/buffer.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/utf8.h"
#include "dtype/dtype.h"

using namespace wb;

static ByteView view(const std::string& text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

TEST_CASE("utf8: every malformed kind stops where it begins") {
  struct Row {
    const char* name;
    std::string bytes;
    bool valid;
  };
  const Row rows[] = {
      {"U+0000", std::string(1, '\0'), true},
      {"U+007F", "\x7F", true},
      {"U+0080", "\xC2\x80", true},
      {"U+07FF", "\xDF\xBF", true},
      {"U+0800", "\xE0\xA0\x80", true},
      {"U+D7FF", "\xED\x9F\xBF", true},
      {"U+E000", "\xEE\x80\x80", true},
      {"U+FFFF", "\xEF\xBF\xBF", true},
      {"U+10000", "\xF0\x90\x80\x80", true},
      {"U+10FFFF", "\xF4\x8F\xBF\xBF", true},
      {"continuation alone", "\x80", false},
      {"last continuation alone", "\xBF", false},
      {"overlong 2, C0", "\xC0\x80", false},
      {"overlong 2, C1", "\xC1\xBF", false},
      {"overlong 3", "\xE0\x9F\xBF", false},
      {"overlong 4", "\xF0\x8F\xBF\xBF", false},
      {"first surrogate", "\xED\xA0\x80", false},
      {"last surrogate", "\xED\xBF\xBF", false},
      {"above U+10FFFF", "\xF4\x90\x80\x80", false},
      {"F5", "\xF5\x80\x80\x80", false},
      {"FE", "\xFE", false},
      {"FF", "\xFF", false},
      {"2 of 2 missing", "\xC3", false},
      {"3 of 3 missing", "\xE2\x82", false},
      {"4 of 4 missing", "\xF0\x9F\x98", false},
      {"no continuation", "\xC3\x28", false},
      {"third byte wrong", "\xE2\x82\x28", false},
      {"fourth byte wrong", "\xF0\x9F\x98\x28", false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    for (size_t lead = 0; lead < 20; ++lead) {  // at every place relative to the eight-byte steps
      const std::string before(lead, 'a');
      for (const std::string after : {"", "b", "bbbbbbbbbbbbbbbb"}) {
        const std::string text = before + row.bytes + after;
        CHECK(utf8_valid_prefix(view(text)) == (row.valid ? text.size() : lead));
      }
    }
  }
  CHECK(utf8_valid_prefix({}) == 0);
}

TEST_CASE("utf8: printable text holds neither invalid bytes nor controls") {
  CHECK(printable_utf8(view("a\xC3\xA9\n\x7F\xFF\xED\xA0\x80z")) == "a\xC3\xA9??????z");
  const std::string printed = printable_utf8(view(std::string("\xF0\x9F\0\x01", 4)));
  CHECK(printed == "????");
}

TEST_CASE("checked: nothing wraps") {
  CHECK(checked_add(UINT64_MAX, 0) == UINT64_MAX);
  CHECK(checked_add(UINT64_MAX - 1, 1) == UINT64_MAX);
  CHECK_FALSE(checked_add(UINT64_MAX, 1));
  CHECK(checked_mul(UINT64_MAX, 1) == UINT64_MAX);
  CHECK(checked_mul(UINT64_MAX, 0) == 0);
  CHECK(checked_mul(uint64_t{1} << 32, (uint64_t{1} << 32) - 1) == 0xFFFFFFFF00000000);
  CHECK_FALSE(checked_mul(uint64_t{1} << 32, uint64_t{1} << 32));
  CHECK(ceil_div(0, 5) == 0);
  CHECK(ceil_div(5, 5) == 1);
  CHECK(ceil_div(6, 5) == 2);
  CHECK(ceil_div(UINT64_MAX, UINT64_MAX) == 1);
  CHECK(ceil_div(UINT64_MAX, 2) == uint64_t{1} << 63);
}

TEST_CASE("error: every code has its own spelling and a meaning") {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Errc::format_added); ++code) {
    const auto name = errc_name(static_cast<Errc>(code));
    CHECK_FALSE(name.empty());
    CHECK_FALSE(errc_meaning(static_cast<Errc>(code)).empty());
    names.insert(name);
  }
  CHECK(names.size() == static_cast<size_t>(Errc::format_added) + 1);
  CHECK(errc_name(Errc::duplicate_tensor) == "duplicate_tensor");
}

TEST_CASE("buffer: owns its bytes, and reports what it cannot get") {
  auto buffer = Buffer::create(10);
  REQUIRE(buffer);
  CHECK(buffer->size() == 10);
  Buffer moved = std::move(*buffer);
  CHECK(moved.size() == 10);
  CHECK(moved.view().size() == 10);
  Buffer other;
  other = std::move(moved);
  CHECK(other.size() == 10);
  if (sizeof(size_t) == 4) {  // natively a terabyte may well be promised
    const auto far = Buffer::create(uint64_t{1} << 40 | 5);
    REQUIRE_FALSE(far);
    CHECK(far.error().code == Errc::out_of_memory);
    CHECK(far.error().message.find("1099511627781") != std::string::npos);
  }
}

TEST_CASE("dtype: the 22 wire names, exactly") {
  struct Row {
    const char* name;
    uint32_t bits;
    const char* kind;
    bool is_float;
  };
  // In the reference crate's enum order.
  const Row rows[] = {
      {"BOOL", 8, "other", false},     {"F4", 4, "fp4", true},          {"F6_E2M3", 6, "fp6", true},
      {"F6_E3M2", 6, "fp6", true},     {"U8", 8, "int8", false},        {"I8", 8, "int8", false},
      {"F8_E5M2", 8, "fp8", true},     {"F8_E4M3", 8, "fp8", true},     {"F8_E8M0", 8, "fp8", true},
      {"F8_E4M3FNUZ", 8, "fp8", true}, {"F8_E5M2FNUZ", 8, "fp8", true}, {"I16", 16, "other", false},
      {"U16", 16, "other", false},     {"F16", 16, "half", true},       {"BF16", 16, "half", true},
      {"I32", 32, "other", false},     {"U32", 32, "other", false},     {"F32", 32, "f32", true},
      {"C64", 64, "other", false},     {"F64", 64, "other", true},      {"I64", 64, "other", false},
      {"U64", 64, "other", false},
  };
  REQUIRE(sizeof rows / sizeof rows[0] == kDtypeCount);
  int order = 0;
  for (const Row& row : rows) {
    INFO(row.name);
    const auto dtype = dtype_from_name(row.name);
    REQUIRE(dtype);
    CHECK(static_cast<int>(*dtype) == order++);
    const DtypeInfo& info = dtype_info(*dtype);
    CHECK(info.name == row.name);
    CHECK(info.bits == row.bits);
    CHECK(dtype_kind_name(info.kind) == row.kind);
    CHECK(info.is_float == row.is_float);
    CHECK(is_fp8_payload(*dtype) == (std::string_view(row.kind) == "fp8" && std::string_view(row.name) != "F8_E8M0"));
  }
  for (const char* const unknown :
       {"", "f32", "F8_E4M3FN", "F8", "BF16 ", " BF16", "F8_E4M3\n", "I4", "U4", "F16\xC3"}) {
    INFO(unknown);
    CHECK_FALSE(dtype_from_name(unknown));
  }
}
