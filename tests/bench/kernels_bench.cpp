// GB/s (input + output bytes) of every kernel row, in cache and streaming, beside two yardsticks: memcpy
// of the output and a loop that only widens bytes. The 10th percentile of the times is shown: the machine
// when nothing disturbs it. Arguments: parts of kernel names; none means all.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

#include "base/bytes.h"
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

/// Nanoseconds of one call: samples of about half a millisecond, after a warm-up that lets V8 optimise.
double time_ns(const std::function<void()>& call) {
  const double warm_until = now_ns() + 60e6;
  do call();
  while (now_ns() < warm_until);
  const double one = [&] {
    const double start = now_ns();
    call();
    return now_ns() - start;
  }();
  const int calls = std::max(1, static_cast<int>(0.5e6 / std::max(one, 100.0)));
  std::vector<double> times(calls > 1 ? 61 : 11);
  for (double& time : times) {
    const double start = now_ns();
    for (int i = 0; i < calls; ++i) call();
    time = (now_ns() - start) / calls;
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 10];
}

/// Weights as a checkpoint has them: Gaussian, the largest near the format's maximum, no NaN.
void fill(Dtype from, std::vector<uint8_t>& bytes) {
  std::mt19937 random(1);
  std::normal_distribution<float> gauss(0.0f,
                                        is_fp8_payload(from) ? codec_info(codec_of(from)).max_finite / 4.5f : 0.02f);
  std::vector<uint8_t> some(kCacheBytes);
  const size_t element = dtype_info(from).bits / 8;
  std::vector<float> magnitudes;
  const auto decode = from == Dtype::F8_E4M3       ? f32_from_f8_e4m3
                      : from == Dtype::F8_E5M2     ? f32_from_f8_e5m2
                      : from == Dtype::F8_E4M3FNUZ ? f32_from_f8_e4m3fnuz
                                                   : f32_from_f8_e5m2fnuz;
  for (int code = 0; code < 128 && decode(static_cast<uint8_t>(code)) <= codec_info(codec_of(from)).max_finite;
       ++code) {
    magnitudes.push_back(decode(static_cast<uint8_t>(code)));
  }
  for (size_t at = 0; at < some.size(); at += element) {
    const float value = gauss(random);
    const auto above = std::upper_bound(magnitudes.begin(), magnitudes.end(), std::fabs(value));
    switch (from) {
      case Dtype::F32: store_le(&some[at], value); break;
      case Dtype::F64: store_le(&some[at], static_cast<double>(value)); break;
      case Dtype::F16: store_le(&some[at], f16_from_f32(value)); break;
      case Dtype::BF16: store_le(&some[at], bf16_from_f32(value)); break;
      default: some[at] = static_cast<uint8_t>((above - magnitudes.begin() - 1) | (value < 0 ? 0x80 : 0));
    }
  }
  for (size_t at = 0; at < bytes.size(); at += some.size()) std::memcpy(&bytes[at], some.data(), some.size());
}

struct Shape {
  const char* name;
  size_t rows;
  size_t group_cols;  ///< 0: one group
};
constexpr Shape kShapes[] = {{"per tensor", 1, 0}, {"128x128", 128, 128}, {"1x128", 1, 128}, {"1x32", 1, 32}};
constexpr Shape kCast[] = {{"cast", 1, 0}};

/// Runs one kernel over n elements; blocks go in strips of 128 rows and at most 4096 columns.
void run(const Kernel& kernel, const Shape& shape, const std::vector<float>& scales, const uint8_t* in, size_t n,
         uint8_t* out) {
  if (kernel.cast) return kernel.cast(in, n, out);
  const size_t strip = shape.rows == 1 ? n : std::min<size_t>(n, size_t{128} * 4096);
  const size_t cols = strip / shape.rows;
  for (size_t at = 0; at < n; at += strip) {
    kernel.strip(in + at, shape.rows, cols, scales.data(), shape.group_cols ? shape.group_cols : cols, out + 2 * at);
  }
}

void widen_bytes(const uint8_t* in, size_t n, uint8_t* out) {
  for (size_t i = 0; i < n; ++i) store_le<uint16_t>(out + 2 * i, in[i]);
}

struct Rate {
  double gb_per_s;
  double memcpy_ratio;
};

Rate measure(size_t in_bytes, size_t out_bytes, uint8_t* out, const uint8_t* other, const std::function<void()>& call) {
  const double kernel_ns = time_ns(call);
  const double copy_ns = time_ns([&] { std::memcpy(out, other, out_bytes); });
  return {static_cast<double>(in_bytes + out_bytes) / kernel_ns, copy_ns / kernel_ns};
}

bool wanted(std::string_view name, int argc, char** argv) {
  bool any = argc == 1;
  for (int i = 1; i < argc; ++i) any = any || name.find(argv[i]) != std::string_view::npos;
  return any;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<uint8_t> in(kStreamBytes);
  std::vector<uint8_t> out(2 * kStreamBytes);
  std::vector<uint8_t> other(2 * kStreamBytes);
  std::vector<float> scales(kStreamBytes / 32);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = 3e-4f + 1e-9f * static_cast<float>(i % 1000);

  std::printf("%-40s %-11s %22s %22s\n", "kernel", "shape", "64 KiB in", "64 MiB in");
  const auto row = [&](std::string_view name, const char* shape, size_t element, const auto& call) {
    std::printf("%-40.*s %-11s", static_cast<int>(name.size()), name.data(), shape);
    for (const size_t bytes : {kCacheBytes, kStreamBytes}) {
      const size_t n = bytes / element;
      const Rate rate = measure(bytes, 2 * n, out.data(), other.data(), [&] { call(n); });
      std::printf("  %6.1f GB/s (%4.2f mc)", rate.gb_per_s, rate.memcpy_ratio);
      std::fflush(stdout);
    }
    std::printf("\n");
  };

  row("yardstick: widening copy", "", 1, [&](size_t n) { widen_bytes(in.data(), n, out.data()); });
  for (const Kernel& kernel : all_kernels()) {
    if (!wanted(kernel.name, argc, argv)) continue;
    const uint32_t bits = codec_info(kernel.from).bits;
    if (bits < 8) continue;
    fill(is_wire_dtype(kernel.from) ? dtype_of(kernel.from) : Dtype::I8, in);
    const size_t element = bits / 8;
    for (const Shape& shape : kernel.strip ? std::span<const Shape>(kShapes) : std::span<const Shape>(kCast)) {
      row(kernel.name, shape.name, element, [&](size_t n) { run(kernel, shape, scales, in.data(), n, out.data()); });
    }
  }
  return 0;
}
