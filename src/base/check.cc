#include "base/check.h"

#include <fmt/format.h>

namespace cuzk {

void invariant_broken(const char* condition, const char* file, int line) {
  throw InvariantError(fmt::format("{}:{}: invariant broken: {}", file, line, condition));
}

}  // namespace cuzk
