// Whole conversions against a naive one that holds everything in memory and knows no windows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "convert/hash.h"
#include "oracle/pump.h"

using namespace wb;
using oracle::Bytes;
using oracle::Layer;
using oracle::Pump;
using oracle::Random;
using oracle::ScaleOf;
using oracle::TensorSpec;
using Shape64 = std::vector<uint64_t>;

namespace {

uint64_t up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

ScaleOf one() {
  return [](uint64_t, uint64_t, uint64_t) { return 0; };
}
ScaleOf by_matrix() {
  return [](uint64_t matrix, uint64_t, uint64_t) { return matrix; };
}
ScaleOf by_row(uint64_t rows) {
  return [=](uint64_t matrix, uint64_t row, uint64_t) { return matrix * rows + row; };
}
ScaleOf by_column(uint64_t cols) {
  return [=](uint64_t matrix, uint64_t, uint64_t col) { return matrix * cols + col; };
}
ScaleOf by_block(uint64_t rows, uint64_t cols, uint64_t block_rows, uint64_t block_cols) {
  return [=](uint64_t matrix, uint64_t row, uint64_t col) {
    return (matrix * up(rows, block_rows) + row / block_rows) * up(cols, block_cols) + col / block_cols;
  };
}

/// A checkpoint under construction: files of tensors, and what each must become.
struct Checkpoint {
  explicit Checkpoint(uint64_t seed) : random(seed) {}

  void layer(const std::string& stem, Dtype dtype, const Shape64& shape, Dtype scale_dtype, const Shape64& scale_shape,
             ScaleOf scale_of, size_t file = 0, size_t scale_file = 0) {
    Layer each{oracle::random_tensor(random, stem + ".weight", dtype, shape),
               oracle::random_scale(random, stem + ".weight_scale", scale_dtype, scale_shape), std::move(scale_of)};
    files.resize(std::max({files.size(), file + 1, scale_file + 1}));
    files[scale_file].push_back(each.scale);
    files[file].push_back(each.weight);
    layers.push_back(std::move(each));
  }
  void other(const std::string& name, Dtype dtype, const Shape64& shape, size_t file = 0) {
    files.resize(std::max(files.size(), file + 1));
    others.push_back(oracle::random_tensor(random, name, dtype, shape));
    files[file].push_back(others.back());
  }

  std::vector<Bytes> bytes() const {
    std::vector<Bytes> all;
    for (size_t i = 0; i < files.size(); ++i)
      all.push_back(oracle::file_of(files[i], i == 0 ? metadata : oracle::Strings{}, extra_spaces));
    return all;
  }

  Bytes expected(Dtype to, bool cast) const {
    std::vector<TensorSpec> tensors;
    for (const Layer& each : layers) tensors.push_back(oracle::dequantized_tensor(each, to));
    for (const TensorSpec& each : others) {
      const bool narrows =
          each.dtype == Dtype::F32 || each.dtype == Dtype::F64 || each.dtype == Dtype::F16 || each.dtype == Dtype::BF16;
      tensors.push_back(cast && narrows && each.dtype != to ? oracle::cast_tensor(each, to) : each);
    }
    oracle::Strings kept = metadata;
    const bool has_format =
        std::any_of(kept.begin(), kept.end(), [](const auto& entry) { return entry.first == "format"; });
    if (!has_format) kept.emplace_back("format", "pt");
    std::sort(kept.begin(), kept.end());
    return oracle::canonical_file(std::move(tensors), kept);
  }

