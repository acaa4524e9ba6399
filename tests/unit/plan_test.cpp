// Answers and plans: what an assumption may answer, what stays open, and what the output holds.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "oracle/pump.h"
#include "plan/answers.h"

using namespace wb;
using oracle::Bytes;
using oracle::f32_tensor;
using oracle::Pump;
using oracle::TensorSpec;
using Json = nlohmann::json;

namespace {

TensorSpec codes(const std::string& name, Dtype dtype, std::vector<uint64_t> shape, uint8_t code) {
  TensorSpec each{name, dtype, std::move(shape), {}};
  each.bytes.assign(oracle::element_count(each) * dtype_info(dtype).bits / 8, code);
  return each;
}
TensorSpec fp8(const std::string& name) { return codes(name, Dtype::F8_E4M3, {2, 3}, 0x38); }

std::string options(const std::string& to, const std::string& assume = "{}", const std::string& others = "keep") {
  return "{\"to\":\"" + to + "\",\"others\":\"" + others + "\",\"assume\":" + assume + "}";
}

struct Planned {
  Reply reply;
  Json json;
  std::vector<std::string> output;  ///< "name dtype", after a conversion
};

Planned planned(const std::vector<TensorSpec>& tensors, const std::string& with, const oracle::Strings& metadata = {}) {
  Pump pump({oracle::file_of(tensors, metadata)});
  REQUIRE(pump.open() == JobStep::done);
  Planned result{pump.plan(with), {}, {}};
  result.json = Json::parse(pump.session.reply());
  if (result.reply != Reply::ok) return result;
  REQUIRE(pump.run(JobKind::convert) == JobStep::done);
  Pump again({pump.output});
  REQUIRE(again.open() == JobStep::done);
  again.session.tensors(0, 1000);
  for (const Json& row : Json::parse(again.session.reply()))
    result.output.push_back(row["name"].get<std::string>() + " " + row["dtype"].get<std::string>());
  return result;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("answers: the tensor before the code before the scheme") {
  Answers answers({{"fp8_scaled", "apply"}, {"scale_missing", "keep"}, {"a.weight", "raw"}, {"b", "keep"}});
  CHECK(answers.answer(Errc::scale_missing, "a.weight", "fp8_unscaled") == "raw");
  CHECK(answers.answer(Errc::scale_missing, "c.weight", "fp8_unscaled") == "keep");
  CHECK(answers.answer(Errc::scale_zero, "c.weight", "fp8_scaled") == "apply");
  CHECK(answers.answer(Errc::scale_zero, "a.weight", "fp8_scaled") == "apply");  // raw is no answer to that
  CHECK_FALSE(answers.answer(Errc::scale_zero, "c.weight", "other"));
  const Status unused = answers.check();
  REQUIRE_FALSE(unused);
  CHECK(unused.error().code == Errc::unknown_assumption);
  CHECK(unused.error().where == "b");
  CHECK(answers.applied()[0].tensors == 2);
}

TEST_CASE("answers: a choice that is not offered names those that are") {
  Answers answers(std::vector<Assumption>{{"scale_missing", "apply"}});
  CHECK_FALSE(answers.answer(Errc::scale_missing, "a", "fp8_unscaled"));
  const Status wrong = answers.check();
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().code == Errc::invalid_option);
  CHECK_THAT(wrong.error().message, Catch::Contains("raw, keep"));
}

TEST_CASE("options: strict") {
  struct Row {
    const char* json;
    const char* code;
  };
  const Row rows[] = {
      {"", "invalid_option"},
      {"[]", "invalid_option"},
      {"{}", "target_required"},
      {R"({"others":"keep"})", "target_required"},
      {R"({"to":"f32"})", "invalid_option"},
      {R"({"to":"BF16"})", "invalid_option"},
      {R"({"to":16})", "invalid_option"},
      {R"({"to":"bf16","others":"all"})", "invalid_option"},
      {R"({"to":"bf16","assume":[]})", "invalid_option"},
      {R"({"to":"bf16","assume":{"a":1}})", "invalid_option"},
  };
  Session session;
  for (const Row& row : rows) {
    INFO(row.json);
    CHECK(session.set_options(row.json) == Reply::error);
    CHECK(Json::parse(session.reply())["error"]["code"] == row.code);
  }
  CHECK(session.set_options(R"({"to":"bf16"})") == Reply::ok);
}

TEST_CASE("plan: an open question names its tensors and its choices") {
  const std::vector<TensorSpec> tensors = {fp8("a.weight"), fp8("b.weight"), fp8("c.weight"),
                                           f32_tensor("c.weight_scale", {}, {0.5f})};
  const Planned open = planned(tensors, options("bf16"));
  REQUIRE(open.reply == Reply::decisions);
  REQUIRE(open.json["decisions"].size() == 1);
  const Json& decision = open.json["decisions"][0];
  CHECK(decision["code"] == "scale_missing");
  CHECK(decision["subject"] == "scale_missing");
  CHECK(decision["count"] == 2);
  CHECK(decision["tensors"] == Json{"a.weight", "b.weight"});
  CHECK(decision["choices"][0]["choice"] == "raw");
  CHECK(decision["choices"][1]["choice"] == "keep");

  CHECK(planned(tensors, options("bf16", R"({"a.weight":"raw"})")).reply == Reply::decisions);
  const Planned mixed = planned(tensors, options("bf16", R"({"a.weight":"raw","scale_missing":"keep"})"));
  CHECK(mixed.output == Names{"a.weight BF16", "c.weight BF16", "b.weight F8_E4M3"});
  CHECK(planned(tensors, options("bf16", R"({"fp8_unscaled":"raw"})")).output ==
        Names{"a.weight BF16", "b.weight BF16", "c.weight BF16"});
  CHECK(planned(tensors, options("bf16", R"({"scale_missing":"apply"})")).json["error"]["code"] == "invalid_option");
  CHECK(planned(tensors, options("bf16", R"({"scale_missing":"raw","scale_zero":"apply"})")).json["error"]["code"] ==
        "unknown_assumption");
}

TEST_CASE("plan: order, dropped tensors, metadata") {
  const std::vector<TensorSpec> tensors = {codes("z", Dtype::BF16, {1}, 1),
                                           fp8("m.weight"),
                                           f32_tensor("m.scale_weight", {}, {2}),
                                           f32_tensor("m.scale_input", {}, {2}),
                                           codes("scaled_fp8", Dtype::F8_E4M3, {0}, 0),
                                           codes("b", Dtype::F32, {1}, 1),
                                           codes("i", Dtype::I64, {1}, 1),
                                           codes("a10", Dtype::BF16, {1}, 1),
                                           codes("a2", Dtype::BF16, {1}, 1)};
  const Planned plan =
      planned(tensors, options("bf16"), {{"_quantization_metadata", "{\"layers\":{}}"}, {"author", "x"}});
  REQUIRE(plan.reply == Reply::ok);
  CHECK(plan.output == Names{"i I64", "b F32", "a10 BF16", "a2 BF16", "m.weight BF16", "z BF16"});
  CHECK(plan.json["dequantized"] == 1);
  CHECK(plan.json["copied"] == 5);
  CHECK(plan.json["cast"] == 0);
  CHECK(plan.json["dropped"] == 3);
  CHECK(plan.json["notes"].size() == 2);
  const Planned cast = planned(tensors, options("bf16", "{}", "cast"));
  CHECK(cast.output == Names{"i I64", "a10 BF16", "a2 BF16", "b BF16", "m.weight BF16", "z BF16"});
  CHECK(cast.json["cast"] == 1);
}

TEST_CASE("plan: what is kept is kept unchanged, also when the other floats are cast") {
  const std::vector<TensorSpec> orphan = {f32_tensor("a.weight_scale", {}, {2}), codes("b", Dtype::F32, {1}, 1)};
  CHECK(planned(orphan, options("bf16", R"({"scale_orphan":"keep"})", "cast")).output ==
        Names{"a.weight_scale F32", "b BF16"});
  CHECK(planned(orphan, options("bf16", R"({"scale_orphan":"drop"})", "cast")).output == Names{"b BF16"});
  const std::vector<TensorSpec> bytes = {codes("a.weight", Dtype::U8, {2, 2}, 0x38),
                                         f32_tensor("a.weight_scale", {}, {2})};
  CHECK(planned(bytes, options("bf16", R"({"layout_undecided":"keep"})", "cast")).output ==
        Names{"a.weight_scale F32", "a.weight U8"});
  CHECK(planned(bytes, options("bf16", R"({"layout_undecided":"e4m3"})", "cast")).output == Names{"a.weight BF16"});
}

TEST_CASE("plan: refusals come with every name") {
  const std::vector<TensorSpec> tensors = {fp8("a.weight"), f32_tensor("a.weight_scale", {5}, {1, 1, 1, 1, 1}),
                                           fp8("b.weight"), f32_tensor("b.weight_scale", {5}, {1, 1, 1, 1, 1})};
  const Planned plan = planned(tensors, options("bf16"));
  REQUIRE(plan.reply == Reply::error);
  CHECK(plan.json["error"]["code"] == "scale_shape_mismatch");
  CHECK_THAT(plan.json["error"]["message"].get<std::string>(),
             Catch::Contains("2 weights") && Catch::Contains("`a.weight`") && Catch::Contains("`b.weight`"));
}

TEST_CASE("plan: columns are an answer only where a scale can be one a column") {
  const std::vector<TensorSpec> parts = {codes("qkv_proj.weight", Dtype::F8_E4M3, {5, 2}, 0x38),
                                         f32_tensor("qkv_proj.weight_scale", {3}, {1, 1, 1})};
  CHECK(planned(parts, options("bf16")).reply == Reply::decisions);
  const Planned columns = planned(parts, options("bf16", R"({"scale_shape_ambiguous":"columns"})"));
  REQUIRE(columns.reply == Reply::error);
  CHECK(columns.json["error"]["code"] == "invalid_option");
}

TEST_CASE("plan: fp16 that overflows asks, and says what it lost") {
  const std::vector<TensorSpec> tensors = {
      codes("a.weight", Dtype::F8_E4M3, {2, 3}, 0x7E), f32_tensor("a.weight_scale", {}, {200}),
      codes("b.weight", Dtype::F8_E4M3, {2, 3}, 0x38), f32_tensor("b.weight_scale", {}, {200})};
  const Planned open = planned(tensors, options("f16"));
  REQUIRE(open.reply == Reply::decisions);
  CHECK(open.json["decisions"][0]["code"] == "f16_overflow");
  CHECK(open.json["decisions"][0]["tensors"] == Json{"a.weight"});  // b could, but does not
  CHECK(planned(tensors, options("f16", R"({"f16_overflow":"bf16"})")).output ==
        Names{"a.weight BF16", "b.weight F16"});
  CHECK(planned(tensors, options("f16", R"({"a.weight":"inf"})")).output == Names{"a.weight F16", "b.weight F16"});
  CHECK(planned(tensors, options("bf16")).output == Names{"a.weight BF16", "b.weight BF16"});
}

// The losses depend on how bytes are read and on whether floats are multiplied; the scan must follow the answers.
TEST_CASE("plan: fp16 overflow is found behind an answer, too") {
  const std::vector<TensorSpec> bytes = {codes("a.weight", Dtype::U8, {2, 3}, 0x7B),
                                         f32_tensor("a.weight_scale", {}, {2})};
  CHECK(planned(bytes, options("f16", R"({"layout_undecided":"e4m3"})")).output == Names{"a.weight F16"});
  const Planned e5m2 = planned(bytes, options("f16", R"({"layout_undecided":"e5m2"})"));
  REQUIRE(e5m2.reply == Reply::decisions);
  CHECK(e5m2.json["decisions"][0]["code"] == "f16_overflow");

  const std::vector<TensorSpec> floats = {f32_tensor("a.weight", {2}, {300, 1}),
                                          f32_tensor("a.weight_scale", {}, {300})};
  CHECK(planned(floats, options("f16", R"({"scale_on_float_weight":"multiply"})")).reply == Reply::decisions);
  CHECK(planned(floats, options("f16", R"({"scale_on_float_weight":"ignore"})", "cast")).output ==
        Names{"a.weight F16"});
  const std::vector<TensorSpec> wide = {f32_tensor("a.weight", {2}, {70000, 1}),
                                        f32_tensor("a.weight_scale", {}, {0.5f})};
  CHECK(planned(wide, options("f16", R"({"scale_on_float_weight":"ignore"})", "cast")).reply == Reply::decisions);
  CHECK(planned(wide, options("f16", R"({"scale_on_float_weight":"multiply"})")).output == Names{"a.weight F16"});
}

TEST_CASE("plan: other options make other losses") {
  const std::vector<TensorSpec> bytes = {codes("a.weight", Dtype::U8, {2, 3}, 0x7B),
                                         f32_tensor("a.weight_scale", {}, {2})};
  Pump pump({oracle::file_of(bytes)});
  REQUIRE(pump.open() == JobStep::done);
  CHECK(pump.plan(options("f16", R"({"layout_undecided":"e5m2"})")) == Reply::decisions);
  CHECK(pump.plan(options("f16", R"({"layout_undecided":"e4m3"})")) == Reply::ok);
  CHECK(pump.plan(options("f16", R"({"layout_undecided":"e5m2","f16_overflow":"bf16"})")) == Reply::ok);
}
