#include "filecoin/update_challenges.h"

#include <array>

#include "base/check.h"
#include "gadget/poseidon_hash.h"

namespace cuzk::filecoin {
namespace {

Fr randomness(const Fr& x, const Fr& y) {
  return gadget::poseidon_hash(gadget::poseidon_params(2, gadget::PoseidonDomain::kRandomness),
                               std::array{x, y});
}

}  // namespace

UpdateDigests update_digests(const UpdateShape& shape) {
  constexpr std::uint32_t kCapacity = Fr::kBits - 1;
  UpdateDigests out;
  out.bits = shape.node_bits() - shape.partition_bits();
  out.challenges = kCapacity / out.bits;
  out.per_partition = (shape.challenges + out.challenges - 1) / out.challenges;
  return out;
}

std::vector<std::uint32_t> update_challenges(const UpdateShape& shape, const Fr& comm_r_new,
                                             std::uint32_t partition) {
  CUZK_CHECK(partition < shape.partitions);
  const UpdateDigests digests = update_digests(shape);
  std::vector<std::uint32_t> out;
  for (std::uint32_t j = 0; j < digests.per_partition; ++j) {
    const std::uint64_t number = std::uint64_t{partition} * digests.per_partition + j;
    const auto limbs = randomness(comm_r_new, Fr::from_u64(number)).to_scalar().limbs;
    for (std::uint32_t i = 0; i < digests.challenges && out.size() < shape.challenges; ++i) {
      std::uint32_t node = partition << digests.bits;
      for (std::uint32_t b = 0; b < digests.bits; ++b) {
        const std::uint32_t place = i * digests.bits + b;
        node |= static_cast<std::uint32_t>(limbs[place / 64] >> (place % 64) & 1) << b;
      }
      out.push_back(node);
    }
  }
  return out;
}

Fr update_phi(const Fr& comm_d_new, const Fr& comm_r_old) {
  return randomness(comm_d_new, comm_r_old);
}

Fr update_rho(const Fr& phi, std::uint64_t high) { return randomness(phi, Fr::from_u64(high)); }

}  // namespace cuzk::filecoin
