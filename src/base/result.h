// Result<T>: a value or an Error. The core is built with -fno-exceptions; nothing here throws.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "base/error.h"

namespace wb {

template <class T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

inline tl::unexpected<Error> fail(Errc code, std::string where, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(where), std::move(message)});
}

#define WB_CONCAT_INNER(a, b) a##b
#define WB_CONCAT(a, b) WB_CONCAT_INNER(a, b)

/// WB_TRY(auto x, expr): x is the value of the Result, or the caller returns its Error.
#define WB_TRY(declaration, expression)                                                     \
  auto WB_CONCAT(wb_result_, __LINE__) = (expression);                                      \
  if (!WB_CONCAT(wb_result_, __LINE__))                                                     \
    return tl::unexpected<::wb::Error>(std::move(WB_CONCAT(wb_result_, __LINE__).error())); \
  declaration = std::move(*WB_CONCAT(wb_result_, __LINE__))

/// WB_CHECK(expr): the same for a Status, which carries no value.
#define WB_CHECK(expression)                                                          \
  do {                                                                                \
    auto wb_status = (expression);                                                    \
    if (!wb_status) return tl::unexpected<::wb::Error>(std::move(wb_status.error())); \
  } while (false)

}  // namespace wb
