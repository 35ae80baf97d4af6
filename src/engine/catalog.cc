#include "engine/catalog.h"

#include <fmt/ranges.h>

#include "filecoin/porep_circuit.h"
#include "filecoin/post_circuit.h"
#include "filecoin/update_circuit.h"

namespace cuzk::engine {

namespace {

struct Kind {
  std::string_view name;
  Result<filecoin::CircuitSpec> (*find)(std::uint64_t sector_bytes);
};

Result<filecoin::CircuitSpec> find_porep(std::uint64_t sector_bytes) {
  CUZK_TRY(const filecoin::PorepShape shape, filecoin::porep_shape(sector_bytes));
  return filecoin::porep_circuit_spec(shape);
}

Result<filecoin::CircuitSpec> find_winning_post(std::uint64_t sector_bytes) {
  CUZK_TRY(const filecoin::PostShape shape, filecoin::winning_post_shape(sector_bytes));
  return filecoin::post_circuit_spec(shape);
}

Result<filecoin::CircuitSpec> find_window_post(std::uint64_t sector_bytes) {
  CUZK_TRY(const filecoin::PostShape shape, filecoin::window_post_shape(sector_bytes));
  return filecoin::post_circuit_spec(shape);
}

Result<filecoin::CircuitSpec> find_update(std::uint64_t sector_bytes) {
  CUZK_TRY(const filecoin::UpdateShape shape, filecoin::update_shape(sector_bytes));
  return filecoin::update_circuit_spec(shape);
}

// One line a kind.
constexpr Kind kKinds[] = {
    {"porep", find_porep},
    {"winning-post", find_winning_post},
    {"window-post", find_window_post},
    {"update", find_update},
};

// By what an identifier begins with; up to `small_sector` bytes of a sector the first bound counts.
// Seen, of the whole process: porep 2 KiB 128 MB, 512 MiB 178 MB, update 2 KiB 30 MB, window-post
// 32 GiB 50 MB, winning-post 10 MB; that is up to 1.8 of the rows (porep 32 GiB: 408 MB of rows).
struct CompileBound {
  std::string_view prefix;
  std::uint64_t small_sector;
  std::size_t small_bytes;
  std::size_t bytes;
};
constexpr std::size_t kMib = std::size_t{1} << 20;
constexpr CompileBound kCompileBounds[] = {
    {"porep-", std::uint64_t{512} << 20, 288 * kMib, 1280 * kMib},
    {"post-", std::uint64_t{512} << 20, 96 * kMib, 96 * kMib},
    {"update-", std::uint64_t{512} << 20, 288 * kMib, 1280 * kMib},
};

}  // namespace

std::size_t compile_bytes(const filecoin::CircuitSpec& spec) {
  for (const CompileBound& b : kCompileBounds) {
    if (!spec.identifier.starts_with(b.prefix)) continue;
    return spec.sector_bytes <= b.small_sector ? b.small_bytes : b.bytes;
  }
  return 0;
}

std::vector<std::string_view> proof_kinds() {
  std::vector<std::string_view> out;
  for (const Kind& kind : kKinds) out.push_back(kind.name);
  return out;
}

Result<filecoin::CircuitSpec> find_circuit(std::string_view kind, std::uint64_t sector_bytes) {
  for (const Kind& k : kKinds) {
    if (k.name == kind) return k.find(sector_bytes);
  }
  return fail(ErrorCode::kInvalidArgument, "no proof kind is called '{}': there are {}", kind,
              fmt::join(proof_kinds(), ", "));
}

}  // namespace cuzk::engine
