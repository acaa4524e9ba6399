// Opening: framing and its bounds, several sources, refused files that are still shown, small values.
#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

#include "oracle/pump.h"
#include "quant/markers.h"
#include "quant/values.h"

using namespace wb;
using oracle::Bytes;
using oracle::f32_tensor;
using oracle::Pump;
using oracle::TensorSpec;
using Json = nlohmann::json;

namespace {

Bytes raw(uint64_t header_bytes, const std::string& text) {
  Bytes file(8);
  std::memcpy(file.data(), &header_bytes, 8);
  file.insert(file.end(), text.begin(), text.end());
  return file;
}
Bytes framed(const std::string& text, size_t data_bytes = 0) {
  Bytes file = raw(text.size(), text);
  file.resize(file.size() + data_bytes, 1);
  return file;
}

Json report_of(Pump& pump) {
  REQUIRE(pump.session.report() == Reply::ok);
  return Json::parse(pump.session.reply());
}
Json report_of(const Bytes& file) {
  Pump pump({file});
  REQUIRE(pump.open() == JobStep::done);
  return report_of(pump);
}
Json rows_of(Pump& pump) {
  pump.session.tensors(0, 1000);
  return Json::parse(pump.session.reply());
}

TensorSpec filled(const std::string& name, Dtype dtype, std::vector<uint64_t> shape, uint8_t byte = 0x38) {
  TensorSpec each{name, dtype, std::move(shape), {}};
  each.bytes.assign(oracle::element_count(each) * dtype_info(dtype).bits / 8, byte);
  return each;
}

}  // namespace

TEST_CASE("inspect: framing, each failure by its code and its numbers") {
  struct Row {
    const char* name;
    Bytes file;
    const char* code;
    std::vector<const char*> mentions;
  };
  const Row rows[] = {
      {"no bytes", {}, "empty_file", {"0 bytes"}},
      {"seven bytes", Bytes(7, 9), "file_too_short", {"7 bytes"}},
      {"seven zeros", Bytes(7, 0), "file_too_short", {"7 bytes"}},
      {"length 0", raw(0, ""), "zero_filled", {}},
      {"length 0 and data", raw(0, "abc"), "header_not_json", {"length 0"}},
      {"one byte short", raw(3, "{}"), "truncated_header", {"3 bytes", "only 2"}},
      {"limit", raw(kHeaderBytesMax, "{}"), "truncated_header", {"100000000 bytes", "only 2"}},
      {"limit + 1", raw(kHeaderBytesMax + 1, "{}"), "header_too_large", {"100000001", "100000000"}},
      {"2^32 + 2", raw((uint64_t{1} << 32) + 2, "{}"), "header_too_large", {"4294967298"}},
      {"2^64 - 1", raw(UINT64_MAX, "{}"), "header_too_large", {"18446744073709551615"}},
      {"web page", Bytes({'<', 'h', 't', 'm', 'l', '>', 'a', 'b', 'c'}), "html_page", {}},
      {"zeros", Bytes(100, 0), "zero_filled", {"100 bytes"}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Json report = report_of(row.file);
    CHECK(report["verdict"] == "refused");
    CHECK(report["error"]["code"] == row.code);
    CHECK(report["error"]["where"] == "0.safetensors");
    for (const char* const text : row.mentions)
      CHECK_THAT(report["error"]["message"].get<std::string>(), Catch::Contains(text));
  }
  CHECK(report_of(framed("{}"))["verdict"] == "sound");
}

TEST_CASE("inspect: headers around the first read and around a window") {
  for (const size_t size :
       {size_t{131064}, size_t{131065}, size_t{131072}, size_t{131064 + kWindowBytes}, size_t{131065 + kWindowBytes}}) {
    const std::string frame = R"({"__metadata__":{"k":""},"t":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
    std::string text = frame;
    text.insert(text.find("\"\"") + 1, std::string(size - frame.size(), 'x'));
    Pump pump({framed(text, 2)});
    REQUIRE(pump.open() == JobStep::done);
    INFO(size);
    CHECK(report_of(pump)["verdict"] == "sound");
    CHECK(report_of(pump)["metadata"][0]["value"].get<std::string>().size() == size - frame.size());
    CHECK(pump.reads <= 3);
  }
}

TEST_CASE("inspect: a refused file is still shown, whatever its numbers are") {
  struct Row {
    const char* name;
    std::string entries;
    const char* code;
    size_t tensors;
  };
  const std::string good = R"("a":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]})";
  const Row rows[] = {
      {"beyond all numbers",
       good + R"(,"b":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[2,18446744073709551615]})",
       "shape_overflow", 2},
      {"reversed", good + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551615,0]})",
       "offsets_reversed", 2},
      {"truncated", good + R"(,"b":{"dtype":"U8","shape":[9007199254740993],"data_offsets":[2,9007199254740995]})",
       "truncated_data", 2},
      {"elements overflow",
       good + R"(,"b":{"dtype":"U8","shape":[18446744073709551615,18446744073709551615],"data_offsets":[2,4]})",
       "shape_overflow", 2},
      {"unknown dtype", good + R"(,"b":{"dtype":"I3","shape":[1],"data_offsets":[2,3]})", "unknown_dtype", 2},
      {"twice", good + "," + good, "duplicate_tensor", 2},
      {"bad entry", good + R"(,"b":{"dtype":"U8"})", "invalid_entry", 1},
      {"bad JSON", good + ",", "header_not_json", 1},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Pump pump({framed("{" + row.entries + "}", 8)});
    REQUIRE(pump.open() == JobStep::done);
    const Json report = report_of(pump);
    CHECK(report["verdict"] == "refused");
    CHECK(report["error"]["code"] == row.code);
    CHECK(report["tensor_count"] == row.tensors);
    CHECK(rows_of(pump).size() == row.tensors);
    pump.session.pairs(0, 10);
    CHECK(pump.session.reply() == "[]");
    CHECK(pump.session.set_options(R"({"to":"bf16"})") == Reply::ok);
    CHECK(pump.session.begin(JobKind::scan) == JobStep::failed);
    CHECK(pump.session.plan() == Reply::error);
    CHECK(Json::parse(pump.session.reply())["error"]["code"] == row.code);
  }
}

