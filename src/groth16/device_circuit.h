#pragma once
// A compiled circuit on a card: its matrices, the densities that select bases, and the twiddles of
// its domain. Uploaded once, used by every partition.
//
// Threads: immutable once loaded; the card outlives it.

#include <memory>
#include <vector>

#include "base/tasks.h"
#include "gpu/card.h"
#include "groth16/rows_cuda.h"
#include "r1cs/density.h"

namespace cuzk::groth16 {

// The largest domain that a card transforms (ntt_cuda.h), on the odd coset too.
template <class Fr>
inline constexpr unsigned kLargestCardDomainLog2 =
    Fr::Params::kTwoAdicity > 28 ? 28 : Fr::Params::kTwoAdicity - 1;

// On which powers of which root of unity a key has its quotient.
template <class Fr>
struct DeviceDomain {
  unsigned log2 = 0;  // 0: the circuit's own
  std::uint64_t generator = Fr::Params::kGenerator;
};

// Twiddles for transforms of up to 2^log2 points: 32 bytes each. Shared by the circuits of a field
// whose domains have one generator.
template <class Fr>
class DeviceTwiddles {
 public:
  static Result<std::shared_ptr<const DeviceTwiddles>> load(gpu::Card& card,
                                                            const DeviceDomain<Fr>& domain);
  unsigned log2() const { return log2_; }
  std::uint64_t generator() const { return generator_; }
  gpu::DeviceSpan<const Fr> table() const { return table_; }

 private:
  gpu::Lease lease_;
  gpu::DeviceSpan<Fr> table_;
  unsigned log2_ = 0;
  std::uint64_t generator_ = 0;
};

template <class Fr>
class DeviceCircuit {
 public:
  // What load() takes of the arena, twiddles not counted.
  static std::size_t bytes(const CompactR1cs<Fr>& r1cs, const Density& density);
  // `twiddles` of a domain at least as large and of the same generator are shared, others loaded.
  // Errors: kOutOfBudget, also for a domain larger than a card transforms; kDeviceLost, kCancelled;
  // kInvalidArgument for a domain that the rows do not fit into.
  static Result<std::unique_ptr<DeviceCircuit>> load(
      gpu::Card& card, Tasks& tasks, const CompactR1cs<Fr>& r1cs, const Density& density,
      std::shared_ptr<const DeviceTwiddles<Fr>> twiddles = nullptr, DeviceDomain<Fr> domain = {});

  const DeviceMatrices<Fr>& matrices() const { return matrices_; }
  const DeviceDensity& a_density() const { return a_density_; }
  const DeviceDensity& b_density() const { return b_density_; }
  gpu::DeviceSpan<const Fr> twiddles() const { return twiddles_->table(); }
  const std::shared_ptr<const DeviceTwiddles<Fr>>& shared_twiddles() const { return twiddles_; }
  std::size_t num_aux() const { return num_aux_; }
  // A bound on the full scalars of any witness.
  std::size_t num_full_aux() const { return num_full_aux_; }
  // Whether this was loaded from that object.
  bool is_of(const CompactR1cs<Fr>& r1cs) const { return source_ == &r1cs; }

 private:
  gpu::Lease lease_;
  DeviceMatrices<Fr> matrices_;
  DeviceDensity a_density_;
  DeviceDensity b_density_;
  std::shared_ptr<const DeviceTwiddles<Fr>> twiddles_;
  const CompactR1cs<Fr>* source_ = nullptr;
  std::size_t num_aux_ = 0;
  std::size_t num_full_aux_ = 0;
};

}  // namespace cuzk::groth16