  Random random;
  std::vector<std::vector<TensorSpec>> files;
  std::vector<Layer> layers;
  std::vector<TensorSpec> others;
  oracle::Strings metadata;
  size_t extra_spaces = 0;
};

std::string difference(const Bytes& actual, const Bytes& expected) {
  if (actual == expected) return {};
  const size_t n = std::min(actual.size(), expected.size());
  const auto at =
      std::mismatch(actual.begin(), actual.begin() + static_cast<std::ptrdiff_t>(n), expected.begin()).first -
      actual.begin();
  return "sizes " + std::to_string(actual.size()) + " and " + std::to_string(expected.size()) +
         ", first difference at byte " + std::to_string(at);
}

/// Converts and compares bytes, sizes, hash; reads back and verifies. The number of reads.
uint64_t check_conversion(const Checkpoint& checkpoint, const std::string& to, bool cast = false,
                          const std::string& assume = "{}", const std::string& config = {}, uint32_t depth = 5) {
  Pump pump(checkpoint.bytes(), depth);
  REQUIRE(pump.open(config) == JobStep::done);
  const Reply planned =
      pump.plan("{\"to\":\"" + to + "\",\"others\":\"" + (cast ? "cast" : "keep") + "\",\"assume\":" + assume + "}");
  INFO(pump.session.reply());
  REQUIRE(planned == Reply::ok);
  const auto plan = nlohmann::json::parse(pump.session.reply());
  const JobStep converted = pump.run(JobKind::convert);
  INFO(pump.session.reply() << " " << pump.bad_window);
  REQUIRE(converted == JobStep::done);
  const uint64_t reads = pump.reads;
  REQUIRE(difference(pump.output, checkpoint.expected(to == "f16" ? Dtype::F16 : Dtype::BF16, cast)) == "");
  REQUIRE(plan["output_bytes"] == pump.output.size());
  REQUIRE(pump.run(JobKind::verify) == JobStep::done);
  REQUIRE(pump.session.receipt() == Reply::ok);
  const auto receipt = nlohmann::json::parse(pump.session.reply());
  Hash hash;
  hash.update(pump.output);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash.digest()));
  REQUIRE(receipt["output_xxh64"] == std::string(text));
  REQUIRE(receipt["verified"] == true);
  return reads;
}

constexpr Dtype kPayloads[] = {Dtype::F8_E4M3, Dtype::F8_E5M2, Dtype::F8_E4M3FNUZ, Dtype::F8_E5M2FNUZ};
constexpr Dtype kScales[] = {Dtype::F32, Dtype::BF16, Dtype::F16, Dtype::F8_E8M0, Dtype::U8};

/// Every granularity at a few odd sizes; `n` varies dtypes along.
Checkpoint every_granularity(uint64_t seed) {
  Checkpoint all(seed);
  size_t n = static_cast<size_t>(seed);
  const auto add = [&](const Shape64& shape, const Shape64& scale_shape, ScaleOf scale_of) {
    all.layer("l" + std::to_string(n), kPayloads[n % 4], shape, kScales[n % 5], scale_shape, std::move(scale_of));
    ++n;
  };
  for (const auto& [rows, cols] :
       {std::pair<uint64_t, uint64_t>{1, 1}, {1, 7}, {5, 1}, {3, 5}, {16, 33}, {129, 130}, {576, 40}}) {
    const Shape64 shape{rows, cols};
    add(shape, {}, one());
    add(shape, {1}, one());
    add(shape, {1, 1}, one());
    if (rows > 1) add(shape, {rows}, by_row(rows));
    if (rows > 1) add(shape, {rows, 1}, by_row(rows));
    if (cols > 1 && rows > 1) add(shape, {1, cols}, by_column(cols));
  }
  add({7, 7}, {7}, by_row(7));  // rows also where N == K
  add({9}, {9}, by_row(9));
  add({4, 3, 2, 2}, {4, 1, 1, 1}, by_row(4));
  add({130, 129}, {2, 2}, by_block(130, 129, 128, 128));
  add({576, 300}, {5, 3}, by_block(576, 300, 128, 128));
  add({3, 256}, {3, 4}, by_block(3, 256, 1, 64));
  add({6, 192}, {6, 3, 1}, by_block(6, 192, 1, 64));
  add({200, 130}, {2, 1, 2, 1}, by_block(200, 130, 128, 128));
  add({3, 5, 4}, {3}, by_matrix());
  add({3, 5, 4}, {3, 1, 1}, by_matrix());
  add({3, 5, 4}, {3, 5}, by_row(5));
  add({3, 5, 4}, {3, 5, 1}, by_row(5));
  add({3, 5, 4}, {3, 1, 4}, by_column(4));
  add({2, 130, 140}, {2, 2, 2}, by_block(130, 140, 128, 128));
  all.layer("mlp.gate_up_proj", Dtype::F8_E4M3, {6, 5}, Dtype::F32, {2}, by_block(6, 5, 3, 5));
  return all;
}

}  // namespace

TEST_CASE("conversion: every granularity, payload and scale dtype, both targets") {
  for (const uint64_t seed : {1, 4}) {
    const Checkpoint all = every_granularity(seed);
    INFO("seed " << seed);
    check_conversion(all, "bf16");
    check_conversion(all, "f16", false, "{}", {}, 1);
  }
}

