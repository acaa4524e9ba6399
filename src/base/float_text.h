#pragma once

#include <string>

namespace wb {

/// The shortest of the texts that printf makes of this finite float ("%.6g" to "%.9g") that reads back as the same
/// float.
std::string float_text(float number);

}  // namespace wb