TEST_CASE("inspect: a truncated tensor says how much of it is missing") {
  Pump pump({framed(
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[6],"data_offsets":[4,10]}})",
      7)});
  REQUIRE(pump.open() == JobStep::done);
  const Json rows = rows_of(pump);
  CHECK(rows[0]["missing_bytes"] == 0);
  CHECK(rows[1]["missing_bytes"] == 3);
}

TEST_CASE("inventory: two sources, one index of names") {
  const auto a = filled("a.weight", Dtype::F8_E4M3, {2, 2});
  const auto scale = f32_tensor("a.weight_scale", {}, {2});
  Pump pump({oracle::file_of({a}, {{"format", "pt"}, {"k", "first"}}),
             oracle::file_of({scale}, {{"k", "second"}, {"b", "c"}})});
  REQUIRE(pump.open() == JobStep::done);
  const Json report = report_of(pump);
  CHECK(report["sources"].size() == 2);
  CHECK(report["pair_counts"]["ok"] == 1);
  CHECK(report["metadata"] ==
        Json::parse(R"([{"key":"b","value":"c"},{"key":"format","value":"pt"},{"key":"k","value":"first"}])"));
  const Json rows = rows_of(pump);
  CHECK(rows[1]["source"] == 1);
  CHECK(rows[1]["begin"] == 8 + report["sources"][1]["header_bytes"].get<uint64_t>());

  Pump twice({oracle::file_of({a}), oracle::file_of({scale, a})});
  REQUIRE(twice.open() == JobStep::done);
  CHECK(report_of(twice)["error"]["code"] == "duplicate_tensor");
  CHECK(report_of(twice)["error"]["where"] == "a.weight");

  Pump broken({oracle::file_of({a}), Bytes(5, 1)});
  REQUIRE(broken.open() == JobStep::done);
  CHECK(report_of(broken)["error"]["where"] == "1.safetensors");
  CHECK(report_of(broken)["tensor_count"] == 1);
}

TEST_CASE("values: what is read on opening, at its bounds") {
  const auto scales = [](const std::string& name, uint64_t n) { return filled(name, Dtype::F32, {n}, 0x3F); };
  const uint64_t most = kSmallTensorBytes / 4;
  Pump pump({oracle::file_of(
      {scales("a.weight_scale", most), scales("b.weight_scale", most + 1), scales("eight", kInlineElements),
       scales("nine", kInlineElements + 1), filled("half", Dtype::BF16, {}, 0x3F), filled("code", Dtype::U8, {}, 0x3F),
       filled("flag", Dtype::BOOL, {3}, 2), filled("f64", Dtype::F64, {1}), filled("none", Dtype::F32, {0})})});
  REQUIRE(pump.open() == JobStep::done);
  std::string with_values;
  for (const Json& row : rows_of(pump)) {
    if (row.contains("values"))
      with_values += row["name"].get<std::string>() + ":" + std::to_string(row["values"].size()) + " ";
  }
  CHECK(with_values == "eight:8 half:1 ");
  pump.session.pairs(0, 10);
  const Json pairs = Json::parse(pump.session.reply());
  CHECK(pairs[0]["scales"][0].contains("min"));
  CHECK_FALSE(pairs[1]["scales"][0].contains("min"));
  CHECK(report_of(pump)["warnings"][0]["code"] == "bool_not_canonical");
}

