// Weights that are put together from planes, as whole files through a session, against loops over the formula that
// find every code by its bits. Sizes reach several tiles, and lines that are read whole or in parts.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "oracle/numbers.h"
#include "oracle/pump.h"
#include "plan/tile_cursor.h"

using namespace wb;
using oracle::Bytes;
using oracle::Pump;
using oracle::Random;
using oracle::TensorSpec;
using Json = nlohmann::json;

namespace {

/// Test sizes are small: the cast is for wasm32.
size_t sz(uint64_t n) { return static_cast<size_t>(n); }

/// `bits` bits of a tensor's bytes from bit `at` on.
uint32_t bits_at(const TensorSpec& tensor, uint64_t at, uint32_t bits) {
  uint32_t value = 0;
  for (uint32_t b = 0; b < bits; ++b)
    value |= static_cast<uint32_t>(tensor.bytes[sz((at + b) / 8)] >> ((at + b) % 8) & 1) << b;
  return value;
}

float number_at(const TensorSpec& tensor, uint64_t index) {
  const uint32_t width = dtype_info(tensor.dtype).bits;
  return static_cast<float>(oracle::value_of(tensor.dtype, bits_at(tensor, index * width, width)));
}

TensorSpec order_of(Random& random, const std::string& name, uint64_t cols, uint64_t groups) {
  TensorSpec order{name, Dtype::I32, {cols}, Bytes(sz(cols * 4))};
  for (uint64_t i = 0; i < cols; ++i)
    order.bytes[sz(i * 4)] = static_cast<uint8_t>(random.below(static_cast<uint32_t>(groups)));
  return order;
}

/// Converts one file and compares its one weight with value(row, col), rounded once. Empty when all is well.
template <class Value>
std::string difference(const std::vector<TensorSpec>& tensors, const std::string& config, const std::string& options,
                       Dtype to, uint64_t rows, uint64_t cols, Value value) {
  Pump pump({oracle::file_of(tensors)});
  if (pump.open(config) != JobStep::done) return "not opened";
  if (pump.plan(options) != Reply::ok) return std::string(pump.session.reply());
  if (pump.run(JobKind::convert) != JobStep::done) return "not converted: " + std::string(pump.session.reply());
  if (!pump.bad_window.empty()) return pump.bad_window;
  const size_t header = pump.output.size() - sz(rows * cols * 2);
  for (uint64_t r = 0; r < rows; ++r) {
    for (uint64_t c = 0; c < cols; ++c) {
      const size_t at = header + sz((r * cols + c) * 2);
      const auto got = static_cast<uint32_t>(pump.output[at] | pump.output[at + 1] << 8);
      const uint32_t want = oracle::nearest(to, static_cast<double>(value(r, c)));
      if (got != want)
        return "(" + std::to_string(r) + ", " + std::to_string(c) + "): " + std::to_string(got) + ", not " +
               std::to_string(want);
    }
  }
  return {};
}

struct Gptq {
  uint64_t inputs;
  uint64_t outputs;
  uint32_t bits;
  uint64_t group;
  bool ordered;
  const char* format;
};

std::string gptq_difference(const Gptq& g, Dtype to) {
  Random random(g.inputs + g.bits);
  const uint64_t groups = (g.inputs + g.group - 1) / g.group;
  const TensorSpec codes = oracle::random_tensor(random, "l.qweight", Dtype::I32, {g.inputs * g.bits / 32, g.outputs});
  const TensorSpec zeros = oracle::random_tensor(random, "l.qzeros", Dtype::I32, {groups, g.outputs * g.bits / 32});
  const TensorSpec scales = oracle::random_scale(random, "l.scales", Dtype::F16, {groups, g.outputs});
  const TensorSpec order = order_of(random, "l.g_idx", g.inputs, groups);
  std::vector<TensorSpec> tensors{codes, zeros, scales};
  if (g.ordered) tensors.push_back(order);
  const Json config = {
      {"quantization_config",
       {{"quant_method", "gptq"}, {"bits", g.bits}, {"group_size", g.group}, {"checkpoint_format", g.format}}}};
  const float bias = std::string(g.format) == "gptq" ? 1 : 0;
  const std::string options = to == Dtype::F16 ? R"({"to":"f16"})" : R"({"to":"bf16"})";
  return difference(tensors, config.dump(), options, to, g.outputs, g.inputs, [&](uint64_t r, uint64_t c) {
    const uint64_t group = g.ordered ? bits_at(order, c * 32, 32) : c / g.group;
    const uint64_t stream = c * g.bits;
    uint32_t code = 0;
    for (uint32_t b = 0; b < g.bits; ++b)
      code |= bits_at(codes, ((stream + b) / 32 * g.outputs + r) * 32 + (stream + b) % 32, 1) << b;
    const uint32_t zero = bits_at(zeros, (group * (g.outputs * g.bits / 32)) * 32 + r * g.bits, g.bits);
    return (static_cast<float>(code) - (static_cast<float>(zero) + bias)) * number_at(scales, group * g.outputs + r);
  });
}

}  // namespace