TEST_CASE("conversion: tensors, rows and scales that are longer than a window") {
  struct Row {
    const char* name;
    Dtype dtype;
    Shape64 shape;
    Dtype scale_dtype;
    Shape64 scale_shape;
    ScaleOf scale_of;
    uint64_t reads_max;
  };
  const Row rows[] = {
      {"3 MiB, one scale", Dtype::F8_E4M3, {1024, 3072}, Dtype::F32, {}, one(), 6},
      {"a row of 1.5 windows", Dtype::F8_E5M2, {2, 1572869}, Dtype::F32, {2, 1}, by_row(2), 6},
      {"200,000 rows of 2", Dtype::F8_E4M3, {200000, 2}, Dtype::F32, {200000, 1}, by_row(200000), 10},
      // Two tiles of scales take turns; wider than any real model.
      {"100,000 columns", Dtype::F8_E4M3, {7, 100000}, Dtype::F32, {1, 100000}, by_column(100000), 30},
      {"groups of 16 in long rows",
       Dtype::F8_E4M3,
       {2, 1600000},
       Dtype::F32,
       {2, 100000},
       by_block(2, 1600000, 1, 16),
       12},
      {"groups of 16 in short rows",
       Dtype::F8_E4M3,
       {40000, 32},
       Dtype::BF16,
       {40000, 2, 1},
       by_block(40000, 32, 1, 16),
       8},
      {"blocks of 128, many", Dtype::F8_E4M3, {2049, 600}, Dtype::F32, {17, 5}, by_block(2049, 600, 128, 128), 6},
      {"experts in blocks", Dtype::F8_E4M3, {5, 300, 700}, Dtype::F32, {5, 3, 6}, by_block(300, 700, 128, 128), 6},
      {"300,000 experts of one row", Dtype::F8_E4M3, {300000, 1, 3}, Dtype::F8_E8M0, {300000}, by_matrix(), 8},
  };
  for (const Row& row : rows) {
    Checkpoint checkpoint(11);
    checkpoint.layer("x", row.dtype, row.shape, row.scale_dtype, row.scale_shape, row.scale_of);
    checkpoint.other("bias", Dtype::F32, {3});
    INFO(row.name);
    const uint64_t reads = check_conversion(checkpoint, "bf16");
    CHECK(reads <= row.reads_max);
  }
}

TEST_CASE("conversion: all casts, tensors of no and of one element, metadata, unaligned data") {
  Checkpoint checkpoint(5);
  checkpoint.metadata = {{"format", "tf"}, {"author", "a \"b\" \\"}, {"_quantization_metadata", "{\"layers\":{}}"}};
  checkpoint.extra_spaces = 3;
  for (const char* const dtype : {"F32", "F64", "F16", "BF16", "I64", "U8", "BOOL", "C64"}) {
    const Dtype each = *dtype_from_name(dtype);
    const std::string name = dtype;
    checkpoint.other(name + ".scalar", each, {});
    checkpoint.other(name + ".none", each, {3, 0, 2});
    checkpoint.other(name + ".many", each, {101, 7});
  }
  checkpoint.other("big.f32", Dtype::F32, {350, 777});
  checkpoint.other("big.f64", Dtype::F64, {180, 777});
  checkpoint.other("big.u8", Dtype::U8, {2500000});
  checkpoint.layer("a", Dtype::F8_E4M3, {1, 1}, Dtype::F32, {}, one());
  checkpoint.layer("b", Dtype::F8_E4M3, {64, 3}, Dtype::F32, {64}, by_row(64));
  Checkpoint reference = checkpoint;
  reference.metadata.pop_back();  // what described the quantization is gone
  for (const char* to : {"bf16", "f16"}) {
    for (const bool cast : {false, true}) {
      INFO(to << (cast ? " cast" : " keep"));
      Pump pump(checkpoint.bytes());
      REQUIRE(pump.open() == JobStep::done);
      const std::string assume = cast && std::string(to) == "f16" ? "{\"f16_overflow\":\"inf\"}" : "{}";
      const Reply planned = pump.plan(std::string("{\"to\":\"") + to + "\",\"others\":\"" + (cast ? "cast" : "keep") +
                                      "\",\"assume\":" + assume + "}");
      INFO(pump.session.reply());
      REQUIRE(planned == Reply::ok);
      REQUIRE(pump.run(JobKind::convert) == JobStep::done);
      CHECK(difference(pump.output, reference.expected(std::string(to) == "f16" ? Dtype::F16 : Dtype::BF16, cast)) ==
            "");
    }
  }
}