TEST_CASE("values: from afar, long scales wait for the scan and everything else is read") {
  const uint64_t most = kSparingScaleBytes / 4;
  const Bytes file = oracle::file_of(
      {filled("a.weight", Dtype::F8_E4M3, {most, 2}), filled("a.weight_scale", Dtype::F32, {most, 1}, 0x3F),
       filled("b.weight", Dtype::F8_E4M3, {most + 1, 2}), filled("b.weight_scale", Dtype::F32, {most + 1, 1}, 0x3F),
       filled("b.weight_scale_2", Dtype::F32, {}, 0x3F)});
  Pump near({file});
  REQUIRE(near.open() == JobStep::done);
  Pump far({file});
  REQUIRE(far.session.read_sparingly() == Reply::ok);
  REQUIRE(far.open() == JobStep::done);
  const auto has_values = [](Pump& pump, size_t pair) {
    pump.session.pairs(0, 10);
    return Json::parse(pump.session.reply())[pair]["scales"][0].contains("min");
  };
  CHECK((has_values(near, 0) && has_values(near, 1)));
  CHECK((has_values(far, 0) && !has_values(far, 1)));
  CHECK(far.session.read_sparingly() == Reply::error);
}

TEST_CASE("values: statistics of scales") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {nan, -2.0f, 0.0f, 3.0f, -0.0f, std::numeric_limits<float>::infinity(), nan};
  ScaleStats stats;
  for (const float& value : values) stats.add(&value, 1);
  CHECK(stats.read == 7);
  CHECK(stats.min == -2.0f);
  CHECK(stats.max == std::numeric_limits<float>::infinity());
  CHECK(stats.zero == 2);
  CHECK(stats.negative == 1);
  CHECK(stats.infinite == 1);
  CHECK(stats.nan == 2);
}

TEST_CASE("markers: every way in which comfy_quant was written") {
  struct Row {
    std::string text;
    const char* format;
    uint64_t group_size;
  };
  const Row rows[] = {
      {R"({"format": "nvfp4"})", "nvfp4", 0},
      {std::string("{\"format\": \"nvfp4\"}\0\0\0", 22), "nvfp4", 0},
      {R"({{"format": "nvfp4"}})", "nvfp4", 0},
      {R"({"format":"a","group_size":64})", "a", 64},
      {R"({"format":"a","params":{"group_size":32}})", "a", 32},
      {R"({"format":"a","group_size":0,"params":5})", "a", 0},
      {R"({"format":"a","group_size":-1,"params":{"group_size":"x"}})", "a", 0},
      {"", nullptr, 0},
      {"{}", nullptr, 0},
      {"{{}}", nullptr, 0},
      {"{{", nullptr, 0},
      {R"({"format":5})", nullptr, 0},
      {R"(["format"])", nullptr, 0},
      {"\xFF\xFE", nullptr, 0},
      {std::string(60000, '['), nullptr, 0},
      {std::string(30000, '[') + std::string(30000, ']'), nullptr, 0},
  };
  for (const Row& row : rows) {
    INFO(row.text.substr(0, 60));
    const auto marker =
        parse_comfy_quant("a.comfy_quant", {reinterpret_cast<const uint8_t*>(row.text.data()), row.text.size()});
    CHECK(marker.has_value() == (row.format != nullptr));
    if (!marker) {
      CHECK(marker.error().code == Errc::marker_unreadable);
    } else {
      CHECK(marker->format == row.format);
      CHECK(marker->group_size.value_or(0) == row.group_size);
    }
  }
  LayerMarkers markers;
  markers["old"].format = "x";
  CHECK(parse_quantization_metadata(R"({"layers":{"a.b":{"format":"float8_e4m3fn"},"old":{"format":"y"},"c":7}})",
                                    markers));
  CHECK(markers.size() == 2);
  CHECK(markers["old"].from_metadata);
  CHECK(markers["old"].format == "y");
  CHECK_FALSE(parse_quantization_metadata(R"({"layers":[]})", markers));
  CHECK_FALSE(parse_quantization_metadata("", markers));
}
