#include "base/float_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/bytes.h"

namespace wb {
namespace {

constexpr int kDigitsMin = 6;
constexpr int kDigitsMax = 9;   // always round-trip
constexpr int kPlacesMax = 16;  // 24 bits of a float times 5^16, twice over, fit 64 bits

constexpr uint64_t power(uint64_t base, int exponent) {
  uint64_t product = 1;
  while (exponent-- > 0) product *= base;
  return product;
}

// number = mantissa * 2^exponent, both whole.
struct Parts {
  uint64_t mantissa;
  int exponent;
};

Parts parts_of(float number) {
  const auto bits = bit_cast<uint32_t>(number);
  return {(bits & 0x7FFFFF) | 0x800000, static_cast<int>(bits >> 23) - 150};
}

// mantissa * 2^exponent * 10^places = scaled / 2^shift: its nearest whole number (ties to even, as printf does), when
// that over 10^places reads back as the same float; else 0. Half the gap to the next float is 5^places / 2 in the same
// units, half of that below a power of two.
uint64_t reads_back(const Parts& parts, int places) {
  const uint64_t fives = power(5, places);
  const uint64_t scaled = parts.mantissa * fives;
  const int shift = -(parts.exponent + places);
  if (shift <= 0) return scaled << -shift;  // a whole number, exact
  const uint64_t below = scaled >> shift;
  const uint64_t rest = scaled - (below << shift);
  const uint64_t half = uint64_t{1} << (shift - 1);
  const bool up = rest > half || (rest == half && (below & 1) != 0);
  const uint64_t error = up ? (uint64_t{1} << shift) - rest : rest;
  const bool narrow = !up && parts.mantissa == 0x800000;
  // Never equal: powers of five are odd.
  return error * (narrow ? 4 : 2) < fives ? below + up : 0;
}

// "%g": `digits` digits of which the first stands for 10^exponent, without zeros at the end.
std::string general(uint64_t digits_value, int digits, int exponent) {
  char text[kDigitsMax + 1];
  for (int i = digits - 1; i >= 0; --i, digits_value /= 10) text[i] = static_cast<char>('0' + digits_value % 10);
  while (digits > 1 && text[digits - 1] == '0') --digits;
  const std::string_view all(text, static_cast<size_t>(digits));
  std::string out;
  if (exponent < -4) {
    out += all[0];
    if (digits > 1) out.append(1, '.').append(all.substr(1));
    out += exponent > -10 ? "e-0" : "e-";
    return out + std::to_string(-exponent);
  }
  if (exponent < 0) return out.append("0.").append(static_cast<size_t>(-exponent - 1), '0').append(all);
  const auto whole = static_cast<size_t>(exponent) + 1;
  out.append(all.substr(0, whole));
  if (all.size() < whole) return out.append(whole - all.size(), '0');
  return all.size() == whole ? out : out.append(1, '.').append(all.substr(whole));
}

// Of magnitudes from 1e-7 to 1e6, as scales and weights have them; nothing where 64 bits do not suffice.
std::string quickly(float magnitude) {
  constexpr std::array<double, 13> kPowers = {1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5};
  const auto above = std::upper_bound(kPowers.begin(), kPowers.end(), static_cast<double>(magnitude));
  const int exponent = static_cast<int>(above - kPowers.begin()) - 8;
  const Parts parts = parts_of(magnitude);
  for (int digits = kDigitsMin; digits <= kDigitsMax; ++digits) {
    const int places = digits - 1 - exponent;
    if (places > kPlacesMax) return {};
    const uint64_t rounded = reads_back(parts, places);
    if (rounded == 0) continue;
    const bool carried = rounded >= power(10, digits);
    return general(carried ? rounded / 10 : rounded, digits, exponent + carried);
  }
  return {};
}

}  // namespace

// libc++ 14 has no to_chars for floats, and its strtof computes in software quadruples: 10 us a number.
std::string float_text(float number) {
  const float magnitude = std::fabs(number);
  if (magnitude >= 1e-7f && magnitude < 1e6f) {
    std::string text = quickly(magnitude);
    if (!text.empty()) return number < 0 ? "-" + text : text;
  }
  char text[32];
  for (int digits = kDigitsMin; digits <= kDigitsMax; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(number));
    if (std::strtof(text, nullptr) == number) break;
  }
  return text;
}

}  // namespace wb
