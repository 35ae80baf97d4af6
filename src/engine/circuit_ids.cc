// Circuit ids as Curio's clients spell them.

#include <fmt/ranges.h>

#include "engine/catalog.h"
#include "engine/service.h"

namespace cuzk::engine {

namespace {

struct IdPrefix {
  std::string_view prefix;  // as Curio's clients spell it
  std::string_view kind;    // as catalog.h does
};
constexpr IdPrefix kIdPrefixes[] = {
    {"porep", "porep"}, {"wpost", "window-post"}, {"winning", "winning-post"}, {"snap", "update"}};
struct IdSize {
  std::string_view suffix;
  std::uint64_t bytes;
};
constexpr IdSize kIdSizes[] = {{"2k", std::uint64_t{2} << 10},
                               {"8m", std::uint64_t{8} << 20},
                               {"512m", std::uint64_t{512} << 20},
                               {"32g", std::uint64_t{32} << 30},
                               {"64g", std::uint64_t{64} << 30}};

}  // namespace

std::vector<std::string> circuit_ids() {
  std::vector<std::string> out;
  for (const IdPrefix& p : kIdPrefixes) {
    for (const IdSize& s : kIdSizes) {
      if (find_circuit(p.kind, s.bytes)) out.push_back(fmt::format("{}-{}", p.prefix, s.suffix));
    }
  }
  return out;
}

Result<filecoin::CircuitSpec> find_circuit_id(std::string_view id) {
  for (const IdPrefix& p : kIdPrefixes) {
    for (const IdSize& s : kIdSizes) {
      if (id == fmt::format("{}-{}", p.prefix, s.suffix)) return find_circuit(p.kind, s.bytes);
    }
  }
  return fail(ErrorCode::kInvalidArgument, "unknown circuit ID: {} (there are {})", id,
              fmt::join(circuit_ids(), ", "));
}

}  // namespace cuzk::engine
