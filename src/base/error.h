#pragma once
// Errors as values. A code says what the caller may do next; the message is one sentence that names
// the file or field, what was expected and what was found.
//
// Threads: values, no shared state.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace cuzk {

enum class ErrorCode {
  kInvalidArgument,  // the request itself is wrong; retrying it unchanged cannot help
  kCorruptInput,     // bytes do not match their format
  kMismatch,         // well-formed inputs that do not belong together (statement, key, circuit)
  kUnsatisfied,      // the witness does not satisfy the circuit
  kInvalidProof,     // a proof was checked and does not verify
  kOutOfBudget,      // not enough memory in the budget; retry when load drops
  kDeviceLost,       // the device is fenced
  kCancelled,        // asked to stop
  kInsecureKey,      // a forgeable or locally made key where a real one is wanted
  kNotFound,         // a file or key that is needed is not there
  kIo,               // the operating system said no
  kInternal,         // self-verification or an invariant failed
};

std::string_view error_code_name(ErrorCode code);

struct [[nodiscard]] Error {
  ErrorCode code;
  std::string message;

  // The same error seen from further out: "context: message".
  Error in(std::string_view context) const {
    return {code, fmt::format("{}: {}", context, message)};
  }
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

template <class... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace cuzk

// CUZK_TRY(lhs, expression): assigns the value of a Result, or returns its error from this
// function. CUZK_TRY_VOID(expression): the same for a Status.
#define CUZK_CONCAT_INNER(a, b) a##b
#define CUZK_CONCAT(a, b) CUZK_CONCAT_INNER(a, b)
#define CUZK_TRY_INNER(tmp, lhs, expression)             \
  auto tmp = (expression);                               \
  if (!tmp) return ::cuzk::fail(std::move(tmp).error()); \
  lhs = std::move(tmp).value()
#define CUZK_TRY(lhs, expression) CUZK_TRY_INNER(CUZK_CONCAT(cuzk_try_, __LINE__), lhs, expression)
#define CUZK_TRY_VOID(expression)                          \
  do {                                                     \
    if (auto cuzk_status = (expression); !cuzk_status)     \
      return ::cuzk::fail(std::move(cuzk_status).error()); \
  } while (false)
