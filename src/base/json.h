// JSON: one parser of whole small documents (configs, options), compiled once. Headers and indexes go through SAX.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/bytes.h"

namespace wb {

using Json = nlohmann::json;

/// Discarded (is_discarded()) when `text` is no JSON.
Json parse_json(std::string_view text);
Json parse_json(ByteView text);

}  // namespace wb