TEST_CASE("tiles: GPTQ in every width, version and order") {
  for (const Gptq& g :
       {Gptq{64, 32, 4, 32, false, "gptq"}, Gptq{96, 64, 3, 32, false, "gptq"}, Gptq{128, 32, 2, 64, true, "gptq_v2"},
        Gptq{64, 96, 8, 16, true, "gptq"}, Gptq{64, 32, 4, 64, false, "gptq_v2"}}) {
    INFO(g.inputs << " x " << g.outputs << ", " << g.bits << " bits");
    CHECK(gptq_difference(g, Dtype::BF16) == "");
    CHECK(gptq_difference(g, Dtype::F16) == "");
  }
}

TEST_CASE("tiles: a transposed weight of more than one tile") {
  // Lines of 164,000 bytes, of which a tile takes the larger part; 640 x 41,000 codes are two tiles.
  static_assert(640 * 41'000 > kTileCodes);
  CHECK(gptq_difference({640, 41'000 / 32 * 32, 4, 128, false, "gptq"}, Dtype::BF16) == "");
}

TEST_CASE("tiles: AWQ, and lines that are read whole for every tile") {
  for (const auto& dims : {std::pair<uint64_t, uint64_t>{64, 40}, {8192, 3208}}) {
    const uint64_t inputs = dims.first;
    const uint64_t outputs = dims.second;
    Random random(inputs);
    const uint64_t group = 32;
    const uint64_t groups = inputs / group;
    const TensorSpec codes = oracle::random_tensor(random, "l.qweight", Dtype::I32, {inputs, outputs / 8});
    const TensorSpec zeros = oracle::random_tensor(random, "l.qzeros", Dtype::I32, {groups, outputs / 8});
    const TensorSpec scales = oracle::random_scale(random, "l.scales", Dtype::F16, {groups, outputs});
    constexpr uint64_t kNibble[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    const auto field = [&](const TensorSpec& words, uint64_t line, uint64_t col) {
      return static_cast<float>(bits_at(words, (line * (outputs / 8) + col / 8) * 32 + kNibble[col % 8] * 4, 4));
    };
    CHECK(difference({codes, zeros, scales}, R"({"quantization_config":{"quant_method":"awq"}})", R"({"to":"bf16"})",
                     Dtype::BF16, outputs, inputs, [&](uint64_t r, uint64_t c) {
                       return (field(codes, c, r) - field(zeros, c / group, r)) *
                              number_at(scales, c / group * outputs + r);
                     }) == "");
  }
}

TEST_CASE("tiles: an order that names a group that does not exist is refused, not read") {
  Random random(5);
  TensorSpec order = order_of(random, "l.g_idx", 64, 2);
  order.bytes[4 * 63] = 2;
  Pump pump({oracle::file_of({oracle::random_tensor(random, "l.qweight", Dtype::I32, {8, 32}),
                              oracle::random_tensor(random, "l.qzeros", Dtype::I32, {2, 4}),
                              oracle::random_scale(random, "l.scales", Dtype::F16, {2, 32}), order})});
  REQUIRE(pump.open(R"({"quantization_config":{"quant_method":"gptq","group_size":32}})") == JobStep::done);
  REQUIRE(pump.plan(R"({"to":"bf16"})") == Reply::ok);
  REQUIRE(pump.run(JobKind::convert) == JobStep::failed);
  CHECK(Json::parse(pump.session.reply())["error"]["code"] == "payload_shape_mismatch");
}

TEST_CASE("tiles: without a config GPTQ's zero points are a question with two answers") {
  Random random(6);
  const std::vector<TensorSpec> tensors{oracle::random_tensor(random, "l.qweight", Dtype::I32, {8, 32}),
                                        oracle::random_tensor(random, "l.qzeros", Dtype::I32, {2, 4}),
                                        oracle::random_scale(random, "l.scales", Dtype::F16, {2, 32})};
  Pump pump({oracle::file_of(tensors)});
  REQUIRE(pump.open() == JobStep::done);
  REQUIRE(pump.plan(R"({"to":"bf16"})") == Reply::decisions);
  for (const auto& [choice, bias] : {std::pair<std::string, float>{"v1", 1}, {"v2", 0}}) {
    const std::string options = R"({"to":"bf16","assume":{"zero_point_undecided":")" + choice + R"("}})";
    CHECK(difference(tensors, {}, options, Dtype::BF16, 32, 64, [&, bias = bias](uint64_t r, uint64_t c) {
            const uint32_t code = bits_at(tensors[0], (c / 8 * 32 + r) * 32 + c % 8 * 4, 4);
            const uint32_t zero = bits_at(tensors[1], c / 32 * 128 + r * 4, 4);
            return (static_cast<float>(code) - (static_cast<float>(zero) + bias)) *
                   number_at(tensors[2], c / 32 * 32 + r);
          }) == "");
  }
}

TEST_CASE("tiles: columns are multiplied by what the activations were divided by") {
  Random random(8);
  const uint64_t rows = 9;
  const uint64_t cols = 2500;  // more than one run through float32
  for (const Dtype dtype : {Dtype::I8, Dtype::F8_E4M3}) {
    const TensorSpec codes = oracle::random_tensor(random, "l.weight", dtype, {rows, cols});
    const TensorSpec scale = oracle::random_scale(random, "l.weight_scale", Dtype::F32, {rows, 1});
    const TensorSpec factor = oracle::random_scale(random, "l.pre_quant_scale", Dtype::BF16, {cols});
    CHECK(difference({codes, scale, factor}, {}, R"({"to":"bf16"})", Dtype::BF16, rows, cols,
                     [&](uint64_t r, uint64_t c) {
                       const float code = dtype == Dtype::I8
                                              ? static_cast<float>(static_cast<int8_t>(codes.bytes[sz(r * cols + c)]))
                                              : number_at(codes, r * cols + c);
                       return code * number_at(scale, r) * number_at(factor, c);
                     }) == "");
  }
}

TEST_CASE("tiles: a flat weight of more than one tile, with nested scales") {
  // bitsandbytes: 1,500 x 701 codes in blocks of 64, absmax in one byte by a table and blocks of 256.
  Random random(9);
  const uint64_t n = 1500 * 701;
  static_assert(1500 * 701 > kStreamedCodes);
  const TensorSpec codes = oracle::random_tensor(random, "l.weight", Dtype::U8, {(n + 1) / 2, 1});
  const uint64_t blocks = (n + 63) / 64;
  const TensorSpec absmax = oracle::random_tensor(random, "l.weight.absmax", Dtype::U8, {blocks});
  const TensorSpec nested = oracle::random_scale(random, "l.weight.nested_absmax", Dtype::F32, {(blocks + 255) / 256});
  std::vector<float> map(256);
  for (size_t i = 0; i < 256; ++i) map[i] = static_cast<float>(i) / 256 - 0.25f;
  std::vector<float> table(16);
  for (size_t i = 0; i < 16; ++i) table[i] = static_cast<float>(i) / 7.5f - 1;
  const std::string text =
      R"({"quant_type":"nf4","blocksize":64,"dtype":"bfloat16","shape":[1500,701],"nested_blocksize":256,"nested_offset":0.375})";
  const TensorSpec state{
      "l.weight.quant_state.bitsandbytes__nf4", Dtype::U8, {text.size()}, Bytes(text.begin(), text.end())};
  const std::vector<TensorSpec> tensors{codes,
                                        absmax,
                                        nested,
                                        oracle::f32_tensor("l.weight.nested_quant_map", {256}, map),
                                        oracle::f32_tensor("l.weight.quant_map", {16}, table),
                                        state};
  for (const Dtype to : {Dtype::BF16, Dtype::F16}) {
    const std::string options = to == Dtype::F16 ? R"({"to":"f16"})" : R"({"to":"bf16"})";
    CHECK(difference(tensors, {}, options, to, 1500, 701, [&](uint64_t r, uint64_t c) {
            const uint64_t i = r * 701 + c;
            const uint8_t byte = codes.bytes[sz(i / 2)];
            const float scaled = map[absmax.bytes[sz(i / 64)]] * number_at(nested, i / 64 / 256);
            return table[i % 2 == 0 ? byte >> 4 : byte & 15] * (scaled + 0.375f);
          }) == "");
  }
}
