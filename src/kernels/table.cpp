// The kernel table: kernels.inc as data, and the choice of a row.
#include "kernels/kernel.h"

namespace wb::kernels {

// Declare every row's function...
#define WB_PARAMS_strip const uint8_t*, size_t, size_t, const float*, size_t, uint8_t*
#define WB_PARAMS_cast const uint8_t*, size_t, uint8_t*
#define WB_KERNEL(isa, shape, to, from, to_dtype, from_codec) \
  namespace isa {                                             \
  void shape##_##to##_from_##from(WB_PARAMS_##shape);         \
  }
#include "kernels/kernels.inc"
#undef WB_KERNEL

// ...then list them.
#define WB_SLOTS_strip(function) function, nullptr
#define WB_SLOTS_cast(function) nullptr, function
#define WB_KERNEL(isa, shape, to, from, to_dtype, from_codec)                              \
  {#to "_from_" #from "__" #shape "__" #isa, Codec::from_codec, Dtype::to_dtype, Isa::isa, \
   WB_SLOTS_##shape((isa::shape##_##to##_from_##from))},
static constexpr Kernel kKernels[] = {
#include "kernels/kernels.inc"
};
#undef WB_KERNEL

#undef WB_PARAMS_strip
#undef WB_PARAMS_cast
#undef WB_SLOTS_strip
#undef WB_SLOTS_cast

std::span<const Kernel> all_kernels() { return kKernels; }

const Kernel* find_strip(Codec from, Dtype to) {
  const Kernel* found = nullptr;
  for (const Kernel& kernel : kKernels) {
    if (kernel.strip && kernel.from == from && kernel.to == to) found = &kernel;  // the last is the fastest
  }
  return found;
}

const Kernel* find_cast(Dtype from, Dtype to) {
  const Kernel* found = nullptr;
  for (const Kernel& kernel : kKernels) {
    if (kernel.cast && kernel.from == codec_of(from) && kernel.to == to) found = &kernel;
  }
  return found;
}

}  // namespace wb::kernels
