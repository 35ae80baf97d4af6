#include "groth16/device_circuit.h"

#include <algorithm>
#include <bit>

#include "gpu/memory_plan.h"
#include "ntt/ntt_cuda.h"

namespace cuzk::groth16 {

namespace {

std::vector<std::uint32_t> ranks_of(const VariableSet& set) {
  std::vector<std::uint32_t> ranks(set.words.size());
  std::uint32_t rank = 0;
  for (std::size_t w = 0; w < set.words.size(); ++w) {
    ranks[w] = rank;
    rank += static_cast<std::uint32_t>(std::popcount(set.words[w]));
  }
  return ranks;
}

// Lengths of the flat arrays.
struct FlatSizes {
  std::size_t row_ends = 0;
  std::size_t terms = 0;
};
template <class Fr>
FlatSizes flat_sizes(const CompactR1cs<Fr>& r1cs) {
  FlatSizes sizes;
  for (const RowBlock& block : r1cs.blocks) {
    for (const RowMatrix& m : block.matrices) {
      sizes.row_ends += m.row_end.size();
      sizes.terms += m.terms.size();
    }
  }
  return sizes;
}

// The long rows of all blocks, and how many there are before each segment.
struct LongRows {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint64_t> begin;  // of each block, and the end
  std::vector<std::uint32_t> before;
  std::uint32_t count = 0;
};
template <class Fr>
LongRows long_rows_of(const CompactR1cs<Fr>& r1cs) {
  LongRows out;
  for (const RowBlock& block : r1cs.blocks) {
    out.begin.push_back(out.rows.size());
    for (std::uint32_t row = 0; row < block.num_rows; ++row) {
      const auto is_long = [&](const RowMatrix& m) { return m.row(row).size() > kLongRowTerms; };
      if (std::ranges::any_of(block.matrices, is_long)) out.rows.push_back(row);
    }
  }
  out.begin.push_back(out.rows.size());
  for (const Segment& segment : r1cs.segments) {
    out.before.push_back(out.count);
    out.count +=
        static_cast<std::uint32_t>(out.begin[segment.block + 1] - out.begin[segment.block]);
  }
  return out;
}

// The buffers of a circuit; all live for ever, so a plan only lines them up.
struct CircuitPlan {
  gpu::MemoryPlan plan;
  gpu::MemoryPlan::Id dictionary, blocks, row_ends, terms, segments, ports, long_rows, long_before,
      a_words, a_ranks, b_words, b_ranks;
};
template <class Fr>
CircuitPlan plan_of(const CompactR1cs<Fr>& r1cs, const Density& density,
                    const LongRows& long_rows) {
  const FlatSizes sizes = flat_sizes(r1cs);
  CircuitPlan p;
  const auto add = [&](const char* name, std::size_t bytes) {
    return p.plan.add(name, bytes, 0, 0);
  };
  p.dictionary = add("dictionary", sizeof(Fr) * r1cs.dictionary.size());
  p.blocks = add("blocks", sizeof(DeviceBlock) * r1cs.blocks.size());
  p.row_ends = add("row ends", 4 * sizes.row_ends);
  p.terms = add("terms", sizeof(Term) * sizes.terms);
  p.segments = add("segments", sizeof(Segment) * r1cs.segments.size());
  p.ports = add("ports", sizeof(ColumnRef) * r1cs.ports.size());
  p.long_rows = add("long rows", 4 * long_rows.rows.size());
  p.long_before = add("long rows before segments", 4 * long_rows.before.size());
  p.a_words = add("density of A", 8 * density.a_aux.words.size());
  p.a_ranks = add("ranks in A", 4 * density.a_aux.words.size());
  p.b_words = add("density of B", 8 * density.b_aux.words.size());
  p.b_ranks = add("ranks in B", 4 * density.b_aux.words.size());
  p.plan.place();
  return p;
}

// Uploads into a planned lease.
class Loader {
 public:
  Loader(gpu::Card& card, Tasks& tasks, const gpu::Lease& lease, const gpu::MemoryPlan& plan)
      : card_(card), tasks_(tasks), lease_(lease), plan_(plan) {}

