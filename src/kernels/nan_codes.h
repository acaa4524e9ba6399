#pragma once

#include <cstddef>
#include <cstdint>

#include "dtype/codec.h"

namespace wb::kernels {

/// How many of `n` codes of one byte mean NaN; the rule of each format stands in dtypes.inc. 0 for codes that have
/// none.
uint64_t count_nan_codes(Codec codec, const uint8_t* codes, size_t n);

}  // namespace wb::kernels
