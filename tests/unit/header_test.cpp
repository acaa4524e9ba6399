// parse_header: rules 8..19 of reference/safetensors.md, one row per way to break or bend them.
#include <catch2/catch.hpp>

#include "safetensors/header.h"
#include "safetensors/header_write.h"

using namespace wb;

namespace {

Header parsed(const std::string& text) {
  return parse_header({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

std::string code_of(const Header& header) { return header.error ? std::string(errc_name(header.error->code)) : "none"; }

std::string warnings_of(const Header& header) {
  std::string all;
  for (const Error& warning : header.warnings) all += (all.empty() ? "" : " ") + std::string(errc_name(warning.code));
  return all;
}

std::string entry(const std::string& fields) { return "{\"t\":{" + fields + "}}"; }

std::vector<WrittenTensor> written_from(const std::vector<TensorEntry>& tensors) {
  std::vector<WrittenTensor> written;
  for (const TensorEntry& each : tensors)
    written.push_back({each.name, *each.dtype, &each.shape, each.begin, each.end});
  return written;
}

const std::string kGood = R"("t":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})";

}  // namespace

TEST_CASE("header: what is refused, with its code and with what disagrees") {
  struct Row {
    const char* name;
    std::string text;
    const char* code;
    const char* mentions;
  };
  const std::string deep(128, '[');
  const Row rows[] = {
      {"nothing", "", "header_not_json", "byte 0"},
      {"spaces only", "    ", "header_not_json", ""},
      {"not UTF-8", "{\"a\xFF\":1}", "header_not_utf8", "byte 3"},
      {"overlong in padding", "{}\xC0\x80", "header_not_utf8", "byte 2"},
      {"byte order mark", "\xEF\xBB\xBF{}", "header_not_json", "byte order mark"},
      {"NUL padding", std::string("{}\0\0", 4), "header_not_json", "byte 2 of the header is NUL"},
      {"comment", "{/**/}", "header_not_json", ""},
      {"trailing comma", "{" + kGood + ",}", "header_not_json", ""},
      {"two values", "{}{}", "header_not_json", "byte 2 of its text (byte 10 of the file)"},
      {"cut off", "{\"t\":{\"dtype\":\"F3", "header_not_json", ""},
      {"NaN", entry("\"x\":NaN"), "header_not_json", ""},
      {"leading zero", entry("\"x\":01"), "header_not_json", ""},
      {"plus sign", entry("\"x\":+1"), "header_not_json", ""},
      {"raw control in a string", "{\"a\nb\":1}", "header_not_json", ""},
      {"lone surrogate", R"({"\ud800":1})", "header_not_json", ""},
      {"form feed as white space", "{}\f", "header_not_json", ""},
      {"beyond double", entry("\"x\":1e999"), "header_not_json", ""},
      {"array on top", "[]", "header_not_json", "array"},
      {"string on top", "\"a\"", "header_not_json", "string"},
      {"number on top", "1", "header_not_json", "number 1"},
      {"null on top", "null", "header_not_json", "null"},
      {"128 open", "{\"x\":{\"y\":" + deep, "header_too_deep", "127"},
      {"entry is a number", R"({"t":1})", "invalid_entry", "`t` is the number 1"},
      {"entry is an array", R"({"t":[]})", "invalid_entry", "`t` is an array"},
      {"entry is null", R"({"t":null})", "invalid_entry", "`t` is null"},
      {"no dtype", entry(R"("shape":[],"data_offsets":[0,0])"), "invalid_entry", "dtype is missing"},
      {"no shape", entry(R"("dtype":"U8","data_offsets":[0,0])"), "invalid_entry", "shape is missing"},
      {"no offsets", entry(R"("dtype":"U8","shape":[])"), "invalid_entry", "data_offsets is missing"},
      {"empty entry", R"({"t":{}})", "invalid_entry", "dtype is missing"},
      {"field in other case", entry(R"("Dtype":"U8","shape":[1],"data_offsets":[0,1])"), "invalid_entry",
       "dtype is missing"},
      {"dtype is a number", entry(R"("dtype":5)"), "invalid_entry", "dtype is the number 5"},
      {"dtype is an object", entry(R"("dtype":{})"), "invalid_entry", "dtype is an object"},
      {"dtype is an array", entry(R"("dtype":[])"), "invalid_entry", "dtype is an array"},
      {"shape is a string", entry(R"("shape":"1")"), "invalid_entry", "shape is a string"},
      {"shape is null", entry(R"("shape":null)"), "invalid_entry", "shape is null"},
      {"1.0 in a shape", entry(R"("shape":[1.0])"), "invalid_entry", "1.0"},
      {"1e0 in a shape", entry(R"("shape":[1e0])"), "invalid_entry", "1e0"},
      {"-0 in a shape", entry(R"("shape":[-0])"), "invalid_entry", "the number -0"},
      {"-1 in a shape", entry(R"("shape":[-1])"), "invalid_entry", "the number -1"},
      {"text in a shape", entry(R"("shape":["1"])"), "invalid_entry", "a string"},
      {"true in a shape", entry(R"("shape":[true])"), "invalid_entry", "a boolean"},
      {"array in a shape", entry(R"("shape":[[1]])"), "invalid_entry", "holds an array"},
      {"object in a shape", entry(R"("shape":[{}])"), "invalid_entry", "holds an object"},
      {"2^64 in a shape", entry(R"("shape":[18446744073709551616])"), "invalid_entry", "18446744073709551616"},
      {"one offset", entry(R"("data_offsets":[0])"), "invalid_entry", "1 numbers, not 2"},
      {"no offset", entry(R"("data_offsets":[])"), "invalid_entry", "0 numbers, not 2"},
      {"three offsets", entry(R"("data_offsets":[0,1,2])"), "invalid_entry", "more than two"},
      {"negative offset", entry(R"("data_offsets":[-1,0])"), "invalid_entry", "the number -1"},
      {"2^64 as an offset", entry(R"("data_offsets":[0,18446744073709551616])"), "invalid_entry",
       "18446744073709551616"},
      {"dtype twice", entry(R"("dtype":"U8","dtype":"U8")"), "duplicate_key", "`dtype` twice"},
      {"shape twice", entry(R"("shape":[],"shape":[])"), "duplicate_key", "`shape` twice"},
      {"unknown field twice", entry(R"("x":1,"x":2)"), "duplicate_key", "`x` twice"},
      {"tensor twice", "{" + kGood + "," + kGood + "}", "duplicate_tensor", "bytes 0..24 and 0..24"},
      {"tensor twice by escapes", "{" + kGood + R"(,"\u0074":{"dtype":"U8","shape":[1],"data_offsets":[24,25]}})",
       "duplicate_tensor", "0..24 and 24..25"},
      {"metadata twice", R"({"__metadata__":{},"__metadata__":{}})", "duplicate_key", "__metadata__"},
      {"metadata key twice", R"({"__metadata__":{"a":"1","b":"2","a":"1"}})", "duplicate_key", "`a`"},
      {"metadata is an array", R"({"__metadata__":[]})", "invalid_metadata", "__metadata__ is an array, not an object"},
      {"metadata is a string", R"({"__metadata__":"x"})", "invalid_metadata",
       "__metadata__ is a string, not an object"},
      {"metadata holds a number", R"({"__metadata__":{"n":278}})", "invalid_metadata",
       "`n` is the number 278, not a string"},
      {"metadata holds null", R"({"__metadata__":{"n":null}})", "invalid_metadata", "`n` is null"},
      {"metadata holds an object", R"({"__metadata__":{"n":{}}})", "invalid_metadata", "`n` is an object"},
      {"metadata holds an array", R"({"__metadata__":{"n":[]}})", "invalid_metadata", "`n` is an array"},
      {"unknown dtype", entry(R"("dtype":"F8_E3M4","shape":[1],"data_offsets":[0,1])"), "unknown_dtype", "F8_E3M4"},
      {"dtype in lower case", entry(R"("dtype":"f32","shape":[],"data_offsets":[0,4])"), "unknown_dtype", "f32"},
  };
  for (const Row& row : rows) {
    INFO(row.name << ": " << row.text.substr(0, 80));
    const Header header = parsed(row.text);
    CHECK(code_of(header) == row.code);
    if (header.error) CHECK_THAT(header.error->message, Catch::Contains(row.mentions));
  }
}

TEST_CASE("header: what is accepted, with the note that it deserves") {
  struct Row {
    const char* name;
    std::string text;
    size_t tensors;
    const char* warnings;
  };
  const Row rows[] = {
      {"nothing in it", "{}", 0, ""},
      {"padded", "{" + kGood + "}      ", 1, ""},
      {"leading white space", " \n{" + kGood + "}", 1, "leading_whitespace"},
      {"tab after it", "{" + kGood + "} \t", 1, "unusual_padding"},
      {"white space inside", "{ " + kGood + "\r\n}", 1, ""},
      {"metadata null", "{\"__metadata__\":null," + kGood + "}", 1, "metadata_null"},
      {"metadata last", "{" + kGood + ",\"__metadata__\":{\"a\":\"b\"}}", 1, ""},
      {"metadata empty", R"({"__metadata__":{}})", 0, ""},
      {"metadata escaped", R"({"__metadata\u005f_":{}})", 0, "escaped_spelling"},
      {"dtype escaped", entry(R"("dtype":"U\u0038","shape":[1],"data_offsets":[0,1])"), 1, "escaped_spelling"},
      {"unknown fields of any kind",
       entry(
           R"("a":1,"b":-1.5e3,"c":"x","d":null,"e":{"f":[{"dtype":[]}]},"g":[[],{}],"h":true,"dtype":"U8","shape":[1],"data_offsets":[0,1])"),
       1, "unknown_field unknown_field unknown_field unknown_field unknown_field unknown_field unknown_field"},
      {"fields in any order", entry(R"("data_offsets":[0,1],"shape":[1],"dtype":"U8")"), 1, ""},
      {"empty name", R"({"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1, ""},
      {"NUL in a name", R"({"a\u0000b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1, "nul_in_name"},
      {"names differ in form",
       "{\"\xC3\xA9\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"e\xCC\x81\":{\"dtype\":\"U8\","
       "\"shape\":[1],\"data_offsets\":[1,2]}}",
       2, ""},
      {"like a prototype", R"({"__proto__":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1, ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Header header = parsed(row.text);
    CHECK(code_of(header) == "none");
    CHECK(header.tensors.size() == row.tensors);
    CHECK(warnings_of(header) == row.warnings);
  }
}

TEST_CASE("header: integers are exact, escapes are decoded") {
  const Header header = parsed(
      R"({"__metadata__":{"k\u00e9":"v\ud83d\ude00"},"a\/\"\u00e9":{"dtype":"BF16","shape":[9007199254740993,18446744073709551615,0],"data_offsets":[9007199254740993,18446744073709551615]}})");
  REQUIRE(code_of(header) == "none");
  REQUIRE(header.tensors.size() == 1);
  const TensorEntry& tensor = header.tensors[0];
  CHECK(tensor.name == "a/\"\xC3\xA9");
  CHECK(tensor.dtype == Dtype::BF16);
  CHECK(tensor.shape == Shape{9007199254740993, UINT64_MAX, 0});
  CHECK(tensor.begin == 9007199254740993);
  CHECK(tensor.end == UINT64_MAX);
  CHECK(header.metadata == Metadata{{"k\xC3\xA9", "v\xF0\x9F\x98\x80"}});
}

TEST_CASE("header: what was read before an error is still there") {
  const Header header = parsed("{" + kGood + R"(,"u":{"dtype":"U8","shape":[-1]}})");
  CHECK(code_of(header) == "invalid_entry");
  CHECK(header.error->where == "u");
  REQUIRE(header.tensors.size() == 1);
  CHECK(header.tensors[0].name == "t");
  const Header unknown = parsed(R"({"a":{"dtype":"F9","shape":[],"data_offsets":[0,0]},)" + kGood + "}");
  CHECK(code_of(unknown) == "unknown_dtype");
  REQUIRE(unknown.tensors.size() == 2);
  CHECK(unknown.tensors[0].unknown_dtype == "F9");
}

TEST_CASE("header: 127 containers may be open, 128 may not") {
  for (const int depth : {kHeaderDepthMax, kHeaderDepthMax + 1}) {
    // The root and the entry are two of them; the rest nest in an ignored field.
    const auto nested = static_cast<size_t>(depth - 2);
    const std::string text = entry(R"("dtype":"U8","shape":[1],"data_offsets":[0,1],"x":)" + std::string(nested, '[') +
                                   std::string(nested, ']'));
    CHECK(code_of(parsed(text)) == (depth == kHeaderDepthMax ? "none" : "header_too_deep"));
  }
  CHECK(code_of(parsed(std::string(100000, '['))) == "header_not_json");
  CHECK(code_of(parsed("{\"a\":{\"b\":" + std::string(100000, '['))) == "header_too_deep");
}

TEST_CASE("header: 500,000 tensors are read, one more is refused") {
  std::string text = "{";
  for (uint64_t i = 0; i <= kTensorsMax; ++i) {
    text += (i ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[],"data_offsets":[0,0]})";
  }
  Header header = parsed(text + "}");
  CHECK(code_of(header) == "too_many_tensors");
  CHECK_THAT(header.error->message, Catch::Contains("500000"));
  REQUIRE(header.tensors.size() == kTensorsMax);
  CHECK(header.tensors.back().name == "499999");
}

TEST_CASE("header: a hostile header makes neither a slow loop nor a million notes") {
  std::string fields;
  for (int i = 0; i < 20000; ++i) fields += "\"" + std::to_string(i) + "\":0,";
  const Header header = parsed(entry(fields + R"("dtype":"U8","shape":[1],"data_offsets":[0,1])"));
  CHECK(code_of(header) == "none");
  CHECK(header.warnings.size() == kHeaderWarningsMax + 1);
  const Header twice = parsed(entry(fields + "\"7\":0"));
  CHECK(code_of(twice) == "duplicate_key");
}

TEST_CASE("header: a shape in a message is short") {
  CHECK(shape_text({}) == "[]");
  CHECK(shape_text({2, 3}) == "[2, 3]");
  CHECK(shape_text(Shape(16, 1)) == "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]");
  CHECK(shape_text(Shape(1000000, 1)) == "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ... 1000000 dimensions]");
}

TEST_CASE("header_write: byte for byte what the reference writes") {
  struct Row {
    const char* name;
    std::vector<TensorEntry> tensors;
    Metadata metadata;
    std::string text;
  };
  const auto tensor = [](const std::string& name, Dtype dtype, Shape shape, uint64_t begin, uint64_t end) {
    TensorEntry each;
    each.name = name;
    each.dtype = dtype;
    each.shape = std::move(shape);
    each.begin = begin;
    each.end = end;
    return each;
  };
  const std::string tail = R"(":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})";
  const Row rows[] = {
      {"no tensors", {}, {}, "{}      "},
      {"metadata only, sorted by bytes",
       {},
       {{"b", "2"}, {"\xC3\xA9", "3"}, {"B", "1"}},
       "{\"__metadata__\":{\"B\":\"1\",\"b\":\"2\",\"\xC3\xA9\":\"3\"}}"},
      {"the crate's own test",
       {tensor("test", Dtype::I32, {2, 2}, 0, 16)},
       {},
       R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}})"},
      {"quote", {tensor("a\"b", Dtype::U8, {}, 0, 1)}, {}, R"({"a\"b)" + tail},
      {"backslash", {tensor("a\\b", Dtype::U8, {}, 0, 1)}, {}, R"({"a\\b)" + tail},
      {"NUL", {tensor(std::string("a\0b", 3), Dtype::U8, {}, 0, 1)}, {}, R"({"a\u0000b)" + tail},
      {"newline", {tensor("a\nb", Dtype::U8, {}, 0, 1)}, {}, R"({"a\nb)" + tail},
      {"DEL", {tensor("a\x7F", Dtype::U8, {}, 0, 1)}, {}, "{\"a\x7F" + tail},
      {"e acute", {tensor("\xC3\xA9", Dtype::U8, {}, 0, 1)}, {}, "{\"\xC3\xA9" + tail},
      {"emoji", {tensor("\xF0\x9F\x98\x80", Dtype::U8, {}, 0, 1)}, {}, "{\"\xF0\x9F\x98\x80" + tail},
      {"slash", {tensor("a/b", Dtype::U8, {}, 0, 1)}, {}, "{\"a/b" + tail},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto written = write_header(written_from(row.tensors), row.metadata);
    REQUIRE(written);
    const std::string padded = row.text + std::string((8 - row.text.size() % 8) % 8, ' ');
    CHECK(load_le<uint64_t>(written->data()) == padded.size());
    CHECK(written->substr(8) == padded);
    Header again = parsed(written->substr(8));
    CHECK(code_of(again) == "none");
    CHECK(again.tensors.size() == row.tensors.size());
  }
  REQUIRE(write_header(written_from({tensor("test", Dtype::I32, {2, 2}, 0, 16)}), {})->size() == 8 + 64);
}

