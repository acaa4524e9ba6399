// The index of a set: what is refused, what is only noted, and its bounds.
#include "safetensors/shard_index.h"

#include <catch2/catch.hpp>

#include "safetensors/header.h"

using namespace wb;

namespace {

Result<ShardIndex> parse(const std::string& text) {
  return parse_shard_index("i.json", {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

std::string entries(size_t count, size_t files) {
  std::string text = R"({"metadata":{"total_size":1},"weight_map":{)";
  for (size_t i = 0; i < count; ++i) {
    text += (i ? ",\"t" : "\"t") + std::to_string(i) + "\":\"" + std::to_string(i % files) + ".safetensors\"";
  }
  return text + "}}";
}

}  // namespace

TEST_CASE("index: what it says") {
  const auto index = parse(R"({"weight_map":{"b":"2.safetensors","a":"1.safetensors","":"2.safetensors"},
                               "metadata":{"total_size":18446744073709551615,"total_parameters":3.5},"dtype":[{"x":1}]})");
  REQUIRE(index.has_value());
  CHECK(index->files == std::vector<std::string>{"2.safetensors", "1.safetensors"});
  CHECK(index->total_size == UINT64_MAX);
  CHECK(index->warnings.empty());
  REQUIRE(index->size() == 3);
  CHECK(index->find("c") == -1);
  const int64_t a = index->find("a");
  REQUIRE(a >= 0);
  CHECK(index->tensor(static_cast<size_t>(a)) == "a");
  CHECK(index->files[index->file(static_cast<size_t>(a))] == "1.safetensors");
  CHECK(index->find("") == 0);
}

TEST_CASE("index: refused, each by its code") {
  struct Row {
    const char* name;
    std::string text;
    Errc code;
  };
  const std::string deep = R"({"x":)" + std::string(200, '[') + std::string(200, ']') + "}";
  const Row rows[] = {
      {"empty", "", Errc::index_not_json},
      {"no JSON", "{\"weight_map\":{\"a\":\"b\"}", Errc::index_not_json},
      {"trailing text", R"({"weight_map":{"a":"b"}} x)", Errc::index_not_json},
      {"an array", "[]", Errc::index_not_json},
      {"a text", "\"x\"", Errc::index_not_json},
      {"no weight_map", R"({"metadata":{"total_size":1}})", Errc::index_not_json},
      {"an empty weight_map", R"({"weight_map":{}})", Errc::index_not_json},
      {"weight_map is a list", R"({"weight_map":["a"]})", Errc::index_not_json},
      {"weight_map is a text", R"({"weight_map":"a"})", Errc::index_not_json},
      {"weight_map is null", R"({"weight_map":null})", Errc::index_not_json},
      {"weight_map twice", R"({"weight_map":{"a":"b"},"weight_map":{"c":"d"}})", Errc::index_not_json},
      {"weight_map deeper down", R"({"x":{"weight_map":{"a":"b"}}})", Errc::index_not_json},
      {"a number for a file", R"({"weight_map":{"a":1}})", Errc::index_not_json},
      {"null for a file", R"({"weight_map":{"a":null}})", Errc::index_not_json},
      {"a list of files", R"({"weight_map":{"a":["b"]}})", Errc::index_not_json},
      {"an object of files", R"({"weight_map":{"a":{}}})", Errc::index_not_json},
      {"not UTF-8", "{\"weight_map\":{\"\xff\":\"b\"}}", Errc::index_not_json},
      {"a NUL", std::string("{\"weight_map\":{\"a\":\"b\"}}\0{", 26), Errc::index_not_json},
      {"too deep", deep, Errc::index_not_json},
      {"a name twice", R"({"weight_map":{"a":"b","c":"b","a":"d"}})", Errc::duplicate_tensor},
      {"a name twice, once escaped", R"({"weight_map":{"a":"b","\u0061":"d"}})", Errc::duplicate_tensor},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto index = parse(row.text);
    REQUIRE(!index.has_value());
    CHECK(index.error().code == row.code);
    CHECK(!index.error().message.empty());
  }
}

TEST_CASE("index: names that could lead out of the folder are refused with a code of their own") {
  for (const char* const file : {"", ".", "..", "../a.safetensors", "a/b.safetensors", "/etc/passwd", "..\\\\a", "C:a",
                                 "a:b", "\\\\\\\\host\\\\a", "a\\u0000b", "a\\nb", "\\u007f", "sub/../a"}) {
    INFO(file);
    const auto index = parse(std::string(R"({"weight_map":{"w":")") + file + "\"}}");
    REQUIRE(!index.has_value());
    CHECK(index.error().code == Errc::index_bad_path);
  }
  for (const char* const file :
       {"a", "...", "model-00001-of-000163.safetensors", "m\u00f6del.safetensors", "a b", "..a"})
    CHECK(is_plain_file_name(file));
  CHECK(is_plain_file_name(std::string(255, 'a')));
  CHECK(!is_plain_file_name(std::string(256, 'a')));
}

TEST_CASE("index: a total_size that is missing or no number is only noted") {
  for (const char* const metadata :
       {"", R"("metadata":{},)", R"("metadata":{"total_size":"14"},)", R"("metadata":{"total_size":1.5},)",
        R"("metadata":{"total_size":-1},)", R"("metadata":null,)", R"("metadata":[1],)"}) {
    INFO(metadata);
    const auto index = parse(std::string("{") + metadata + R"("weight_map":{"a":"b"}})");
    REQUIRE(index.has_value());
    CHECK(!index->total_size);
    REQUIRE(index->warnings.size() == 1);
    CHECK(index->warnings[0].code == Errc::total_size_wrong);
  }
}

TEST_CASE("index: bounds") {
  REQUIRE(parse(entries(kShardsMax, kShardsMax)).has_value());
  const auto files = parse(entries(kShardsMax + 1, kShardsMax + 1));
  REQUIRE(!files.has_value());
  CHECK(files.error().code == Errc::index_too_large);

  const auto most = parse(entries(kTensorsMax, 3));
  REQUIRE(most.has_value());
  CHECK(most->size() == kTensorsMax);
  CHECK(most->find("t499999") >= 0);
  const auto more = parse(entries(kTensorsMax + 1, 3));
  REQUIRE(!more.has_value());
  CHECK(more.error().code == Errc::too_many_tensors);

  std::string text = R"({"weight_map":{"a":"b"}})";
  text.resize(kIndexBytesMax, ' ');
  CHECK(parse(text).has_value());
  text += ' ';
  const auto large = parse(text);
  REQUIRE(!large.has_value());
  CHECK(large.error().code == Errc::index_too_large);
}
