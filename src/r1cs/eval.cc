#include "r1cs/eval.h"

#include <algorithm>
#include <atomic>

#include "base/bytes.h"
#include "field/bls12_381.h"
#include "field/bn254.h"
#include "r1cs/rows.h"

namespace cuzk {
namespace {

constexpr std::size_t kRowsPerTask = 1 << 14;

template <class Fr>
Status check_shape(const CompactR1cs<Fr>& r1cs, const CompactWitness<Fr>& witness) {
  if (witness.inputs.size() != r1cs.num_inputs || witness.num_aux() != r1cs.num_aux) {
    return fail(ErrorCode::kMismatch,
                "circuit {} has {} inputs and {} auxiliary variables, the witness {} and {}",
                r1cs.name, r1cs.num_inputs, r1cs.num_aux, witness.inputs.size(), witness.num_aux());
  }
  return {};
}

Status check_stop(const Tasks& tasks) {
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "asked to stop");
  return {};
}

// Canonical value in hexadecimal, most significant digit first.
template <class Fr>
std::string show(const Fr& v) {
  return "0x" + to_hex(v.to_bytes_be());
}

template <class Fr>
tl::unexpected<Error> unsatisfied(const CompactR1cs<Fr>& r1cs, const CompactWitness<Fr>& witness,
                                  std::size_t failing) {
  Fr values[3];
  for_each_row(r1cs, failing, failing + 1,
               [&](std::size_t, const RowBlock& block, std::size_t row, const Segment& segment) {
                 for (int m = 0; m < 3; ++m) {
                   values[m] = evaluate_row(r1cs, witness, block.matrices[m].row(row), segment);
                 }
               });
  return fail(ErrorCode::kUnsatisfied, "circuit {}: row {} ({}) does not hold: {} * {} is not {}",
              r1cs.name, failing, row_path(r1cs, static_cast<std::uint32_t>(failing)),
              show(values[0]), show(values[1]), show(values[2]));
}

}  // namespace

template <class Fr>
std::string row_path(const CompactR1cs<Fr>& r1cs, std::uint32_t row) {
  std::string path = r1cs.name;
  for (const PathRange& range : r1cs.paths) {
    if (range.first_row > row) break;
    if (row - range.first_row < range.num_rows) path += " > " + range.name;
  }
  return path;
}

template <class Fr>
Status evaluate_matrix(Tasks& tasks, const CompactR1cs<Fr>& r1cs, const CompactWitness<Fr>& witness,
                       Matrix matrix, std::span<Fr> out) {
  CUZK_CHECK(out.size() >= r1cs.num_rows_with_inputs());
  CUZK_TRY_VOID(check_shape(r1cs, witness));
  tasks.parallel_for(r1cs.num_rows, kRowsPerTask, [&](std::size_t begin, std::size_t end) {
    for_each_row(
        r1cs, begin, end,
        [&](std::size_t row, const RowBlock& block, std::size_t local, const Segment& segment) {
          out[row] = evaluate_row(r1cs, witness, block.matrix(matrix).row(local), segment);
        });
  });
  const auto tail = out.subspan(r1cs.num_rows);
  std::fill(tail.begin(), tail.end(), Fr::zero());
  if (matrix == Matrix::kA) std::copy(witness.inputs.begin(), witness.inputs.end(), tail.begin());
  return check_stop(tasks);
}

template <class Fr>
Result<std::optional<std::uint32_t>> first_unsatisfied_row(Tasks& tasks,
                                                           const CompactR1cs<Fr>& r1cs,
                                                           const CompactWitness<Fr>& witness) {
  CUZK_TRY_VOID(check_shape(r1cs, witness));
  const std::size_t none = r1cs.num_rows;
  std::atomic<std::size_t> first_failing{none};
  tasks.parallel_for(r1cs.num_rows, kRowsPerTask, [&](std::size_t begin, std::size_t end) {
    if (begin > first_failing.load(std::memory_order_relaxed)) return;
    std::size_t failing = none;
    for_each_row(
        r1cs, begin, end,
        [&](std::size_t row, const RowBlock& block, std::size_t local, const Segment& segment) {
          if (failing != none) return;
          const auto value = [&](Matrix m) {
            return evaluate_row(r1cs, witness, block.matrix(m).row(local), segment);
          };
          const Fr a = value(Matrix::kA), b = value(Matrix::kB);
          if (a * b != value(Matrix::kC)) failing = row;
        });
    std::size_t seen = first_failing.load();
    while (failing < seen && !first_failing.compare_exchange_weak(seen, failing)) {
    }
  });
  if (first_failing != none) return static_cast<std::uint32_t>(first_failing);
  CUZK_TRY_VOID(check_stop(tasks));
  return std::nullopt;
}

template <class Fr>
Status check_satisfied(Tasks& tasks, const CompactR1cs<Fr>& r1cs,
                       const CompactWitness<Fr>& witness) {
  CUZK_TRY(const auto row, first_unsatisfied_row(tasks, r1cs, witness));
  if (row) return unsatisfied(r1cs, witness, *row);
  return {};
}

#define CUZK_INSTANTIATE(Fr)                                                                 \
  template std::string row_path(const CompactR1cs<Fr>&, std::uint32_t);                      \
  template Status evaluate_matrix(Tasks&, const CompactR1cs<Fr>&, const CompactWitness<Fr>&, \
                                  Matrix, std::span<Fr>);                                    \
  template Result<std::optional<std::uint32_t>> first_unsatisfied_row(                       \
      Tasks&, const CompactR1cs<Fr>&, const CompactWitness<Fr>&);                            \
  template Status check_satisfied(Tasks&, const CompactR1cs<Fr>&, const CompactWitness<Fr>&);
CUZK_INSTANTIATE(bls12_381::Fr)
CUZK_INSTANTIATE(bn254::Fr)
#undef CUZK_INSTANTIATE

}  // namespace cuzk