TEST_CASE("header_write: the order of tensors") {
  CHECK(written_before(Dtype::U64, "z", Dtype::BOOL, "a"));
  CHECK(written_before(Dtype::F32, "z", Dtype::BF16, "a"));
  CHECK(written_before(Dtype::BF16, "z", Dtype::F16, "a"));
  CHECK(written_before(Dtype::F8_E4M3, "z", Dtype::F8_E5M2, "a"));
  CHECK(written_before(Dtype::F32, "a", Dtype::F32, "b"));
  CHECK(written_before(Dtype::F32, "a.10", Dtype::F32, "a.2"));
  // By UTF-8 bytes: U+FFFD before U+10000, which UTF-16 would turn around.
  CHECK(written_before(Dtype::F32, "\xEF\xBF\xBD", Dtype::F32, "\xF0\x90\x80\x80"));
  CHECK_FALSE(written_before(Dtype::F32, "a", Dtype::F32, "a"));
}

TEST_CASE("header_write: 100,000,000 bytes of header are written, more are refused") {
  const std::string frame = R"({"__metadata__":{"k":""}})";
  const auto fits = write_header({}, {{"k", std::string(kHeaderBytesMax - frame.size(), 'x')}});
  REQUIRE(fits);
  CHECK(fits->size() == 8 + kHeaderBytesMax);
  const auto over = write_header({}, {{"k", std::string(kHeaderBytesMax - frame.size() + 1, 'x')}});
  REQUIRE_FALSE(over);
  CHECK(over.error().code == Errc::header_too_large);
  CHECK_THAT(over.error().message, Catch::Contains("100000008") && Catch::Contains("100000000"));
}
