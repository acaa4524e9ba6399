// Any text: json_scan() must give the same events as the library that it replaces.
#include <cstdint>
#include <cstdlib>

#include "base/utf8.h"
#include "oracle/json_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (wb::utf8_valid_prefix({data, size}) != size || !wb::oracle::comparable(text)) return 0;
  if (wb::oracle::scan_trace(text) != wb::oracle::library_trace(text)) std::abort();
  return 0;
}
