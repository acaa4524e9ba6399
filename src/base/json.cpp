#include "base/json.h"

namespace wb {

Json parse_json(std::string_view text) {
  return Json::parse(text.data(), text.data() + text.size(), nullptr, /*allow_exceptions=*/false);
}

Json parse_json(ByteView text) {
  return parse_json(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
}

}  // namespace wb
