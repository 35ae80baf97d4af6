// self_test (backend_cuda.h): a circuit with a row of every kind that the kernels tell apart.

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "groth16/backend_cuda.h"
#include "groth16/verifier.h"

namespace cuzk::groth16 {

namespace {

constexpr std::uint32_t kPlaces = 1500;   // more rows than a tile of the transforms
constexpr std::uint32_t kSumTerms = 100;  // of the long row
constexpr std::uint32_t kOne = 0, kMinusOne = 1, kFive = 2;  // of the dictionary

template <class Fr>
struct Case {
  CompactR1cs<Fr> r1cs;
  CompactWitness<Fr> witness;
};

ColumnRef ref(ColumnRef::Kind kind, std::uint32_t index) { return ColumnRef::make(kind, index); }

// bit (1 - bit) = 0; x x = square; (square + 5 bit) 1 = next, where x is the next of the place
// before.
RowBlock step_block() {
  const ColumnRef one = ref(ColumnRef::kInput, 0), x = ref(ColumnRef::kPort, 0);
  const ColumnRef bit = ref(ColumnRef::kLocalAux, 0), square = ref(ColumnRef::kLocalAux, 1),
                  next = ref(ColumnRef::kLocalAux, 2);
  RowBlock block;
  block.path = "step";
  block.num_rows = 3;
  block.num_aux = 3;
  block.num_ports = 1;
  block.matrices[0] = {{1, 2, 4}, {{bit, kOne}, {x, kOne}, {bit, kFive}, {square, kOne}}};
  block.matrices[1] = {{2, 3, 4}, {{one, kOne}, {bit, kMinusOne}, {x, kOne}, {one, kOne}}};
  block.matrices[2] = {{0, 1, 2}, {{square, kOne}, {next, kOne}}};
  return block;
}

// The sum of the first bits and nexts times one is the public input.
RowBlock sum_block() {
  RowBlock block;
  block.path = "sum";
  block.num_rows = 1;
  for (std::uint32_t i = 0; i < kSumTerms; ++i) {
    block.matrices[0].terms.push_back({ref(ColumnRef::kAux, 3 * (i / 2) + 2 * (i % 2)), kOne});
  }
  block.matrices[0].row_end = {kSumTerms};
  block.matrices[1] = {{1}, {{ref(ColumnRef::kInput, 0), kOne}}};
  block.matrices[2] = {{1}, {{ref(ColumnRef::kInput, 2), kOne}}};
  return block;
}

template <class Fr>
Case<Fr> make_case() {
  Case<Fr> c;
  auto& r1cs = c.r1cs;
  r1cs.name = "self-test";
  r1cs.num_inputs = 3;
  r1cs.num_aux = r1cs.num_full_aux = 3 * kPlaces;
  r1cs.num_rows = 3 * kPlaces + 1;
  r1cs.dictionary = {Fr::one(), -Fr::one(), Fr::from_u64(5)};
  r1cs.blocks = {step_block(), sum_block()};
  SeededRandom random(1);
  const Fr start = Fr::random(random);
  Fr x = start, sum = Fr::zero();
  for (std::uint32_t p = 0; p < kPlaces; ++p) {
    r1cs.segments.push_back({0, 3 * p, 3 * p, 3, p});
    r1cs.ports.push_back(p ? ref(ColumnRef::kAux, 3 * p - 1) : ref(ColumnRef::kInput, 1));
    const Fr bit = Fr::from_u64(random.next_u64() & 1);
    const Fr square = x * x;
    x = square + Fr::from_u64(5) * bit;
    for (const Fr& v : {bit, square, x}) c.witness.push(v);
    if (2 * p < kSumTerms) sum += bit + x;
  }
  r1cs.segments.push_back({1, 3 * kPlaces, 3 * kPlaces, 3, kPlaces});
  c.witness.inputs = {Fr::one(), start, sum};
  c.witness.finish();
  return c;
}

template <class Curve>
Status test_curve(const Context& context, gpu::Card& card) {
  using Fr = typename Curve::Fr;
  const Case<Fr> c = make_case<Fr>();
  const Density density = compute_density(c.r1cs);
  SeededRandom random(2);
  const auto waste = ToxicWaste<Curve>::draw(random);
  CUZK_TRY(auto made, insecure_dev_setup_on_card<Curve>(context, card, c.r1cs, density, waste));
  CUZK_TRY(const auto circuit, DeviceCircuit<Fr>::load(card, context.tasks, c.r1cs, density));
  CUZK_TRY(const auto backend, make_cuda_backend<Curve>(card, *circuit, made.key->bases(),
                                                        {.memory = CudaMemory::kFrugal}));
  ProvingKey<Curve> key;
  key.vk = made.vk;
  CUZK_TRY(auto pending,
           start_proof(*backend, context, ProveInput<Curve>{c.r1cs, density, c.witness, key}));
  CUZK_TRY(const auto proof, pending.finish());
  const auto verified = verify(context.tasks, PreparedVerifyingKey<Curve>(made.vk),
                               Claim<Curve>{proof, {c.witness.inputs[1], c.witness.inputs[2]}});
  if (verified) return {};
  return fail(ErrorCode::kInternal, "device {} ({}): its {} proof of the self-test: {}",
              card.info().index, card.info().name, Curve::kName, verified.error().message);
}

}  // namespace

Status self_test(const Context& context, gpu::Card& card) {
  Status status = test_curve<Bls12_381>(context, card);
  if (status) status = test_curve<Bn254>(context, card);
  const bool wrong = !status && status.error().code != ErrorCode::kOutOfBudget &&
                     status.error().code != ErrorCode::kCancelled;
  if (wrong) card.fence(status.error().message);
  return status;
}

}  // namespace cuzk::groth16
