#pragma once
// cuzk-bench kernels: sums, transforms and matrix products one by one, on CPU and CUDA with the
// same inputs and equal results.
//
// Threads: the device functions are called by one thread; a card is open while they run.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cli/command.h"
#include "msm/msm.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/density.h"
#include "r1cs/witness.h"

namespace cuzk::cli {

void add_bench_kernels(CLI::App& app, Runner& run);

// The device's half: bench_kernels_cuda.cc, or without CUDA bench_kernels_none.cc, where open()
// fails with kInvalidArgument. Times are minima in milliseconds of `repeats` runs after one more,
// by events, with all inputs resident.
class KernelCard {
 public:
  static Result<std::unique_ptr<KernelCard>> open(int device, Tasks& tasks);
  virtual ~KernelCard() = default;

  virtual std::string name() const = 0;
  // Multiplier slots a second: 64 a clock and multiprocessor.
  virtual double slots_per_second() const = 0;
  // Of the memory, by its clock and width.
  virtual double bytes_per_second() const = 0;

  template <class Value>
  struct Timed {
    double ms = 0;
    Value result{};
  };

  // scalars[i] * bases[i]; and the sum of the listed bases.
  virtual Result<Timed<Xyzz<Bls12_381G1>>> sum(std::span<const ScalarFor<Bls12_381G1>> scalars,
                                               std::span<const Affine<Bls12_381G1>> bases,
                                               int repeats) = 0;
  virtual Result<Timed<Xyzz<Bls12_381G2>>> sum(std::span<const ScalarFor<Bls12_381G2>> scalars,
                                               std::span<const Affine<Bls12_381G2>> bases,
                                               int repeats) = 0;
  virtual Result<Timed<Xyzz<Bn254G1>>> sum(std::span<const ScalarFor<Bn254G1>> scalars,
                                           std::span<const Affine<Bn254G1>> bases, int repeats) = 0;
  virtual Result<Timed<Xyzz<Bls12_381G1>>> sum_ones(std::span<const std::uint32_t> list,
                                                    std::span<const Affine<Bls12_381G1>> bases,
                                                    int repeats) = 0;
  virtual Result<Timed<Xyzz<Bls12_381G2>>> sum_ones(std::span<const std::uint32_t> list,
                                                    std::span<const Affine<Bls12_381G2>> bases,
                                                    int repeats) = 0;
  virtual Result<Timed<Xyzz<Bn254G1>>> sum_ones(std::span<const std::uint32_t> list,
                                                std::span<const Affine<Bn254G1>> bases,
                                                int repeats) = 0;
  // Coefficients in natural order to values in reversed order, in place.
  virtual Result<double> transform(std::span<bls12_381::Fr> data, int repeats) = 0;
  virtual Result<double> transform(std::span<bn254::Fr> data, int repeats) = 0;
  // A z and B z, with C z looked at.
  virtual Result<double> rows(const CompactR1cs<bls12_381::Fr>& r1cs, const Density& density,
                              const CompactWitness<bls12_381::Fr>& witness,
                              std::span<bls12_381::Fr> a, std::span<bls12_381::Fr> b,
                              int repeats) = 0;
};

}  // namespace cuzk::cli
