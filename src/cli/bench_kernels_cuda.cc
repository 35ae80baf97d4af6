#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "cli/bench_kernels.h"
#include "gpu/card.h"
#include "gpu/launch_cuda.h"
#include "groth16/device_circuit.h"
#include "msm/msm_cuda.h"
#include "msm/witness_cuda.h"
#include "ntt/ntt_cuda.h"

namespace cuzk::cli {

namespace {

using Fr = bls12_381::Fr;

// Places in one lease, 256 bytes apart.
class Places {
 public:
  static Result<Places> lease(gpu::Card& card, std::size_t bytes) {
    Places p;
    CUZK_TRY(p.lease_, card.arena().lease("kernel bench", bytes + 64 * 256));
    return p;
  }
  template <class T>
  Result<gpu::DeviceSpan<T>> take(std::size_t count) {
    CUZK_TRY(const auto span, lease_.at<T>(at_, count));
    at_ += (span.size_bytes() + 255) / 256 * 256;
    return span;
  }

 private:
  gpu::Lease lease_;
  std::size_t at_ = 0;
};

class CudaKernels final : public KernelCard {
 public:
  CudaKernels(std::unique_ptr<gpu::Card> card, Tasks& tasks, double slots, double bytes)
      : card_(std::move(card)), tasks_(tasks), slots_(slots), bytes_(bytes) {}

  std::string name() const override { return card_->info().name; }
  double slots_per_second() const override { return slots_; }
  double bytes_per_second() const override { return bytes_; }

  Result<Timed<Xyzz<Bls12_381G1>>> sum(std::span<const ScalarFor<Bls12_381G1>> scalars,
                                       std::span<const Affine<Bls12_381G1>> bases,
                                       int repeats) override {
    return sum_of<Bls12_381G1>(scalars, bases, repeats);
  }
  Result<Timed<Xyzz<Bls12_381G2>>> sum(std::span<const ScalarFor<Bls12_381G2>> scalars,
                                       std::span<const Affine<Bls12_381G2>> bases,
                                       int repeats) override {
    return sum_of<Bls12_381G2>(scalars, bases, repeats);
  }
  Result<Timed<Xyzz<Bn254G1>>> sum(std::span<const ScalarFor<Bn254G1>> scalars,
                                   std::span<const Affine<Bn254G1>> bases, int repeats) override {
    return sum_of<Bn254G1>(scalars, bases, repeats);
  }
  Result<Timed<Xyzz<Bls12_381G1>>> sum_ones(std::span<const std::uint32_t> list,
                                            std::span<const Affine<Bls12_381G1>> bases,
                                            int repeats) override {
    return ones_of<Bls12_381G1>(list, bases, repeats);
  }
  Result<Timed<Xyzz<Bls12_381G2>>> sum_ones(std::span<const std::uint32_t> list,
                                            std::span<const Affine<Bls12_381G2>> bases,
                                            int repeats) override {
    return ones_of<Bls12_381G2>(list, bases, repeats);
  }
  Result<Timed<Xyzz<Bn254G1>>> sum_ones(std::span<const std::uint32_t> list,
                                        std::span<const Affine<Bn254G1>> bases,
                                        int repeats) override {
    return ones_of<Bn254G1>(list, bases, repeats);
  }
  Result<double> transform(std::span<bls12_381::Fr> data, int repeats) override {
    return transform_of<bls12_381::Fr>(data, repeats);
  }
  Result<double> transform(std::span<bn254::Fr> data, int repeats) override {
    return transform_of<bn254::Fr>(data, repeats);
  }

