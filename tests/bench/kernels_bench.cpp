// GB/s (input + output bytes) of every kernel row and of the tiled schemes, in cache and streaming. Beside each, in
// the same run and in turns with it, a yardstick: in cache a plain loop that widens bytes to 16 bits (as many results),
// streaming a memcpy of the output. "goal" is what docs/performance.md promises. The 10th percentile of the
// times is shown: the machine when nothing disturbs it. Arguments: parts of names; none means all; --json for a
// machine.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "kernels/affine.h"
#include "kernels/fields.h"
#include "kernels/kernel.h"
#include "kernels/numeric.h"

using namespace wb;
using namespace wb::kernels;

namespace {

constexpr size_t kCacheBytes = size_t{64} << 10;
constexpr size_t kStreamBytes = size_t{64} << 20;

double now_ns() {
  using namespace std::chrono;
  return static_cast<double>(duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

/// One way of spending time: calls of about half a millisecond are a sample.
struct Timed {
  const std::function<void()>& call;
  int calls = 1;
  std::vector<double> samples{};

  void warm_up() {  // lets V8 optimise
    const double until = now_ns() + 60e6;
    double one = 0;
    do {
      const double start = now_ns();
      call();
      one = now_ns() - start;
    } while (now_ns() < until);
    calls = std::max(1, static_cast<int>(0.5e6 / std::max(one, 100.0)));
  }
  void sample() {
    const double start = now_ns();
    for (int i = 0; i < calls; ++i) call();
    samples.push_back((now_ns() - start) / calls);
  }
  double p10_ns() {
    std::sort(samples.begin(), samples.end());
    return samples[samples.size() / 10];
  }
};

struct Rate {
  double gb_per_s;
  double ratio;  ///< yardstick's time / kernel's time
};

Rate measure(size_t bytes, const std::function<void()>& kernel, const std::function<void()>& yardstick) {
  Timed a{kernel};
  Timed b{yardstick};
  a.warm_up();
  b.warm_up();
  const int rounds = a.calls > 1 ? 61 : 11;
  for (int i = 0; i < rounds; ++i) a.sample(), b.sample();
  const double ns = a.p10_ns();
  return {static_cast<double>(bytes) / ns, b.p10_ns() / ns};
}

// ---- data: as checkpoints have it ----------------------------------------------------------------------

using DecodeF8 = float (*)(uint8_t);
DecodeF8 decoder_of(Codec codec) {
  switch (codec) {
    case Codec::F8_E4M3: return f32_from_f8_e4m3;
    case Codec::F8_E5M2: return f32_from_f8_e5m2;
    case Codec::F8_E4M3FNUZ: return f32_from_f8_e4m3fnuz;
    case Codec::F8_E5M2FNUZ: return f32_from_f8_e5m2fnuz;
    default: return nullptr;
  }
}

/// Gaussian weights, the largest near the format's maximum, no NaN; integers are any.
void fill(Codec codec, std::vector<uint8_t>& bytes) {
  std::mt19937 random(1);
  const DecodeF8 decode = decoder_of(codec);
  const float max_finite = codec_info(codec).max_finite;
  std::normal_distribution<float> gauss(0.0f, decode ? max_finite / 4.5f : 0.02f);
  std::vector<float> magnitudes;
  for (int code = 0; decode && code < 128 && decode(static_cast<uint8_t>(code)) <= max_finite; ++code)
    magnitudes.push_back(decode(static_cast<uint8_t>(code)));
  std::vector<uint8_t> some(kCacheBytes);
  for (size_t at = 0; at < some.size(); at += std::max<size_t>(codec_info(codec).bits / 8, 1)) {
    const float value = gauss(random);
    const auto above = std::upper_bound(magnitudes.begin(), magnitudes.end(), std::fabs(value));
    if (codec == Codec::F32) {
      store_le(&some[at], value);
    } else if (codec == Codec::F64) {
      store_le(&some[at], static_cast<double>(value));
    } else if (codec == Codec::F16) {
      store_le(&some[at], f16_from_f32(value));
    } else if (codec == Codec::BF16) {
      store_le(&some[at], bf16_from_f32(value));
    } else if (decode) {
      some[at] = static_cast<uint8_t>((above - magnitudes.begin() - 1) | (value < 0 ? 0x80 : 0));
    } else {
      some[at] = static_cast<uint8_t>(random());
    }
  }
  for (size_t at = 0; at < bytes.size(); at += some.size()) std::memcpy(&bytes[at], some.data(), some.size());
}

enum class Scales : uint8_t { any, powers, nvfp4 };

void fill(Scales kind, std::vector<float>& scales) {
  std::mt19937 random(2);
  std::normal_distribution<float> gauss(0.0f, 1.0f);
  for (float& scale : scales) {
    const float size = std::fabs(gauss(random)) + 0.5f;
    if (kind == Scales::any) scale = 3e-4f * size;
    if (kind == Scales::powers) scale = std::exp2(std::round(std::log2(3e-3f * size)));
    if (kind == Scales::nvfp4) scale = 1.7e-4f * f32_from_f8_e4m3(static_cast<uint8_t>(0x50 + 8 * size));
  }
}

// ---- cases ---------------------------------------------------------------------------------------------

struct Shape {
  const char* name;
  size_t rows;
  size_t group_cols;  ///< 0: one group
  Scales scales;
  double goal;  ///< streaming, against a memcpy of the output; to bf16
};
constexpr Shape kF8[] = {{"per tensor", 1, 0, Scales::any, 1.2},
                         {"128x128", 128, 128, Scales::any, 1.2},
                         {"1x128", 1, 128, Scales::any, 1.2},
                         {"1x32, powers of 2 (MX)", 1, 32, Scales::powers, 1.1}};
constexpr Shape kF4[] = {{"1x16 (NVFP4)", 1, 16, Scales::nvfp4, 1.1},
                         {"1x32, powers of 2 (MX)", 1, 32, Scales::powers, 1.1}};
constexpr Shape kBits4[] = {
    {"1x32", 1, 32, Scales::any, 0.8}, {"1x64", 1, 64, Scales::any, 0.8}, {"1x128", 1, 128, Scales::any, 0.8}};
constexpr Shape kBits8[] = {{"per row", 1, 0, Scales::any, 0.8}, {"1x128", 1, 128, Scales::any, 0.8}};
constexpr Shape kFloat[] = {{"per tensor", 1, 0, Scales::any, 0}};
constexpr double kGoalF16 = 0.3;

std::span<const Shape> shapes_of(Codec codec) {
  if (decoder_of(codec)) return kF8;
  if (codec == Codec::F4 || codec == Codec::F4_HIGH) return kF4;
  if (codec_info(codec).bits == 4) return kBits4;
  if (is_wire_dtype(codec) && codec != Codec::I8) return kFloat;
  return kBits8;
}

double goal_of(const Kernel& kernel, const Shape* shape) {
  if (kernel.from == Codec::F64 || (shape && shape->goal == 0)) return 0;
  if (kernel.to == Dtype::F16) return kGoalF16;
  if (shape) return shape->goal;
  return kernel.from == Codec::F32 ? 0.55 : 0.7;
}

/// Blocks go in strips of 128 rows and at most 4096 columns, single rows in strips of 64 Ki.
void run_strip(const Kernel& kernel, const Shape& shape, const std::vector<float>& scales, const uint8_t* in, size_t n,
               uint8_t* out) {
  const size_t strip = std::min<size_t>(n, shape.rows == 1 ? 65536 : shape.rows * 4096);
  const size_t cols = strip / shape.rows;
  const size_t group = shape.group_cols ? shape.group_cols : cols;
  const float* scale = scales.data();
  for (size_t at = 0; at < n; at += strip) {
    kernel.strip(in + at * codec_info(kernel.from).bits / 8, shape.rows, cols, scale, group, out + 2 * at);
    if (shape.group_cols) scale += cols / group;
  }
}

void widen_bytes(const uint8_t* in, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; ++i) store_le<uint16_t>(out + 2 * i, in[i]);
}

/// A weight of 4096 columns whose int4 codes stand transposed, as GPTQ and AWQ store them: unpacked to bytes, then
/// row by row under groups of 128 with a scale and a zero point.
struct Int4Tile {
  Packing packing;
  bool unpacks = true;
  bool computes = true;
  static constexpr size_t kCols = 4096;
  static constexpr size_t kGroup = 128;
  std::vector<uint8_t> codes{};
  std::vector<float> scales = std::vector<float>(kCols / kGroup, 3e-4f);
  std::vector<float> zeros = std::vector<float>(kCols / kGroup, 8);
  std::vector<float> table = std::vector<float>(256);

  void run(const uint8_t* in, size_t n, uint8_t* out) {
    for (size_t i = 0; i < 256; ++i) table[i] = static_cast<float>(i);
    AffineRow row;
    row.table = table.data();
    row.codes = 16;
    row.zero = zeros.data();
    row.scale = scales.data();
    row.group_cols = kGroup;
    codes.resize(kCols * kCols);
    for (size_t left = n / kCols; left > 0;) {
      const size_t rows = std::min(left, kCols);
      const StoredLines stored = stored_lines(packing, kCols, rows, 4);
      if (unpacks)
        unpack_fields(packing, 4, kCols, rows, {0, stored.lines, 0, stored.line_bytes}, in,
                      {0, kCols, 0, rows, codes.data(), 1, kCols});
      for (size_t r = 0; computes && r < rows; ++r, out += 2 * kCols)
        dequantize_affine_row(codes.data() + r * kCols, kCols, row, Dtype::BF16, out);
      in += rows * kCols / 2;
      left -= rows;
    }
  }
};

// ---- output --------------------------------------------------------------------------------------------

struct Bench {
  std::vector<std::string_view> wanted;
  bool json = false;
  bool first = true;
  std::vector<uint8_t> in = std::vector<uint8_t>(kStreamBytes);
  std::vector<uint8_t> out = std::vector<uint8_t>(4 * kStreamBytes);
  std::vector<uint8_t> other = std::vector<uint8_t>(4 * kStreamBytes);
  std::vector<float> scales = std::vector<float>(2 * kStreamBytes / 16);

  bool wants(std::string_view name) const {
    return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [name](std::string_view part) {
             return name.find(part) != std::string_view::npos;
           });
  }

  /// call(n elements)
  template <class Call>
  void row(std::string_view name, const char* shape, uint32_t bits, double goal, const Call& call) {
    Rate rates[2];
    for (int streams = 0; streams < 2; ++streams) {
      // Never more output than fits: 4-bit codes stream over half the input.
      const size_t bytes = streams ? kStreamBytes : kCacheBytes;
      const size_t n = std::min<size_t>(bytes * 8 / bits, 2 * kStreamBytes);
      const std::function<void()> kernel = [&] { call(n); };
      const std::function<void()> copy = [&] { std::memcpy(out.data(), other.data(), 2 * n); };
      const std::function<void()> widen = [&] { widen_bytes(in.data(), n, out.data()); };
      rates[streams] = measure(n * bits / 8 + 2 * n, kernel, streams ? copy : widen);
    }
    const char* const verdict = goal == 0 ? "" : rates[1].ratio >= goal ? "met" : "MISSED";
    if (json) {
      std::printf("%s{\"kernel\":\"%.*s\",\"shape\":\"%s\",\"cache_gb_s\":%.2f,\"cache_ratio_to_widening\":%.3f,",
                  first ? "" : ",\n", static_cast<int>(name.size()), name.data(), shape, rates[0].gb_per_s,
                  rates[0].ratio);
      std::printf("\"stream_gb_s\":%.2f,\"stream_ratio_to_memcpy\":%.3f,\"goal\":%.2f}", rates[1].gb_per_s,
                  rates[1].ratio, goal);
    } else {
      std::printf("%-38.*s %-22s  %6.1f GB/s (%4.2f)  %6.1f GB/s (%4.2f)", static_cast<int>(name.size()), name.data(),
                  shape, rates[0].gb_per_s, rates[0].ratio, rates[1].gb_per_s, rates[1].ratio);
      if (goal > 0) std::printf("  %4.2f %s", goal, verdict);
      std::printf("\n");
    }
    std::fflush(stdout);
    first = false;
  }

  /// What any kernel from bytes to 16 bits can hope for: the same traffic and nothing computed.
  void yardstick_row() {
    if (!wants("plain_widening_copy")) return;
    row("plain_widening_copy", "bytes to 16 bits", 8, 0, [&](size_t n) { widen_bytes(in.data(), n, out.data()); });
  }

  void kernel_rows() {
    for (const Kernel& kernel : all_kernels()) {
      if (!wants(kernel.name)) continue;
      const uint32_t bits = codec_info(kernel.from).bits;
      // A scalar row that a faster one stands in for has no goal.
      const bool best =
          (kernel.strip ? find_strip(kernel.from, kernel.to) : find_cast(dtype_of(kernel.from), kernel.to)) == &kernel;
      fill(kernel.from, in);
      if (kernel.cast) {
        row(kernel.name, "cast", bits, best ? goal_of(kernel, nullptr) : 0,
            [&](size_t n) { kernel.cast(in.data(), n, out.data()); });
        continue;
      }
      for (const Shape& shape : shapes_of(kernel.from)) {
        fill(shape.scales, scales);
        row(kernel.name, shape.name, bits, best ? goal_of(kernel, &shape) : 0,
            [&](size_t n) { run_strip(kernel, shape, scales, in.data(), n, out.data()); });
      }
    }
  }

  void tiled_rows() {
    struct Tiled {
      const char* name;
      const char* shape;
      Packing packing;
      bool unpacks, computes;
      double goal;
    };
    for (const Tiled& tiled : {
             Tiled{"bf16_from_gptq_int4", "1x128", Packing::down_32, true, true, 0.8},
             Tiled{"bf16_from_gptq_int4", "unpacking alone", Packing::down_32, true, false, 0},
             Tiled{"bf16_from_awq_int4", "1x128", Packing::awq, true, true, 0.8},
             Tiled{"bf16_from_awq_int4", "unpacking alone", Packing::awq, true, false, 0},
             Tiled{"bf16_from_int4_affine", "1x128, unpacked", Packing::awq, false, true, 0},
         }) {
      if (!wants(tiled.name)) continue;
      fill(Codec::I4_LOW, in);
      Int4Tile tile{tiled.packing, tiled.unpacks, tiled.computes};
      row(tiled.name, tiled.shape, 4, tiled.goal, [&](size_t n) { tile.run(in.data(), n, out.data()); });
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  Bench bench;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json") {
      bench.json = true;
    } else {
      bench.wanted.push_back(argv[i]);
    }
  }
  if (bench.json) {
    std::printf("[");
  } else {
    std::printf("%-38s %-22s  %-18s  %-18s  goal\n", "kernel", "shape", "64 KiB (of widen.)", "64 MiB (of memcpy)");
  }
  bench.yardstick_row();
  bench.kernel_rows();
  bench.tiled_rows();
  if (bench.json) std::printf("]\n");
  return 0;
}
