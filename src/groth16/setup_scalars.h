#pragma once
// What a setup multiplies its bases by: the scalars of every query, range by range, so that hosts
// and devices make the same key of them.
//
// Form:    canonical, in the order of keys.h.
// Memory:  3 elements for each variable; each drop_ gives one of them back.
// Threads: made with context.tasks (span qap); afterwards any thread may ask for ranges.
// Source:  Groth 2016, section 3.2.

#include <vector>

#include "groth16/context.h"
#include "groth16/key_check.h"
#include "groth16/keys.h"
#include "groth16/qap.h"
#include "groth16/toxic_waste.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/density.h"

namespace cuzk::groth16 {

template <class Curve>
class SetupScalars {
 public:
  using Fr = typename Curve::Fr;
  using Scalar = typename Fr::Scalar;

  // Errors: those of insecure_dev_setup.
  static Result<SetupScalars> create(const Context& context, const CompactR1cs<Fr>& r1cs,
                                     const Density& density, const ToxicWaste<Curve>& waste);

  const KeyCounts& counts() const { return counts_; }
  // The scalars [begin, end) of a query.
  void ic(std::size_t begin, std::size_t end, Scalar* out) const;
  void h(std::size_t begin, std::size_t end, Scalar* out) const;
  void l(std::size_t begin, std::size_t end, Scalar* out) const;
  void a(std::size_t begin, std::size_t end, Scalar* out) const;
  void b(std::size_t begin, std::size_t end, Scalar* out) const;

  void drop_l_and_ic() { qap_.c = {}; }
  void drop_a() { qap_.a = {}; }
  void drop_b() { qap_.b = {}; }

 private:
  SetupScalars() = default;
  Status check_values(const Context& context, const ToxicWaste<Curve>& waste);

  KeyCounts counts_;
  std::uint32_t num_inputs_ = 0;
  Fr gamma_inverse_, delta_inverse_, tau_, h_scale_;
  QapValues<Fr> qap_;  // c holds beta A + alpha B + C
  Buffer<std::uint32_t> dense_a_, dense_b_inputs_, dense_b_;
};

// The points of a verifying key that are not of its queries.
template <class Curve>
VerifyingKey<Curve> verifying_key_without_ic(const ToxicWaste<Curve>& waste);

}  // namespace cuzk::groth16
