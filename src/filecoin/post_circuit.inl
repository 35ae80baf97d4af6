#pragma once
// The circuit of proofs of spacetime as one program for both builders. Included by post_circuit.cc.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gadget/merkle.h"

namespace cuzk::filecoin::circuit {

template <class Fr>
struct PostOpening {
  Fr leaf;
  gadget::Path<Fr> path;
};

// What the witness of one place is computed from.
template <class Fr>
struct PostPlace {
  Fr comm_r, comm_c, comm_r_last;
  std::vector<PostOpening<Fr>> openings;
};

// One place: `input` is null where the builder wants no values.
template <class CS>
void synthesize_post_place(CS& cs, std::span<const std::uint32_t> arities, std::uint32_t challenges,
                           const PostPlace<typename CS::Fr>* input) {
  using Num = typename CS::Num;
  const Num comm_r_last = cs.alloc(CS::value([&] { return input->comm_r_last; }));
  const Num comm_c = cs.alloc(CS::value([&] { return input->comm_c; }));
  const Num comm_r = cs.alloc(CS::value([&] { return input->comm_r; }));
  gadget::inputize(cs, comm_r);
  {
    const auto named = cs.scope("comm_r");
    const Num hash = gadget::poseidon<CS>(cs, std::array<Num, 2>{comm_c, comm_r_last});
    gadget::enforce_equal(cs, comm_r, hash);
  }
  for (std::uint32_t i = 0; i < challenges; ++i) {
    const auto named = cs.scope("challenge", i);
    const auto* opening = input ? &input->openings[i] : nullptr;
    const Num leaf = cs.alloc(CS::value([&] { return opening->leaf; }));
    gadget::merkle_inclusion<gadget::PoseidonTree>(cs, leaf, arities,
                                                   opening ? &opening->path : nullptr, comm_r_last);
  }
}

// place(i): what place i is computed from; called at once from several threads. Its result lives
// until the place is done.
template <class CS, class Place>
void synthesize_post(CS& cs, std::span<const std::uint32_t> arities, std::uint32_t places,
                     std::uint32_t challenges, Place&& place) {
  cs.repeat(places, "sector", [&](CS& own, std::uint32_t i) {
    const auto input = place(i);
    synthesize_post_place<CS>(own, arities, challenges, input ? &*input : nullptr);
  });
}

}  // namespace cuzk::filecoin::circuit
