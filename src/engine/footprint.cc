#include "engine/footprint.h"

#include <algorithm>
#include <bit>

#include "format/bellman_key.h"
#include "msm/msm_plan.h"
#include "ntt/ntt.h"

namespace cuzk::engine {

namespace {

using Fr = bls12_381::Fr;

// As msm_cpu.inl allocates for a sum of n terms, with the larger points of G2.
std::size_t msm_scratch_bytes(std::size_t n, std::size_t threads) {
  constexpr std::size_t kGroupBytes = std::size_t{256} << 20;
  constexpr std::size_t kBlockBytes = 2048 * (2 * sizeof(Affine<Bls12_381G2>) + 32);
  n = std::max<std::size_t>(n, 1);
  const unsigned bits = best_window_bits(Fr::kBits, n);
  const std::size_t buckets = bucket_count(bits);
  const std::size_t windows = window_count(Fr::kBits, bits);
  const std::size_t size = std::clamp<std::size_t>(kGroupBytes / (4 * n), 1, windows);
  const std::size_t ranges = std::clamp<std::size_t>((2 * threads + size - 1) / size, 1,
                                                     std::max<std::size_t>(1, n / 4096));
  return 4 * size * (n + ranges * buckets + buckets + 1) + threads * kBlockBytes;
}

std::size_t twiddle_bytes(unsigned log2) {
  const unsigned table_log = std::min(Domain<Fr>::kTableLog, log2);
  return (sizeof(Fr) << table_log) + (sizeof(Fr) << (log2 - table_log));
}

}  // namespace

Result<std::size_t> resident_bytes(const KeyFiles& files, const CompiledCircuit& circuit) {
  std::size_t out = circuit.r1cs.bytes();
  for (const VariableSet* set :
       {&circuit.density.a_aux, &circuit.density.b_input, &circuit.density.b_aux}) {
    out += 8 * set->words.size();
  }
  if (files.params.empty()) {
    return fail(ErrorCode::kNotFound,
                "{}: only the verifying key is there; proving needs the .params file",
                files.vk.string());
  }
  CUZK_TRY(const auto params, bellman::ParamsFile::open(files.params));
  return out + params.loaded_bytes();
}

Result<std::size_t> key_bytes(const KeyFiles& files) {
  CUZK_TRY(const auto params, bellman::ParamsFile::open(files.params));
  return params.loaded_bytes();
}

std::size_t witness_bytes(const CompiledCircuit& circuit) {
  const auto& r1cs = circuit.r1cs;
  return r1cs.num_aux / 4 + r1cs.num_aux / 128 + sizeof(Fr) * (r1cs.num_full_aux + r1cs.num_inputs);
}

scheduler::ProveCost cpu_prove_cost(const CompiledCircuit& circuit, int threads) {
  const auto& r1cs = circuit.r1cs;
  const unsigned log2 = r1cs.domain_log2();
  const std::size_t vector = sizeof(Fr) << log2;
  const auto t = static_cast<std::size_t>(std::max(threads, 1));
  const std::size_t full = r1cs.num_full_aux;
  const std::size_t sums = std::max(vector + msm_scratch_bytes(std::size_t{1} << log2, t),
                                    (8 + sizeof(Fr)) * full + msm_scratch_bytes(full, t));
  return {std::max(3 * vector + twiddle_bytes(log2), sums), 0, 0};
}

CircomFootprint circom_footprint(const format::ZkeyHeader& key,
                                 const CircomFootprintOptions& options) {
  // Points as they are in the file are points as they are in memory.
  const bool bn = key.curve == circom::CurveId::kBn254;
  const std::size_t g1 = bn ? 64 : 96, g2 = 2 * g1;
  const std::size_t wires = key.num_wires, domain = key.domain_size;
  const auto threads = static_cast<std::size_t>(std::max(options.threads, 1));

  CircomFootprint out;
  // A term has eight bytes, in the key's matrices as in those of the .r1cs, where it has 36; a
  // row's end four in each matrix. A wire has a bit in each of three sets.
  out.resident_bytes = std::size_t{key.num_coefficients} * 8 + domain * 8 + wires / 8 * 3 +
                       (std::size_t{key.num_public} + 1) * g1 + (std::size_t{1} << 16);
  if (options.r1cs_bytes) {
    out.resident_bytes += options.r1cs_bytes / 36 * 8 + domain * 12 + 2 * options.sym_bytes;
  }
  if (options.resident) out.resident_bytes += domain * g1 + wires * (3 * g1 + g2);

  out.witness_bytes = wires * sizeof(Fr) + wires / 4 + wires / 128 + 1024;
  // The circuit's rows are checked without a copy of the witness.
  out.synthesis_bytes = 2 * out.witness_bytes;

  const auto log2 = static_cast<unsigned>(std::countr_zero(key.domain_size));
  const std::size_t vector = sizeof(Fr) << log2;
  const std::size_t selected = (8 + sizeof(Fr)) * wires;
  const std::size_t streamed_h = options.resident ? 0 : domain * g1;
  const std::size_t streamed_wires = options.resident ? 0 : wires * g2;
  out.prove_bytes = std::max({3 * vector + twiddle_bytes(log2),
                              vector + streamed_h + msm_scratch_bytes(domain, threads),
                              streamed_wires + selected + msm_scratch_bytes(wires, threads)});
  return out;
}

}  // namespace cuzk::engine