TEST_CASE("conversion: quantized weights without elements") {
  Checkpoint checkpoint(6);
  checkpoint.layer("tensor", Dtype::F8_E4M3, {0, 4}, Dtype::F32, {}, one());
  checkpoint.layer("rows", Dtype::F8_E4M3, {0, 4}, Dtype::F32, {0, 1}, one());
  checkpoint.layer("cols", Dtype::F8_E4M3, {4, 0}, Dtype::F32, {4, 1}, one());
  checkpoint.layer("real", Dtype::F8_E4M3, {300, 70}, Dtype::F32, {300, 1}, by_row(300));
  checkpoint.layer("stack", Dtype::F8_E4M3, {2, 0, 4}, Dtype::F32, {2, 1, 1}, one());
  check_conversion(checkpoint, "bf16");
  check_conversion(checkpoint, "f16");
}

TEST_CASE("conversion: fp8 without scales") {
  Checkpoint checkpoint(8);
  for (const Dtype dtype : kPayloads) {
    const std::string name(dtype_info(dtype).name);
    checkpoint.layers.push_back({oracle::random_tensor(checkpoint.random, name + ".weight", dtype, {33, 65}), {}, {}});
    checkpoint.layers.push_back({oracle::random_tensor(checkpoint.random, name + ".none", dtype, {3, 0}), {}, {}});
    checkpoint.layers.push_back({oracle::random_tensor(checkpoint.random, name + ".big", dtype, {1100, 961}), {}, {}});
  }
  checkpoint.files.resize(1);
  for (const Layer& layer : checkpoint.layers) checkpoint.files[0].push_back(layer.weight);
  check_conversion(checkpoint, "bf16");
  check_conversion(checkpoint, "f16");
}

TEST_CASE("conversion: a float weight times its scale, where the user says so") {
  for (const Dtype dtype : {Dtype::F32, Dtype::BF16, Dtype::F16}) {
    Checkpoint checkpoint(9);
    INFO(dtype_info(dtype).name);
    checkpoint.layer("one", dtype, {33, 65}, Dtype::F32, {}, one());
    checkpoint.layer("rows", dtype, {300, 101}, Dtype::F32, {300, 1}, by_row(300));
    checkpoint.layer("blocks", dtype, {130, 129}, Dtype::F32, {2, 2}, by_block(130, 129, 128, 128));
    if (dtype == Dtype::F32) checkpoint.layer("long", dtype, {2, 270000}, Dtype::F32, {2, 1}, by_row(2));
    check_conversion(checkpoint, "bf16", false, "{\"scale_on_float_weight\":\"multiply\"}");
    const bool overflows = dtype != Dtype::F16;
    check_conversion(
        checkpoint, "f16", false,
        std::string("{\"scale_on_float_weight\":\"multiply\"") + (overflows ? ",\"f16_overflow\":\"inf\"}" : "}"));
  }
}

TEST_CASE("conversion: weights and scales in two files") {
  Checkpoint checkpoint(10);
  for (int i = 0; i < 20; ++i) {
    const auto n = static_cast<uint64_t>(i + 1);
    checkpoint.layer("near" + std::to_string(i), Dtype::F8_E4M3, {n, 50}, Dtype::F32, {n, 1}, by_row(n), i % 2,
                     1 - i % 2);
    checkpoint.layer("far" + std::to_string(i), Dtype::F8_E4M3, {n * 20, 400}, Dtype::F32, {}, one(), 1 - i % 2, i % 2);
  }
  check_conversion(checkpoint, "bf16");
}

TEST_CASE("conversion: 5,000 small tensors cost few reads") {
  Checkpoint checkpoint(12);
  for (int i = 0; i < 1250; ++i) {
    const std::string stem = "model.layers." + std::to_string(i);
    const auto rows = static_cast<uint64_t>(i % 40 + 1);
    checkpoint.layer(stem + ".q", Dtype::F8_E4M3, {rows, 20}, Dtype::F32, {}, one());
    checkpoint.other(stem + ".norm", Dtype::BF16, {rows});
    checkpoint.other(stem + ".bias", Dtype::F32, {rows});
  }
  CHECK(check_conversion(checkpoint, "bf16") < 200);
}
