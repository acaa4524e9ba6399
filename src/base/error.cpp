#include "base/error.h"

namespace wb {

// No default: a code that is added to errc.inc and not handled cannot exist, both switches are made from it.
std::string_view errc_name(Errc code) {
  switch (code) {
#define WB_ERRC(name, meaning) \
  case Errc::name:             \
    return #name;
#include "base/errc.inc"
#undef WB_ERRC
  }
  return {};
}

std::string_view errc_meaning(Errc code) {
  switch (code) {
#define WB_ERRC(name, meaning) \
  case Errc::name:             \
    return meaning;
#include "base/errc.inc"
#undef WB_ERRC
  }
  return {};
}

}  // namespace wb