  template <class T>
  Result<gpu::DeviceSpan<const T>> load(gpu::MemoryPlan::Id id, const std::vector<T>& from) {
    CUZK_TRY(const auto to, lease_.at<T>(plan_.offset(id), from.size()));
    CUZK_TRY_VOID(gpu::load(card_, tasks_, to, std::span<const T>(from)));
    return gpu::DeviceSpan<const T>(to);
  }
  Result<DeviceDensity> load(gpu::MemoryPlan::Id words_id, gpu::MemoryPlan::Id ranks_id,
                             const VariableSet& set) {
    CUZK_TRY(const auto words, load(words_id, set.words));
    CUZK_TRY(const auto ranks, load(ranks_id, ranks_of(set)));
    return DeviceDensity{words, ranks};
  }

 private:
  gpu::Card& card_;
  Tasks& tasks_;
  const gpu::Lease& lease_;
  const gpu::MemoryPlan& plan_;
};

template <class Fr>
struct Uploaded {
  std::vector<DeviceBlock> blocks;
  gpu::DeviceSpan<const std::uint32_t> row_ends;
  gpu::DeviceSpan<const Term> terms;
};

// The rows of all blocks, matrix by matrix within a block.
template <class Fr>
Result<Uploaded<Fr>> load_rows(gpu::Card& card, Tasks& tasks, const gpu::Lease& lease,
                               const CircuitPlan& p, const CompactR1cs<Fr>& r1cs) {
  const FlatSizes sizes = flat_sizes(r1cs);
  CUZK_TRY(const auto row_ends, lease.at<std::uint32_t>(p.plan.offset(p.row_ends), sizes.row_ends));
  CUZK_TRY(const auto terms, lease.at<Term>(p.plan.offset(p.terms), sizes.terms));
  Uploaded<Fr> out{{}, row_ends, terms};
  std::size_t row_end_at = 0, term_at = 0;
  for (const RowBlock& block : r1cs.blocks) {
    DeviceBlock& b = out.blocks.emplace_back();
    for (int m = 0; m < 3; ++m) {
      const RowMatrix& matrix = block.matrices[m];
      b.row_end[m] = row_end_at;
      b.terms[m] = term_at;
      CUZK_TRY_VOID(gpu::load(card, tasks, row_ends.subspan(row_end_at, matrix.row_end.size()),
                              std::span<const std::uint32_t>(matrix.row_end)));
      CUZK_TRY_VOID(gpu::load(card, tasks, terms.subspan(term_at, matrix.terms.size()),
                              std::span<const Term>(matrix.terms)));
      row_end_at += matrix.row_end.size();
      term_at += matrix.terms.size();
    }
  }
  return out;
}

}  // namespace

template <class Fr>
Result<std::shared_ptr<const DeviceTwiddles<Fr>>> DeviceTwiddles<Fr>::load(
    gpu::Card& card, const DeviceDomain<Fr>& domain) {
  auto out = std::make_shared<DeviceTwiddles>();
  const std::size_t count = ntt_cuda_table_elements(domain.log2);
  CUZK_TRY(out->lease_,
           card.arena().lease("twiddles", ntt_cuda_table_bytes(domain.log2), gpu::Hold::kLasting));
  CUZK_TRY(out->table_, out->lease_.template at<Fr>(0, count));
  out->log2_ = domain.log2;
  out->generator_ = domain.generator;
  if (domain.generator == Fr::Params::kGenerator) {
    CUZK_TRY_VOID(ntt_cuda_fill_table<Fr>(card.load_stream(), out->table_));
  } else {
    CUZK_TRY_VOID(fill_twiddles<Fr>(card.load_stream(), domain.generator,
                                    out->table_.first(std::size_t{1} << domain.log2)));
    CUZK_TRY_VOID(ntt_cuda_add_quotients<Fr>(card.load_stream(), out->table_));
  }
  CUZK_TRY_VOID(gpu::wait_for_loads(card));
  return std::shared_ptr<const DeviceTwiddles>(std::move(out));
}

template <class Fr>
std::size_t DeviceCircuit<Fr>::bytes(const CompactR1cs<Fr>& r1cs, const Density& density) {
  return plan_of(r1cs, density, long_rows_of(r1cs)).plan.total_bytes();
}

template <class Fr>
Result<std::unique_ptr<DeviceCircuit<Fr>>> DeviceCircuit<Fr>::load(
    gpu::Card& card, Tasks& tasks, const CompactR1cs<Fr>& r1cs, const Density& density,
    std::shared_ptr<const DeviceTwiddles<Fr>> twiddles, DeviceDomain<Fr> domain) {
  CUZK_TRY_VOID(card.use());
  if (domain.log2 == 0) domain.log2 = r1cs.domain_log2();
  if (domain.log2 < r1cs.domain_log2() || domain.log2 >= 32) {
    return fail(ErrorCode::kInvalidArgument, "{}: a domain of 2^{} points does not fit {} rows",
                r1cs.name, domain.log2, r1cs.num_rows_with_inputs());
  }
  if (domain.log2 > kLargestCardDomainLog2<Fr>) {
    return fail(ErrorCode::kOutOfBudget,
                "{}: a domain of 2^{} points, a card proves up to 2^{} in the field {}", r1cs.name,
                domain.log2, kLargestCardDomainLog2<Fr>, Fr::Params::kName);
  }
  const LongRows long_rows = long_rows_of(r1cs);
  const CircuitPlan p = plan_of(r1cs, density, long_rows);
  auto out = std::make_unique<DeviceCircuit>();
  out->source_ = &r1cs;
  out->num_aux_ = r1cs.num_aux;
  out->num_full_aux_ = r1cs.num_full_aux;
  CUZK_TRY(out->lease_, card.arena().lease(r1cs.name, p.plan.total_bytes(), gpu::Hold::kLasting));
  Loader loader(card, tasks, out->lease_, p.plan);
  DeviceMatrices<Fr>& m = out->matrices_;
  m.num_inputs = r1cs.num_inputs;
  m.num_rows = r1cs.num_rows;
  m.domain_log2 = domain.log2;
  CUZK_TRY(m.dictionary, loader.load(p.dictionary, r1cs.dictionary));
  CUZK_TRY(auto rows, load_rows(card, tasks, out->lease_, p, r1cs));
  m.row_ends = rows.row_ends;
  m.terms = rows.terms;
  for (std::size_t b = 0; b < rows.blocks.size(); ++b) {
    rows.blocks[b].long_rows = long_rows.begin[b];
  }
  CUZK_TRY(m.blocks, loader.load(p.blocks, rows.blocks));
  CUZK_TRY(m.long_rows, loader.load(p.long_rows, long_rows.rows));
  CUZK_TRY(m.long_before, loader.load(p.long_before, long_rows.before));
  m.long_count = long_rows.count;
  CUZK_TRY(m.segments, loader.load(p.segments, r1cs.segments));
  CUZK_TRY(m.ports, loader.load(p.ports, r1cs.ports));
  CUZK_TRY(out->a_density_, loader.load(p.a_words, p.a_ranks, density.a_aux));
  CUZK_TRY(out->b_density_, loader.load(p.b_words, p.b_ranks, density.b_aux));
  CUZK_TRY_VOID(gpu::wait_for_loads(card));
  if (!twiddles || twiddles->log2() < domain.log2 || twiddles->generator() != domain.generator) {
    CUZK_TRY(twiddles, DeviceTwiddles<Fr>::load(card, domain));
  }
  out->twiddles_ = std::move(twiddles);
  return out;
}

template class DeviceTwiddles<bls12_381::Fr>;
template class DeviceTwiddles<bn254::Fr>;
template class DeviceCircuit<bls12_381::Fr>;
template class DeviceCircuit<bn254::Fr>;

}  // namespace cuzk::groth16
