#include "kernels/nan_codes.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace wb::kernels {
namespace {

// NaN is every code with ((code ^ flip) & mask) > above.
struct NanRule {
  Codec codec;
  uint8_t flip;
  uint8_t mask;
  uint8_t above;
};
constexpr NanRule kNanRules[] = {
    {Codec::F8_E4M3, 0, 0x7F, 0x7E},         // S.1111.111
    {Codec::F8_E5M2, 0, 0x7F, 0x7C},         // S.11111.01, .10, .11; .00 is infinity
    {Codec::F8_E4M3FNUZ, 0x7F, 0xFF, 0xFE},  // 0x80 alone
    {Codec::F8_E5M2FNUZ, 0x7F, 0xFF, 0xFE},  // 0x80 alone
};

using Lanes [[gnu::vector_size(16)]] = uint8_t;
constexpr size_t kLanes = sizeof(Lanes);
constexpr size_t kRounds = 255;  // what a lane can count

}  // namespace

// Sixteen counters of a byte each, emptied before one can run over.
uint64_t count_nan_codes(Codec codec, const uint8_t* codes, size_t n) {
  const auto rule = std::find_if(std::begin(kNanRules), std::end(kNanRules),
                                 [codec](const NanRule& row) { return row.codec == codec; });
  if (rule == std::end(kNanRules)) return 0;
  uint64_t count = 0;
  size_t at = 0;
  while (n - at >= kLanes) {
    Lanes lanes{};
    for (size_t left = std::min(kRounds, (n - at) / kLanes); left > 0; --left, at += kLanes) {
      Lanes some;
      std::memcpy(&some, codes + at, kLanes);
      lanes -= static_cast<Lanes>(((some ^ rule->flip) & rule->mask) > rule->above);  // true is -1
    }
    for (size_t lane = 0; lane < kLanes; ++lane) count += lanes[lane];
  }
  for (; at < n; ++at) count += ((codes[at] ^ rule->flip) & rule->mask) > rule->above;
  return count;
}

}  // namespace wb::kernels
