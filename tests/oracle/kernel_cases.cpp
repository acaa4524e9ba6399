#include "oracle/kernel_cases.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

namespace wb::oracle {

uint32_t Random::bits() {  // SplitMix64, upper half
  state_ += 0x9E3779B97F4A7C15;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
}

static float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::vector<float> tricky_scales() {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> scales = {0.0f,
                               -0.0f,
                               kInf,
                               -kInf,
                               1.0f,
                               -1.0f,
                               float_of(0x7FC00000),
                               float_of(0xFFC00000),
                               float_of(0x7F800001),
                               float_of(0x00000001),
                               float_of(0x80000001),
                               float_of(0x007FFFFF),
                               float_of(0x00400000),
                               float_of(0x7F7FFFFF),
                               float_of(0xFF7FFFFF),
                               float_of(0x3C4985F0),
                               1.0f / 448,
                               1.0f / 57344,
                               1.0f / 240,
                               200.0f,
                               146.25f,
                               65520.0f / 448,
                               65520.0f,
                               float_of(0x477FEFFF),
                               0x1p-25f,
                               float_of(0x33000001),
                               -65520.0f / 448};
  for (uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (const uint32_t step : {0u, 1u, 2u}) {  // one below the power of two, itself, one above
      if (exponent == 0 && step == 0) continue;
      scales.push_back(float_of((exponent << 23) - 1 + step));
    }
    scales.push_back(float_of(0x80000000 | exponent << 23 | 0x2AAAAA));
    scales.push_back(float_of(exponent << 23 | 0x7FFFFF));
  }
  for (const float largest : {448.0f, 57344.0f, 240.0f}) {  // where the largest code begins to overflow
    for (const float overflow : {65520.0f, 0x1.FFp127f}) {
      for (int step = -2; step <= 2; ++step) {
        const float border = overflow / largest;
        uint32_t bits;
        std::memcpy(&bits, &border, sizeof bits);
        scales.push_back(float_of(bits + step));
      }
    }
  }
  Random random(1);
  // A code times 1.5, 1.25... of these lands on a tie or next to it: bf16 drops 16 bits, f16 13 or more.
  for (int i = 0; i < 1200; ++i) {
    const int dropped = i % 2 ? 16 : 13 + static_cast<int>(random.below(10));
    const uint32_t exponent = i % 3 ? 90 + random.below(45) : random.below(255);
    const uint32_t kept = random.below(1u << 23) >> dropped << dropped;
    const uint32_t odd_divisor = 1 + 2 * random.below(8);  // the significand of some code
    const uint32_t tie = kept | 1u << (dropped - 1);
    const double significand = std::ldexp(static_cast<double>(tie | 0x800000), -23) / odd_divisor;
    const float base = static_cast<float>(std::ldexp(significand, static_cast<int>(exponent) - 127));
    uint32_t bits;
    std::memcpy(&bits, &base, sizeof bits);
    scales.push_back(float_of(bits + i % 5 - 2));
  }
  for (int i = 0; i < 800; ++i) scales.push_back(float_of((98 + random.below(30)) << 23 | random.below(1u << 23)));
  for (int i = 0; i < 1200; ++i) scales.push_back(float_of(random.bits()));
  return scales;
}

namespace {

constexpr size_t kGuardBytes = 48;
constexpr uint8_t kGuard = 0xA5;

/// Exactly `size` bytes at an address that is `offset` past an aligned one, so that the sanitizer sees
/// every access beyond them.
struct Placed {
  std::unique_ptr<uint8_t[]> bytes;
  uint8_t* data;
  Placed(size_t size, size_t offset) : bytes(new uint8_t[size + offset]), data(bytes.get() + offset) {}
};

std::string describe(size_t index, const std::vector<uint16_t>& expected, const uint8_t* actual) {
  uint16_t got;
  std::memcpy(&got, actual + 2 * index, sizeof got);
  char line[96];
  std::snprintf(line, sizeof line, "element %zu: expected %04X, got %04X", index, expected[index], got);
  return line;
}

/// Calls run(out) and checks what it wrote.
template <class Run>
std::string output_difference(const std::vector<uint16_t>& expected, size_t out_offset, Run run) {
  const size_t bytes = 2 * expected.size();
  Placed out(bytes + 2 * kGuardBytes, out_offset);
  std::memset(out.data, kGuard, bytes + 2 * kGuardBytes);
  uint8_t* results = out.data + kGuardBytes;
  run(results);
  for (size_t i = 0; i < kGuardBytes; ++i) {
    if (out.data[i] != kGuard) return "wrote " + std::to_string(kGuardBytes - i) + " bytes before the output";
    if (results[bytes + i] != kGuard) return "wrote at byte " + std::to_string(i) + " past the output";
  }
  if (bytes == 0 || std::memcmp(results, expected.data(), bytes) == 0) return {};
  size_t index = 0;
  while (std::memcmp(results + 2 * index, &expected[index], 2) == 0) ++index;
  return describe(index, expected, results);
}

}  // namespace

std::string strip_difference(const kernels::Kernel& kernel, const Strip& strip, const std::vector<uint8_t>& codes,
                             const std::vector<float>& scales, const std::vector<uint16_t>& expected) {
  Placed in(codes.size(), strip.in_offset);
  if (!codes.empty()) std::memcpy(in.data, codes.data(), codes.size());
  const std::unique_ptr<float[]> own_scales(new float[scales.size()]);
  for (size_t i = 0; i < scales.size(); ++i) own_scales[i] = scales[i];
  return output_difference(expected, strip.out_offset, [&](uint8_t* out) {
    kernel.strip(in.data, strip.rows, strip.cols, own_scales.get(), strip.group_cols, out);
  });
}

std::string cast_difference(const kernels::Kernel& kernel, const std::vector<uint8_t>& in, size_t n,
                            const std::vector<uint16_t>& expected, size_t in_offset, size_t out_offset) {
  Placed own(in.size(), in_offset);
  if (!in.empty()) std::memcpy(own.data, in.data(), in.size());
  return output_difference(expected, out_offset, [&](uint8_t* out) { kernel.cast(own.data, n, out); });
}

}  // namespace wb::oracle
