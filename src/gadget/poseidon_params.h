#pragma once
// Parameters of the Poseidon hash as Filecoin uses it over the scalar field of BLS12-381.
//
// Everything here is computed from the arity alone at first use (some tens of milliseconds for the
// widest one) and kept for the life of the process.
//
// Form:    Montgomery elements; matrices are row-major and act on row vectors: new = old * M.
// Threads: poseidon_params may be called from any thread; what it returns never changes.
// Source:  Grassi, Khovratovich, Rechberger, Roy, Schofnegger 2019, appendices B and F (Grain
//          LFSR); the factored partial rounds are those of neptune 11.0.0, the library whose
//          circuit the Filecoin parameters were made for.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "field/bls12_381.h"

namespace cuzk::gadget {

// What goes into element 0 of the state, so that uses with one arity cannot be confused.
enum class PoseidonDomain {
  kMerkleTree,  // 2^arity - 1: tree nodes, columns, comm_r
  kRandomness,  // 2^40: phi, rho and challenge digests of sector updates
};

// A matrix that is the identity but for its first column and the rest of its first row:
// new[0] = <old, w_hat>; new[j] = old[j] + v_rest[j - 1] * old[0].
struct PoseidonSparseMatrix {
  std::vector<bls12_381::Fr> w_hat;   // width
  std::vector<bls12_381::Fr> v_rest;  // width - 1
};

struct PoseidonParams {
  std::size_t arity = 0;
  std::size_t width = 0;           // arity + 1
  std::size_t full_rounds = 0;     // 8, half before the partial ones and half after
  std::size_t partial_rounds = 0;  // one S-box each
  bls12_381::Fr domain_tag;

  // The definition: width constants for each round, and one dense matrix.
  std::vector<bls12_381::Fr> round_constants;  // (full + partial) * width
  std::vector<bls12_381::Fr> mds;              // width * width

  // The same permutation with fewer multiplications. Constants in the order of use: width added
  // before the first round; then, after the S-boxes, width for each full round and one for each
  // partial round, none in the last round.
  std::vector<bls12_381::Fr> compressed_round_constants;
  std::vector<bls12_381::Fr> pre_sparse;  // width * width: the last full round before the partial
  std::vector<PoseidonSparseMatrix> sparse;  // one for each partial round

  std::size_t half_full_rounds() const { return full_rounds / 2; }
};

// Arities 2, 4, 8, 11 and 16; any other breaks an invariant (InvariantError).
const PoseidonParams& poseidon_params(std::size_t arity,
                                      PoseidonDomain domain = PoseidonDomain::kMerkleTree);

}  // namespace cuzk::gadget