  Result<double> rows(const CompactR1cs<Fr>& r1cs, const Density& density,
                      const CompactWitness<Fr>& witness, std::span<Fr> a, std::span<Fr> b,
                      int repeats) override {
    CUZK_TRY(const auto circuit, groth16::DeviceCircuit<Fr>::load(*card_, tasks_, r1cs, density));
    const std::size_t bytes = 2 * a.size_bytes() +
                              sizeof(Fr) * (witness.inputs.size() + witness.full_values().size()) +
                              16 * witness.ones().size() + 4 * witness.full_ranks().size() + 256;
    CUZK_TRY(auto places, Places::lease(*card_, bytes));
    groth16::DeviceAssignment<Fr> z;
    CUZK_TRY(z.inputs, uploaded(places, std::span<const Fr>(witness.inputs)));
    CUZK_TRY(z.full_values, uploaded(places, witness.full_values()));
    CUZK_TRY(z.wires.ones, uploaded(places, witness.ones()));
    CUZK_TRY(z.wires.full, uploaded(places, witness.full()));
    CUZK_TRY(z.wires.full_ranks, uploaded(places, witness.full_ranks()));
    CUZK_TRY(const auto out_a, places.take<Fr>(a.size()));
    CUZK_TRY(const auto out_b, places.take<Fr>(b.size()));
    CUZK_TRY(const auto failing, places.take<std::uint32_t>(1));
    CUZK_TRY_VOID(gpu::runtime::fill_bytes(stream(), failing.data(), 0xff, 4));
    CUZK_TRY(const double ms, timed(repeats, [&] {
               return groth16::rows_of_a_and_b<Fr>(stream(), circuit->matrices(), z, out_a, out_b,
                                                   {}, failing);
             }));
    CUZK_TRY_VOID(downloaded(a, gpu::DeviceSpan<const Fr>(out_a)));
    CUZK_TRY_VOID(downloaded(b, gpu::DeviceSpan<const Fr>(out_b)));
    return ms;
  }

 private:
  gpu::StreamHandle stream() const { return card_->load_stream(); }

  // The least time of `repeats` runs, after one more.
  Result<double> timed(int repeats, const std::function<Status()>& queue) const {
    CUZK_TRY(auto from, gpu::Event::create(true));
    CUZK_TRY(auto to, gpu::Event::create(true));
    double least = 0;
    for (int i = 0; i <= repeats; ++i) {
      CUZK_TRY_VOID(from.record(stream()));
      CUZK_TRY_VOID(queue());
      CUZK_TRY_VOID(to.record(stream()));
      CUZK_TRY_VOID(to.synchronize());
      CUZK_TRY(const float ms, to.milliseconds_since(from));
      if (i == 1 || (i > 1 && ms < least)) least = ms;
    }
    return least;
  }

  template <class T>
  Result<gpu::DeviceSpan<const T>> uploaded(Places& places, std::span<const T> from) const {
    CUZK_TRY(const auto to, places.template take<T>(from.size()));
    CUZK_TRY_VOID(card_->load_staging().upload(tasks_, stream(), to, from));
    return gpu::DeviceSpan<const T>(to);
  }
  template <class T>
  Status downloaded(std::span<T> to, gpu::DeviceSpan<const T> from) const {
    CUZK_TRY(auto done, gpu::Event::create());
    CUZK_TRY_VOID(gpu::download(stream(), to, from));
    CUZK_TRY_VOID(done.record(stream()));
    return done.synchronize();
  }

  template <class G>
  Result<Timed<Xyzz<G>>> sum_of(std::span<const ScalarFor<G>> scalars,
                                std::span<const Affine<G>> bases, int repeats) const {
    // Large batches: what a sum with the card to itself would take.
    CUZK_TRY(const MsmCudaPlan plan,
             msm_cuda_plan<G>(scalars.size(), {.pairs_per_batch = std::size_t{1} << 28}));
    CUZK_TRY(auto places,
             Places::lease(*card_, scalars.size_bytes() + bases.size_bytes() + plan.scratch_bytes +
                                       sizeof(Xyzz<G>) * plan.sums()));
    CUZK_TRY(const auto s, uploaded(places, scalars));
    CUZK_TRY(const auto b, uploaded(places, bases));
    CUZK_TRY(const auto scratch, places.template take<std::byte>(plan.scratch_bytes));
    CUZK_TRY(const auto sums, places.template take<Xyzz<G>>(plan.sums()));
    Timed<Xyzz<G>> out;
    CUZK_TRY(out.ms,
             timed(repeats, [&] { return msm_cuda<G>(stream(), plan, s, b, scratch, sums); }));
    std::vector<Xyzz<G>> windows(plan.sums());
    CUZK_TRY_VOID(downloaded(std::span<Xyzz<G>>(windows), gpu::DeviceSpan<const Xyzz<G>>(sums)));
    out.result = msm_cuda_finish<G>(plan, windows);
    return out;
  }

