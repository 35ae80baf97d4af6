#include "daemon/kinds.h"

namespace cuzk::daemon {

std::string_view status_kind_name(engine::ProofKind kind) {
  switch (kind) {
    case engine::ProofKind::kPorep:
      return "porep-c2";
    case engine::ProofKind::kUpdate:
      return "snap-update";
    case engine::ProofKind::kWindowPost:
      return "window-post";
    case engine::ProofKind::kWinningPost:
      return "winning-post";
    case engine::ProofKind::kCircom:
      return "circom";
  }
  return "unknown";
}

std::string metric_kind_name(engine::ProofKind kind) {
  std::string out(status_kind_name(kind));
  for (char& c : out) c = c == '-' ? '_' : c;
  return out;
}

}  // namespace cuzk::daemon
