// The second recipe, previews of answers, and magnitudes that no model has.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "oracle/numbers.h"
#include "oracle/pump.h"

using namespace wb;
using oracle::Bytes;
using oracle::f32_tensor;
using oracle::Pump;
using oracle::Random;
using oracle::TensorSpec;
using Json = nlohmann::json;

namespace {

uint16_t word(const Bytes& bytes, size_t at) { return static_cast<uint16_t>(bytes[at] | bytes[at + 1] << 8); }

/// `scale` as `to` holds it, by the oracle's own rounding.
float rounded(Dtype to, float scale) {
  return static_cast<float>(oracle::value_of(to, oracle::nearest(to, static_cast<double>(scale))));
}

/// Preview of `code` about `tensor`, after options.
Json preview(Pump& pump, const std::string& options, const char* tensor, const char* code) {
  pump.session.set_options(options);
  if (pump.session.set_preview(tensor, code) != Reply::ok) return Json::parse(pump.session.reply());
  if (pump.run(JobKind::preview) != JobStep::done) return Json::parse(pump.session.reply());
  REQUIRE(pump.session.preview() == Reply::ok);
  return Json::parse(pump.session.reply());
}

}  // namespace

TEST_CASE("recipe: target-mul-rne rounds the scale first, for every code and both targets") {
  // reference/formats.md 14, vector 2: 0x03 * 0.0123 is 0x3897 in float32 and 0x3898 in bf16.
  Bytes codes(256);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i);
  const std::vector<float> scales{0.0123f, 1.2e-6f, 3.0f, 0.99999f};
  TensorSpec weight{"l.weight", Dtype::F8_E4M3, {4, 256}, {}};
  for (int row = 0; row < 4; ++row) weight.bytes.insert(weight.bytes.end(), codes.begin(), codes.end());
  for (const Dtype to : {Dtype::BF16, Dtype::F16}) {
    Pump pump({oracle::file_of({weight, f32_tensor("l.weight_scale", {4, 1}, scales)})});
    REQUIRE(pump.open() == JobStep::done);
    const std::string name = to == Dtype::F16 ? "f16" : "bf16";
    REQUIRE(pump.plan(R"({"to":")" + name + R"(","recipe":"target-mul-rne"})") == Reply::ok);
    REQUIRE(pump.run(JobKind::convert) == JobStep::done);
    const size_t data = pump.output.size() - 4 * 256 * 2;
    size_t differ = 0;
    for (size_t i = 0; i < 4 * 256; ++i) {
      const uint8_t code = codes[i % 256];
      const uint16_t want = oracle::dequantized(Dtype::F8_E4M3, to, code, rounded(to, scales[i / 256]));
      CHECK(word(pump.output, data + 2 * i) == want);
      differ += want != oracle::dequantized(Dtype::F8_E4M3, to, code, scales[i / 256]);
    }
    CHECK(differ > 0);  // the recipes are not the same
    if (to == Dtype::BF16) CHECK(word(pump.output, data + 2 * 3) == 0x3898);
    REQUIRE(pump.session.receipt() == Reply::ok);
    CHECK(Json::parse(pump.session.reply())["recipe"] == "target-mul-rne");
  }
}