  template <class G>
  Result<Timed<Xyzz<G>>> ones_of(std::span<const std::uint32_t> list,
                                 std::span<const Affine<G>> bases, int repeats) const {
    const std::size_t scratch_bytes = selected_sum_scratch_bytes<G>(list.size());
    CUZK_TRY(auto places, Places::lease(*card_, list.size_bytes() + bases.size_bytes() +
                                                    scratch_bytes + sizeof(Xyzz<G>)));
    CUZK_TRY(const auto l, uploaded(places, list));
    CUZK_TRY(const auto b, uploaded(places, bases));
    CUZK_TRY(const auto scratch, places.template take<std::byte>(scratch_bytes));
    CUZK_TRY(const auto sum, places.template take<Xyzz<G>>(1));
    Timed<Xyzz<G>> out;
    CUZK_TRY(out.ms, timed(repeats, [&] { return sum_selected<G>(stream(), b, l, scratch, sum); }));
    CUZK_TRY_VOID(
        downloaded(std::span<Xyzz<G>>(&out.result, 1), gpu::DeviceSpan<const Xyzz<G>>(sum)));
    return out;
  }

  // Every run transforms what the last one left, so the data is put back for one more that counts.
  template <class T>
  Result<double> transform_of(std::span<T> data, int repeats) const {
    const auto log = static_cast<unsigned>(std::bit_width(data.size()) - 1);
    CUZK_TRY(auto places, Places::lease(*card_, data.size_bytes() + ntt_cuda_table_bytes(log)));
    CUZK_TRY(const auto table, places.template take<T>(ntt_cuda_table_elements(log)));
    CUZK_TRY(const auto values, places.template take<T>(data.size()));
    CUZK_TRY_VOID(ntt_cuda_fill_table<T>(stream(), table));
    const auto upload = [&] {
      return card_->load_staging().upload(tasks_, stream(), values, std::span<const T>(data));
    };
    const auto run = [&] {
      return ntt_cuda_forward_natural_to_reversed<T>(stream(), table, values);
    };
    CUZK_TRY_VOID(upload());
    CUZK_TRY(const double ms, timed(repeats, run));
    CUZK_TRY_VOID(upload());
    CUZK_TRY_VOID(run());
    CUZK_TRY_VOID(downloaded(data, gpu::DeviceSpan<const T>(values)));
    return ms;
  }

  std::unique_ptr<gpu::Card> card_;
  Tasks& tasks_;
  const double slots_;
  const double bytes_;
};

}  // namespace

Result<std::unique_ptr<KernelCard>> KernelCard::open(int device, Tasks& tasks) {
  CUZK_TRY(auto card, gpu::Card::open(MemoryBudget::process(), {.device = device, .workers = 1}));
  const auto attribute = [&](cudaDeviceAttr which) -> Result<double> {
    int value = 0;
    CUZK_TRY_VOID(gpu::check_cuda(cudaDeviceGetAttribute(&value, which, device), "attribute"));
    return static_cast<double>(value);
  };
  CUZK_TRY(const double clock, attribute(cudaDevAttrClockRate));  // kHz, as the next
  CUZK_TRY(const double memory_clock, attribute(cudaDevAttrMemoryClockRate));
  CUZK_TRY(const double bus_bits, attribute(cudaDevAttrGlobalMemoryBusWidth));
  const double slots = 64e3 * clock * card->info().multiprocessors;
  return std::make_unique<CudaKernels>(std::move(card), tasks, slots,
                                       2e3 * memory_clock * bus_bits / 8);
}

}  // namespace cuzk::cli
