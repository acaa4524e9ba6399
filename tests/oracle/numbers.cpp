#include "oracle/numbers.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace wb::oracle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A binary floating-point format with a sign bit, as its definition states it.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool ieee_specials;  ///< the top exponent is Inf or NaN
};

Format format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::F8_E4M3: return {4, 3, 7, false};
    case Dtype::F8_E5M2: return {5, 2, 15, true};
    case Dtype::F8_E4M3FNUZ: return {4, 3, 8, false};
    case Dtype::F8_E5M2FNUZ: return {5, 2, 16, false};
    case Dtype::F16: return {5, 10, 15, true};
    case Dtype::BF16: return {8, 7, 127, true};
    case Dtype::F32: return {8, 23, 127, true};
    default: return {11, 52, 1023, true};  // F64
  }
}

uint64_t field(uint64_t bits, int low, int count) { return (bits >> low) % (uint64_t{1} << count); }

}  // namespace

double value_of(Dtype dtype, uint64_t bits) {
  if (dtype == Dtype::F8_E8M0) return bits == 255 ? kNan : std::ldexp(1.0, static_cast<int>(bits) - 127);
  const Format format = format_of(dtype);
  const uint64_t mantissa = field(bits, 0, format.mantissa_bits);
  const int exponent = static_cast<int>(field(bits, format.mantissa_bits, format.exponent_bits));
  const bool negative = field(bits, format.mantissa_bits + format.exponent_bits, 1) == 1;
  const int top_exponent = (1 << format.exponent_bits) - 1;
  if (dtype == Dtype::F8_E4M3 && (bits == 0x7F || bits == 0xFF)) return kNan;
  if ((dtype == Dtype::F8_E4M3FNUZ || dtype == Dtype::F8_E5M2FNUZ) && bits == 0x80) return kNan;
  if (format.ieee_specials && exponent == top_exponent) return mantissa != 0 ? kNan : negative ? -kInf : kInf;
  const double hidden = exponent > 0 ? std::ldexp(1.0, format.mantissa_bits) : 0.0;
  const int power = std::max(exponent, 1) - format.bias - format.mantissa_bits;
  const double magnitude = std::ldexp(hidden + static_cast<double>(mantissa), power);
  return negative ? -magnitude : magnitude;
}

uint32_t nearest(Dtype to, double value) {
  const Format format = format_of(to);
  const int total_bits = 1 + format.exponent_bits + format.mantissa_bits;
  const uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
  if (std::isnan(value)) return infinity | 1u << (format.mantissa_bits - 1);
  const uint32_t sign = std::signbit(value) ? 1u << (total_bits - 1) : 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | infinity;
  if (magnitude == 0) return sign;

  // The value in units of the last place that the format has at this size, rounded to a whole number.
  const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  const int unit = exponent - format.mantissa_bits;
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -unit)));
  const uint32_t hidden = 1u << format.mantissa_bits;
  if (units < hidden) return sign | units;  // subnormal or zero
  const int carried = units == 2 * hidden ? 1 : 0;
  const uint32_t mantissa = carried ? 0 : units - hidden;
  const int biased = exponent + carried + format.bias;
  if (biased >= (1 << format.exponent_bits) - 1) return sign | infinity;
  return sign | static_cast<uint32_t>(biased) << format.mantissa_bits | mantissa;
}

/// code * scale as float32 multiplies: exact in double (at most 4 + 24 significant bits), rounded once.
static double product(Dtype from, uint64_t bits, float scale) {
  const double exact = value_of(from, bits) * static_cast<double>(scale);
  return value_of(Dtype::F32, nearest(Dtype::F32, exact));
}

uint16_t dequantized(Dtype from, Dtype to, uint8_t code, float scale) {
  return static_cast<uint16_t>(nearest(to, product(from, code, scale)));
}

std::vector<uint16_t> dequantized_codes(Dtype from, Dtype to, float scale) {
  std::vector<uint16_t> results;
  for (int code = 0; code < 256; ++code) results.push_back(dequantized(from, to, static_cast<uint8_t>(code), scale));
  return results;
}

Lost lost_in_f16(Dtype from, uint64_t bits, float scale) {
  const double value = value_of(from, bits);
  if (!std::isfinite(value) || !std::isfinite(scale) || value == 0 || scale == 0) return Lost::no;
  const double rounded_once = is_fp8_payload(from) ? product(from, bits, scale) : value;
  const double result = value_of(Dtype::F16, nearest(Dtype::F16, rounded_once));
  return std::isinf(result) ? Lost::overflow : result == 0 ? Lost::underflow : Lost::no;
}

}  // namespace wb::oracle
