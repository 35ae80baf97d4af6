#pragma once
// CUZK_CHECK(condition): an invariant of our own. A broken one throws InvariantError, which ends
// the job (the engine's edge turns it into ErrorCode::kInternal), not the process.

#include <stdexcept>

namespace cuzk {

struct InvariantError : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void invariant_broken(const char* condition, const char* file, int line);

}  // namespace cuzk

#define CUZK_CHECK(condition)             \
  (static_cast<bool>(condition) ? void(0) \
                                : ::cuzk::invariant_broken(#condition, __FILE__, __LINE__))
