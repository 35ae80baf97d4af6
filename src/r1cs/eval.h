#pragma once
// The products of the matrices with an assignment, and the check that they fit together.
//
// Threads: uses `tasks`; every task has ended when a call returns.

#include <optional>
#include <span>

#include "base/error.h"
#include "base/tasks.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/witness.h"

namespace cuzk {

// <M_i, z> for every row i, the appended input rows Input(i) * 0 = 0 included; what is left of
// `out` is zero.
//
// Shape:   out.size() >= r1cs.num_rows_with_inputs().
// Form:    Montgomery.
// Errors:  kMismatch when the witness has not the circuit's numbers of variables; kCancelled.
template <class Fr>
Status evaluate_matrix(Tasks& tasks, const CompactR1cs<Fr>& r1cs, const CompactWitness<Fr>& witness,
                       Matrix matrix, std::span<Fr> out);

// The first row in which <A_i, z> * <B_i, z> is not <C_i, z>; nothing when all hold. Keeps no
// vector.
//
// Errors:  kMismatch as above; kCancelled.
template <class Fr>
Result<std::optional<std::uint32_t>> first_unsatisfied_row(Tasks& tasks,
                                                           const CompactR1cs<Fr>& r1cs,
                                                           const CompactWitness<Fr>& witness);

// Holds when every row does.
//
// Errors:  kUnsatisfied names the first row that fails, the gadget it belongs to and its values;
//          kMismatch as above; kCancelled.
template <class Fr>
Status check_satisfied(Tasks& tasks, const CompactR1cs<Fr>& r1cs,
                       const CompactWitness<Fr>& witness);

// "porep > challenge 3 > label 2": the named ranges that hold `row`, outermost first.
template <class Fr>
std::string row_path(const CompactR1cs<Fr>& r1cs, std::uint32_t row);

}  // namespace cuzk
