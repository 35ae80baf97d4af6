#include "groth16/qap.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "field/batch_inverse.h"
#include "field/bls12_381.h"
#include "field/bn254.h"
#include "r1cs/rows.h"

namespace cuzk::groth16 {

namespace {

constexpr std::size_t kLagrangeGrain = std::size_t{1} << 12;
constexpr std::size_t kRowGrain = std::size_t{1} << 15;
constexpr std::uint32_t kOne = 0, kMinusOne = 1;  // dictionary entries

// The generator of the domain of 2^k points: generator^((r - 1) / 2^k).
template <class Fr>
Fr domain_generator(unsigned k, std::uint64_t generator) {
  auto exponent = Fr::kModulus;
  exponent[0] -= 1;
  for (unsigned i = 0; i < k; ++i) shift_right_in_place(exponent, 1);
  return Fr::from_u64(generator).pow(exponent);
}

template <class Fr>
Fr two_to_the(unsigned k) {
  return Fr::from_u64(2).pow(k);
}

// Columns that many tasks add to at once: locks of one byte, each for a stripe of variables.
class StripedLocks {
 public:
  StripedLocks() : flags_(std::make_unique<std::atomic_flag[]>(kStripes)) {}
  void lock(std::size_t variable) {
    while (flags_[stripe(variable)].test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock(std::size_t variable) { flags_[stripe(variable)].clear(std::memory_order_release); }

 private:
  static constexpr std::size_t kStripes = std::size_t{1} << 14;
  // Neighbours fall on different stripes: a task's own rows name neighbouring variables.
  static std::size_t stripe(std::size_t variable) { return variable % kStripes; }
  std::unique_ptr<std::atomic_flag[]> flags_;
};

// Adds coefficient * L_row to the column of each term of one matrix. Inputs are few and hot (the
// constant one is in most rows): every range of rows has its own sums for them.
template <class Fr>
void add_columns(Tasks& tasks, const CompactR1cs<Fr>& r1cs, std::span<const Fr> lagrange,
                 Matrix matrix, std::span<Fr> columns) {
  StripedLocks locks;
  std::mutex inputs_mutex;
  const std::span<Fr> aux = columns.subspan(r1cs.num_inputs);
  tasks.parallel_for(r1cs.num_rows, kRowGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<Fr> inputs(r1cs.num_inputs);
    for_each_row(
        r1cs, begin, end,
        [&](std::size_t row, const RowBlock& block, std::size_t i, const Segment& segment) {
          for (const Term& term : block.matrix(matrix).row(i)) {
            const ColumnRef column = r1cs.resolve(term.column, segment);
            Fr value = lagrange[row];
            if (term.coefficient == kMinusOne) {
              value = -value;
            } else if (term.coefficient != kOne) {
              value *= r1cs.dictionary[term.coefficient];
            }
            const std::uint32_t v = column.index();
            if (column.kind() == ColumnRef::kInput) {
              inputs[v] += value;
              continue;
            }
            locks.lock(v);
            aux[v] += value;
            locks.unlock(v);
          }
        });
    std::lock_guard lock(inputs_mutex);
    for (std::size_t i = 0; i < inputs.size(); ++i) columns[i] += inputs[i];
  });
}

template <class Fr>
Result<Buffer<Fr>> zeroed(Tasks& tasks, MemoryBudget& memory, std::string_view owner,
                          std::size_t count) {
  CUZK_TRY(auto buffer, Buffer<Fr>::allocate(memory, owner, count));
  tasks.parallel_for(count, kLagrangeGrain, [&](std::size_t begin, std::size_t end) {
    std::fill(buffer.begin() + begin, buffer.begin() + end, Fr::zero());
  });
  return buffer;
}

}  // namespace

template <class Fr>
Result<Buffer<Fr>> lagrange_at(Tasks& tasks, MemoryBudget& memory, unsigned domain_log2,
                               std::size_t count, const Fr& tau, std::uint64_t generator) {
  const Fr vanishing = tau.pow(std::uint64_t{1} << domain_log2) - Fr::one();
  if (vanishing.is_zero()) {
    return fail(ErrorCode::kInvalidArgument, "tau lies in the domain of 2^{} points", domain_log2);
  }
  const Fr omega = domain_generator<Fr>(domain_log2, generator);
  const Fr scale = vanishing * two_to_the<Fr>(domain_log2).inverse();
  CUZK_TRY(auto out, Buffer<Fr>::allocate(memory, "Lagrange coefficients", count));
  tasks.parallel_for(count, kLagrangeGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<Fr> powers(end - begin);
    Fr power = omega.pow(begin);
    for (std::size_t i = begin; i < end; ++i, power *= omega) {
      powers[i - begin] = power;
      out[i] = tau - power;
    }
    batch_inverse(std::span<Fr>(out.data() + begin, end - begin));
    for (std::size_t i = begin; i < end; ++i) out[i] *= powers[i - begin] * scale;
  });
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "stopped while setting up");
  return out;
}

template <class Fr>
Result<QapValues<Fr>> evaluate_qap(Tasks& tasks, MemoryBudget& memory, const CompactR1cs<Fr>& r1cs,
                                   const Fr& tau, std::uint64_t generator) {
  CUZK_TRY(const auto lagrange, lagrange_at(tasks, memory, r1cs.domain_log2(),
                                            r1cs.num_rows_with_inputs(), tau, generator));
  const std::size_t variables = std::size_t{r1cs.num_inputs} + r1cs.num_aux;
  QapValues<Fr> values;
  CUZK_TRY(values.a, zeroed<Fr>(tasks, memory, "A columns", variables));
  CUZK_TRY(values.b, zeroed<Fr>(tasks, memory, "B columns", variables));
  CUZK_TRY(values.c, zeroed<Fr>(tasks, memory, "C columns", variables));
  add_columns(tasks, r1cs, lagrange.span(), Matrix::kA, values.a.span());
  add_columns(tasks, r1cs, lagrange.span(), Matrix::kB, values.b.span());
  add_columns(tasks, r1cs, lagrange.span(), Matrix::kC, values.c.span());
  for (std::size_t i = 0; i < r1cs.num_inputs; ++i) values.a[i] += lagrange[r1cs.num_rows + i];
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "stopped while setting up");
  return values;
}

#define CUZK_INSTANTIATE(Fr)                                                                       \
  template Result<Buffer<Fr>> lagrange_at(Tasks&, MemoryBudget&, unsigned, std::size_t, const Fr&, \
                                          std::uint64_t);                                          \
  template Result<QapValues<Fr>> evaluate_qap(Tasks&, MemoryBudget&, const CompactR1cs<Fr>&,       \
                                              const Fr&, std::uint64_t);
CUZK_INSTANTIATE(bls12_381::Fr)
CUZK_INSTANTIATE(bn254::Fr)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
