#pragma once
// The sector-update circuit as one program for both builders. Included by update_circuit.cc and by
// tests.
//
// What a row refers to decides what can be kept once: a challenge refers to bits of its own of a
// digest, a node of the apex tree to children of its own; both are the ports of repeat().

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "filecoin/update_challenges.h"
#include "filecoin/update_shapes.h"
#include "gadget/merkle.h"

namespace cuzk::filecoin::update_circuit {

// The siblings of each step of a path; its places follow from the challenge.
template <class Fr>
using Siblings = std::vector<std::vector<Fr>>;

template <class Fr>
struct Challenge {
  Fr leaf_r_old, leaf_d_new;
  Siblings<Fr> path_r_old, path_r_new;
  Siblings<Fr> path_to_apex;  // the steps of tree D below the apex leaf
};

// What a partition's witness is computed from.
template <class Fr>
struct Partition {
  Fr k_and_h_select, comm_r_old, comm_d_new, comm_r_new;
  Fr comm_c, root_r_old, root_r_new;
  std::vector<Fr> apex_leafs;
  std::vector<Fr> partition_path;  // siblings from the partition's apex root to comm_d_new
  std::vector<Challenge<Fr>> challenges;
};

// The variables that all challenges share.
template <class CS>
struct Shared {
  using Num = typename CS::Num;
  using Bit = typename CS::Bit;
  std::vector<Bit> partition_bits, h_select_bits;
  Num partition, comm_r_new, phi, root_r_old, root_r_new;
  std::vector<Num> apex_leafs;
  std::vector<std::uint32_t> tree_arities;
};

template <class CS>
typename CS::Num randomness(CS& cs, const typename CS::Num& x, const typename CS::Num& y) {
  const auto& params = gadget::poseidon_params(2, gadget::PoseidonDomain::kRandomness);
  return gadget::poseidon<CS>(cs, params, std::array{x, y});
}

template <class CS>
std::vector<std::vector<typename CS::Num>> alloc_siblings(CS& cs,
                                                          std::span<const std::uint32_t> arities,
                                                          const Siblings<typename CS::Fr>* values) {
  std::vector<std::vector<typename CS::Num>> out(arities.size());
  for (std::size_t step = 0; step < arities.size(); ++step) {
    for (std::size_t i = 0; i + 1 < arities[step]; ++i) {
      out[step].push_back(cs.alloc(CS::value([&] { return (*values)[step][i]; })));
    }
  }
  return out;
}

// Constrains `leaf` to lie under `root` at the place that `bits` (lowest first) say.
template <class Tree, class CS>
void include_at(CS& cs, std::span<const typename CS::Bit> bits, const typename CS::Num& leaf,
                std::span<const std::vector<typename CS::Num>> siblings,
                const typename CS::Num& root) {
  typename CS::Num node = leaf;
  for (std::size_t step = 0; step < siblings.size(); ++step) {
    const auto named = cs.scope("step", step);
    const auto width = static_cast<std::size_t>(std::countr_zero(siblings[step].size() + 1));
    const auto children = gadget::insert<CS>(cs, node, siblings[step], bits.first(width));
    node = Tree::template hash<CS>(cs, children);
    bits = bits.subspan(width);
  }
  CUZK_CHECK(bits.empty());
  gadget::enforce_equal(cs, node, root);
}

// The root of the partition's apex tree, a level at a time.
template <class CS>
typename CS::Num apex_root(CS& cs, std::vector<typename CS::Num> level) {
  using Num = typename CS::Num;
  while (level.size() > 1) {
    const auto children = [&](std::uint32_t i) {
      const auto first = level.begin() + 2 * static_cast<std::ptrdiff_t>(i);
      return std::vector<Num>(first, first + 2);
    };
    level = cs.repeat(
        static_cast<std::uint32_t>(level.size() / 2), "apex node", children,
        [&](CS& own, std::uint32_t i) { return gadget::Sha256Tree::hash<CS>(own, children(i)); });
  }
  return level[0];
}

// Each challenge's bits below the partition's, lowest first: cut from digests of comm_r_new and a
// running number.
template <class CS>
std::vector<std::vector<typename CS::Bit>> challenge_bits(CS& cs, const UpdateShape& shape,
                                                          const Shared<CS>& shared) {
  using Fr = typename CS::Fr;
  const UpdateDigests digests = update_digests(shape);
  std::vector<std::vector<typename CS::Bit>> out;
  for (std::uint32_t j = 0; j < digests.per_partition; ++j) {
    const auto named = cs.scope("challenge digest", j);
    typename CS::Lin number;
    number.add(shared.partition, Fr::from_u64(digests.per_partition));
    number.add_constant(Fr::from_u64(j));
    const auto index = cs.alloc(number.value);
    cs.enforce([&](auto& a, auto& b, auto& c) {
      a.add(number);
      b.add_constant(Fr::one());
      c.add(index);
    });
    const auto digest = randomness(cs, shared.comm_r_new, index);
    const auto bits = cs.alloc_bits(digest.value, Fr::kBits);
    cs.enforce([&](auto& a, auto& b, auto& c) {
      for (std::size_t i = 0; i < bits.size(); ++i) {
        a.add(bits[i], gadget::power_of_two<Fr>(i));
      }
      b.add_constant(Fr::one());
      c.add(digest);
    });
    for (std::uint32_t i = 0; i < digests.challenges && out.size() < shape.challenges; ++i) {
      const auto first = bits.begin() + static_cast<std::ptrdiff_t>(i * digests.bits);
      out.emplace_back(first, first + digests.bits);
    }
  }
  return out;
}

// The highest bits of the challenged node, as many as the selected h, as a number.
template <class CS>
typename CS::Num selected_high_bits(CS& cs, const UpdateShape& shape, const Shared<CS>& shared,
                                    std::span<const typename CS::Bit> node_bits) {
  typename CS::Lin sum;
  for (std::size_t i = 0; i < shape.h_values.size(); ++i) {
    const auto high = gadget::pack_bits<CS>(cs, node_bits.last(shape.h_values[i]));
    const auto selected = cs.alloc(CS::value([&]() -> typename CS::Value {
      if constexpr (CS::kRecordsRows) {
        return {};
      } else {
        return shared.h_select_bits[i].value() ? high.value : CS::Fr::zero();
      }
    }));
    cs.enforce([&](auto& a, auto& b, auto& c) {
      a.add(high);
      b.add(shared.h_select_bits[i]);
      c.add(selected);
    });
    sum.add(selected);
  }
  const auto total = cs.alloc(sum.value);
  cs.enforce([&](auto& a, auto& b, auto& c) {
    a.add(sum);
    b.add_constant(CS::Fr::one());
    c.add(total);
  });
  return total;
}

template <class CS>
void synthesize_challenge(CS& cs, const UpdateShape& shape, const Shared<CS>& shared,
                          std::span<const typename CS::Bit> own_bits,
                          const Challenge<typename CS::Fr>* input) {
  using Bit = typename CS::Bit;
  std::vector<Bit> node_bits(own_bits.begin(), own_bits.end());
  node_bits.insert(node_bits.end(), shared.partition_bits.begin(), shared.partition_bits.end());
  const auto high = selected_high_bits<CS>(cs, shape, shared, node_bits);
  const auto rho = randomness(cs, shared.phi, high);
  const auto leaf_r_old = cs.alloc(CS::value([&] { return input->leaf_r_old; }));
  const auto leaf_d_new = cs.alloc(CS::value([&] { return input->leaf_d_new; }));
  const auto leaf_r_new = gadget::add(cs, leaf_r_old, gadget::multiply(cs, leaf_d_new, rho));

  const auto include_in_replica = [&](const char* name, const typename CS::Num& leaf,
                                      const Siblings<typename CS::Fr>* values,
                                      const typename CS::Num& root) {
    const auto named = cs.scope(name);
    const auto siblings = alloc_siblings(cs, shared.tree_arities, values);
    include_at<gadget::PoseidonTree, CS>(cs, node_bits, leaf, siblings, root);
  };
  include_in_replica("old replica inclusion", leaf_r_old, input ? &input->path_r_old : nullptr,
                     shared.root_r_old);
  include_in_replica("new replica inclusion", leaf_r_new, input ? &input->path_r_new : nullptr,
                     shared.root_r_new);

  const auto named = cs.scope("new data inclusion");
  const std::span<const Bit> bits(node_bits);
  const std::uint32_t below = shape.steps_below_apex();
  const auto apex_leaf =
      gadget::select<CS>(cs, shared.apex_leafs, bits.subspan(below, shape.apex_bits()));
  const std::vector<std::uint32_t> arities(below, 2);
  const auto siblings = alloc_siblings(cs, arities, input ? &input->path_to_apex : nullptr);
  include_at<gadget::Sha256Tree, CS>(cs, bits.first(below), leaf_d_new, siblings, apex_leaf);
}

// The partition's number and its choice of h, packed in one public input.
template <class CS>
void synthesize_selection(CS& cs, const UpdateShape& shape, Shared<CS>& shared,
                          const Partition<typename CS::Fr>* input) {
  const auto named = cs.scope("k and h");
  const auto packed = cs.alloc(CS::value([&] { return input->k_and_h_select; }));
  gadget::inputize(cs, packed);
  const std::size_t partition_bits = shape.partition_bits();
  const auto bits = cs.alloc_bits(packed.value, partition_bits + shape.h_values.size());
  gadget::enforce_packed<CS>(cs, bits, packed);
  const auto split = bits.begin() + static_cast<std::ptrdiff_t>(partition_bits);
  shared.partition_bits.assign(bits.begin(), split);
  shared.h_select_bits.assign(split, bits.end());
  shared.partition = gadget::pack_bits<CS>(cs, shared.partition_bits);
}

// `input` is null where the builder wants no values.
template <class CS>
void synthesize_update(CS& cs, const UpdateShape& shape, const Partition<typename CS::Fr>* input) {
  using Num = typename CS::Num;
  const auto private_number = [&](const auto& value) { return cs.alloc(CS::value(value)); };
  const auto public_number = [&](const auto& value) {
    const Num n = private_number(value);
    gadget::inputize(cs, n);
    return n;
  };
  Shared<CS> shared;
  shared.tree_arities = shape.path_arities();
  synthesize_selection(cs, shape, shared, input);
  const Num comm_r_old = public_number([&] { return input->comm_r_old; });
  const Num comm_d_new = public_number([&] { return input->comm_d_new; });
  shared.comm_r_new = public_number([&] { return input->comm_r_new; });
  shared.phi = randomness(cs, comm_d_new, comm_r_old);

  const Num comm_c = private_number([&] { return input->comm_c; });
  shared.root_r_old = private_number([&] { return input->root_r_old; });
  shared.root_r_new = private_number([&] { return input->root_r_new; });
  for (std::size_t i = 0; i < shape.apex_leafs; ++i) {
    shared.apex_leafs.push_back(private_number([&] { return input->apex_leafs[i]; }));
  }
  std::vector<std::vector<Num>> partition_path;
  for (std::size_t i = 0; i < shape.partition_bits(); ++i) {
    partition_path.push_back({private_number([&] { return input->partition_path[i]; })});
  }

  const auto enforce_commitment = [&](const char* name, const Num& root, const Num& comm_r) {
    const auto named = cs.scope(name);
    gadget::enforce_equal(cs, gadget::poseidon<CS>(cs, std::array{comm_c, root}), comm_r);
  };
  enforce_commitment("comm_r_old", shared.root_r_old, comm_r_old);
  enforce_commitment("comm_r_new", shared.root_r_new, shared.comm_r_new);
  {
    const Num root = apex_root(cs, shared.apex_leafs);
    const auto named = cs.scope("comm_d_new");
    include_at<gadget::Sha256Tree, CS>(cs, shared.partition_bits, root, partition_path, comm_d_new);
  }
  const auto bits = challenge_bits(cs, shape, shared);
  cs.repeat(
      shape.challenges, "challenge", [&](std::uint32_t i) { return bits[i]; },
      [&](CS& own, std::uint32_t i) {
        synthesize_challenge<CS>(own, shape, shared, bits[i],
                                 input ? &input->challenges[i] : nullptr);
      });
}

}  // namespace cuzk::filecoin::update_circuit