TEST_CASE("recipe: both levels of NVFP4 are rounded, and so is their product") {
  Random random(3);
  const TensorSpec codes = oracle::random_tensor(random, "l.weight", Dtype::U8, {4, 16});
  const TensorSpec scale{"l.weight_scale", Dtype::F8_E4M3, {4, 2}, {0x50, 0x31, 0x47, 0x01, 0x7E, 0x22, 0x38, 0x2B}};
  const float global = 0.00123f;
  Pump pump({oracle::file_of({codes, scale, f32_tensor("l.weight_scale_2", {}, {global})})});
  REQUIRE(pump.open(R"({"quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4"}})") == JobStep::done);
  REQUIRE(pump.plan(R"({"to":"bf16","recipe":"target-mul-rne"})") == Reply::ok);
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  constexpr float kE2m1[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const size_t data = pump.output.size() - 4 * 32 * 2;
  for (size_t i = 0; i < 4 * 32; ++i) {
    const uint8_t nibble = i % 2 == 0 ? codes.bytes[i / 2] & 15 : codes.bytes[i / 2] >> 4;
    const auto block = static_cast<float>(oracle::value_of(Dtype::F8_E4M3, scale.bytes[i / 16]));
    const float total = rounded(Dtype::BF16, rounded(Dtype::BF16, block) * rounded(Dtype::BF16, global));
    const float value = (nibble & 8 ? -kE2m1[nibble & 7] : kE2m1[nibble & 7]) * total;
    CHECK(word(pump.output, data + 2 * i) == oracle::nearest(Dtype::BF16, static_cast<double>(value)));
  }
}

TEST_CASE("recipe: a scale that fp16 cannot hold is an overflow, not a silent infinity") {
  const TensorSpec weight{"l.weight", Dtype::F8_E4M3, {1, 2}, {0x01, 0x00}};
  Pump pump({oracle::file_of({weight, f32_tensor("l.weight_scale", {}, {70000})})});
  REQUIRE(pump.open() == JobStep::done);
  const std::string assume = R"("magnitude_implausible":"apply")";
  REQUIRE(pump.plan(R"({"to":"f16","recipe":"target-mul-rne","assume":{)" + assume + "}}") == Reply::decisions);
  CHECK(Json::parse(pump.session.reply())["decisions"][0]["code"] == "f16_overflow");
  CHECK(pump.plan(R"({"to":"f16","assume":{)" + assume + "}}") == Reply::ok);  // 2^-9 * 70000 itself fits
}

TEST_CASE("recipe: where no tool defines it, it is refused") {
  Random random(4);
  Pump pump({oracle::file_of(
      {oracle::random_tensor(random, "l.weight", Dtype::I8, {4, 8}), f32_tensor("l.SCB", {4}, {1, 2, 3, 4})})});
  REQUIRE(pump.open() == JobStep::done);
  REQUIRE(pump.plan(R"({"to":"bf16","recipe":"target-mul-rne"})") == Reply::error);
  CHECK(Json::parse(pump.session.reply())["error"]["code"] == "recipe_unsupported");
  REQUIRE(pump.session.set_options(R"({"to":"bf16","recipe":"f64"})") == Reply::error);
  CHECK(Json::parse(pump.session.reply())["error"]["code"] == "invalid_option");
}

TEST_CASE("preview: each answer to a question with the weights it gives") {
  // NVFP4 whose nibbles nobody orders: 0x21 is 0.5, 1 or 1, 0.5.
  TensorSpec codes{"l.weight", Dtype::U8, {128, 32}, Bytes(128 * 32, 0x21)};
  codes.bytes[0] = 0x70;  // 0, 6 or 6, 0
  TensorSpec scale{"l.weight_scale", Dtype::F8_E4M3, {128, 4}, Bytes(128 * 4, 0x38)};
  scale.bytes[511] = 0x40;  // 2
  Pump pump({oracle::file_of({codes, scale, f32_tensor("l.weight_scale_2", {}, {0.5f})})});
  REQUIRE(pump.open() == JobStep::done);
  const Json orders = preview(pump, R"({"to":"bf16"})", "l.weight", "nibble_order_undecided");
  REQUIRE(orders["choices"].size() == 2);
  CHECK(orders["choices"][0]["choice"] == "low");
  CHECK(orders["choices"][0]["first"] == Json({0.0, 3.0, 0.25, 0.5, 0.25, 0.5, 0.25, 0.5}));
  CHECK(orders["choices"][1]["first"] == Json({3.0, 0.0, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25}));
  for (const Json& each : orders["choices"]) {
    CHECK(each["values"] == 128 * 64);
    CHECK(each["zeros"] == 1);
    CHECK(each["largest"] == 3.0);
    CHECK(each["first_exponent"] == -2);
    CHECK(each["histogram"] == Json({4095 - 8, 4095, 8, 1}));  // 0.25, 0.5, 1, and 3 in 2..4
  }
  // The other question, with an answer to the first.
  const Json layouts =
      preview(pump, R"({"to":"bf16","assume":{"nibble_order_undecided":"high"}})", "l.weight", "scale_order_undecided");
  REQUIRE(layouts["choices"].size() == 2);
  CHECK(layouts["choices"][0]["first"] == Json({3.0, 0.0, 0.5, 0.25, 0.5, 0.25, 0.5, 0.25}));
}

TEST_CASE("preview: the first rows of a large weight, flat and transposed ones, and none where nothing is asked") {
  Random random(12);
  const TensorSpec weight = oracle::random_tensor(random, "a.weight", Dtype::F8_E4M3, {600, 1000});
  const TensorSpec codes = oracle::random_tensor(random, "l.qweight", Dtype::I32, {128, 512});
  const TensorSpec zeros = oracle::random_tensor(random, "l.qzeros", Dtype::I32, {8, 64});
  const TensorSpec scales = oracle::random_scale(random, "l.scales", Dtype::F16, {8, 512});
  const TensorSpec other = oracle::random_tensor(random, "b.weight", Dtype::F8_E4M3, {2, 2});
  Pump pump({oracle::file_of({weight, codes, zeros, scales, other, f32_tensor("b.weight_scale", {}, {1})})});
  REQUIRE(pump.open() == JobStep::done);
  const Json raw = preview(pump, R"({"to":"bf16"})", "a.weight", "scale_missing");
  REQUIRE(raw["choices"].size() == 1);
  CHECK(raw["choices"][0]["choice"] == "raw");
  CHECK(raw["choices"][0]["values"] == 256 * 1024);
  const Json gptq = preview(pump, R"({"to":"bf16"})", "l.qweight", "zero_point_undecided");
  REQUIRE(gptq["choices"].size() == 2);
  CHECK(gptq["choices"][0]["values"] == 256 * 1024);
  CHECK(gptq["choices"][0]["first"] != gptq["choices"][1]["first"]);
  CHECK(preview(pump, R"({"to":"bf16"})", "b.weight", "scale_missing")["error"]["code"] == "unknown_assumption");
  CHECK(preview(pump, R"({"to":"bf16"})", "c.weight", "scale_missing")["error"]["code"] == "unknown_assumption");
}

TEST_CASE("magnitude: a scale stored as its reciprocal is asked about") {
  struct Row {
    const char* what;
    Dtype dtype;
    float scale;
    bool asked;
  };
  // 131072 / 448 = 292.57.., 131072 / 127 = 1032.06..
  const Row rows[] = {{"fp8, below", Dtype::F8_E4M3, 292.5f, false},
                      {"fp8, above", Dtype::F8_E4M3, 292.6f, true},
                      {"fp8, a reciprocal", Dtype::F8_E4M3, 4480, true},
                      {"int8, below", Dtype::I8, 1020, false},
                      {"int8, a reciprocal", Dtype::I8, 1270, true}};
  for (const Row& row : rows) {
    INFO(row.what);
    const TensorSpec weight{"l.weight", row.dtype, {1, 2}, {1, 2}};
    Pump pump({oracle::file_of({weight, f32_tensor("l.weight_scale", {}, {row.scale})})});
    REQUIRE(pump.open() == JobStep::done);
    const Reply reply = pump.plan(R"({"to":"bf16"})");
    CHECK(reply == (row.asked ? Reply::decisions : Reply::ok));
    if (!row.asked) continue;
    CHECK(Json::parse(pump.session.reply())["decisions"][0]["code"] == "magnitude_implausible");
    CHECK(pump.plan(R"({"to":"bf16","assume":{"magnitude_implausible":"apply"}})") == Reply::ok);
  }
}
