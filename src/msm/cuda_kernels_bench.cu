// Times of the kernels on one device: products, mixed additions, transforms and sums, each beside
// the floor that the multiplier sets. Every sum is checked against its closed form.
//
// Usage: cuzk_cuda_kernels_bench [field] [ntt] [msm] [g2] [curve=bls12-381 | curve=bn254]
// [max=LOG2]
//        [only=LOG2] [windows=N] [pairs=LOG2] [xyzz | affine] [multiples]; without a section, all.
// Times are medians of CUDA events around the whole call, after one warm-up.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "curve/point_cuda.cuh"
#include "gpu/launch_cuda.h"
#include "gpu/owners.h"
#include "msm/msm_cases.h"
#include "msm/msm_cuda.h"
#include "ntt/ntt_cuda.h"

namespace cuzk {
namespace {

using device::DeviceAffine;
using device::DeviceXyzz;
using device::u32;

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}
void must(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "%s\n", status.error().message.c_str());
  std::exit(1);
}

double median_ms(int repeats, const std::function<void()>& queue) {
  auto from = must(gpu::Event::create(true));
  auto to = must(gpu::Event::create(true));
  std::vector<float> times;
  for (int i = 0; i <= repeats; ++i) {
    must(from.record(nullptr));
    queue();
    must(to.record(nullptr));
    must(to.synchronize());
    if (i > 0) times.push_back(must(to.milliseconds_since(from)));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Multiplier slots a second: 64 lanes a clock and multiprocessor, a wide product takes two.
double slots_per_second(const gpu::DeviceInfo& device) {
  int khz = 0;
  cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, device.index);
  return 64.0 * device.multiprocessors * khz * 1e3;
}

template <class F>
__global__ void products(F* data, int rounds) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  F a = data[2 * i];
  F b = data[2 * i + 1];
  for (int k = 0; k < rounds; ++k) {
    a = a * b;
    b = b * a;
  }
  data[2 * i] = a + b;
}
template <class F>
__global__ void squares(F* data, int rounds) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  F a = data[2 * i];
  F b = data[2 * i + 1];
  for (int k = 0; k < rounds; ++k) {
    a = a.square();
    b = b.square();
  }
  data[2 * i] = a + b;
}

template <class Fr>
void bench_field(const char* name, double slots, double rate_slots) {
  using F = device::DeviceField<Fr>;
  const u32 blocks = 132 * 8;
  const u32 threads = 128;
  auto data = must(gpu::DeviceBuffer<Fr>::allocate(std::size_t{2} * blocks * threads));
  std::vector<Fr> host(data.size());
  SeededRandom random(1);
  for (Fr& v : host) v = Fr::random(random);
  must(gpu::upload(nullptr, data.span(), std::span<const Fr>(host)));
  F* p = reinterpret_cast<F*>(data.span().data());
  const int rounds = 500;
  const double count = 2.0 * rounds * blocks * threads;
  const double mul = median_ms(5, [&] { products<F><<<blocks, threads>>>(p, rounds); });
  const double sqr = median_ms(5, [&] { squares<F><<<blocks, threads>>>(p, rounds); });
  must(gpu::launched("products"));
  std::printf("%-16s mul %7.2f G/s (%.2f of floor at %.0f slots)   sqr %7.2f G/s\n", name,
              count / mul / 1e6, count / mul * 1e3 * slots / rate_slots, slots, count / sqr / 1e6);
}

// Uniform below the modulus (up to its lower words), by rejection on the top word; splitmix64.
__global__ void fill_scalars(u32* out, std::size_t count, u32 modulus_top, u32 seed) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  std::uint64_t x = (i + 1) * 0xd1342543de82ef95 + seed;
  const u32 mask = ~0u >> __clz(modulus_top);
  for (int k = 0; k < 8;) {
    x += 0x9e3779b97f4a7c15;
    std::uint64_t z = x;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    const u32 word = static_cast<u32>(z ^ (z >> 31)) & (k == 7 ? mask : ~0u);
    if (k == 7 && word >= modulus_top) continue;
    out[8 * i + k++] = word;
  }
}

MsmCudaOptions msm_options;
unsigned only_log = 0;  // 0: every size

template <class Fr>
void bench_ntt(const char* name, unsigned max_log, double slots, double rate_slots) {
  const unsigned top = std::min(max_log, 27u);
  auto table = must(gpu::DeviceBuffer<Fr>::allocate(ntt_cuda_table_elements(top)));
  auto data = must(gpu::DeviceBuffer<Fr>::allocate(std::size_t{1} << top));
  must(ntt_cuda_fill_table<Fr>(nullptr, table.span()));
  const u32 modulus_top = static_cast<u32>(Fr::kModulus[3] >> 32);
  fill_scalars<<<(1u << top) / 256, 256>>>(reinterpret_cast<u32*>(data.span().data()), data.size(),
                                           modulus_top, 1);
  std::printf("%s, ms: forward n->r, inverse r->n, odd coset forward n->r, inverse n->r | floor\n",
              name);
  for (unsigned k : {16u, 18u, 20u, 22u, 24u, 26u, 27u}) {
    if (k > top) break;
    if (only_log != 0 && k != only_log) continue;
    const auto span = data.span().first(std::size_t{1} << k);
    const auto t = table.const_span();
    const int repeats = k < 24 ? 21 : 7;
    const double a = median_ms(
        repeats, [&] { must(ntt_cuda_forward_natural_to_reversed<Fr>(nullptr, t, span, {})); });
    const double b = median_ms(
        repeats, [&] { must(ntt_cuda_inverse_reversed_to_natural<Fr>(nullptr, t, span, {})); });
    const bool odd = k < Fr::Params::kTwoAdicity;
    const double c = !odd ? 0 : median_ms(repeats, [&] {
      must(ntt_cuda_forward_natural_to_reversed<Fr>(nullptr, t, span, {.coset = NttCoset::kOdd}));
    });
    const double d = median_ms(repeats, [&] {
      must(ntt_cuda_inverse_natural_to_reversed<Fr>(nullptr, t, span, {.scale = false}));
    });
    const double n = static_cast<double>(std::size_t{1} << k);
    const double floor = n * k / 2 * slots / rate_slots * 1e3;
    std::printf("2^%-3u %9.3f %9.3f %9.3f %9.3f | %9.3f (%.2f)  %7.1f M elements/s\n", k, a, b, c,
                d, floor, floor / a, n / a / 1e3);
  }
}

template <class P>
__device__ __noinline__ device::DeviceFp<P> inverse(const device::DeviceFp<P>& a) {
  using F = device::DeviceFp<P>;
  F r = F::one();
  for (int i = F::kWords - 1; i >= 0; --i) {
    const u32 word = F::Modulus::p(i) - (i == 0 ? 2 : 0);  // p - 2; the lowest word is not below 2
    for (int bit = 31; bit >= 0; --bit) {
      r = r.square();
      if (word >> bit & 1) r = r * a;
    }
  }
  return r;
}
template <class F>
__device__ __noinline__ device::DeviceFp2<F> inverse(const device::DeviceFp2<F>& a) {
  const F n = inverse(a.c0.square() + a.c1.square());
  return {a.c0 * n, -(a.c1 * n)};
}

// (i + 1) * G for i < count, from `low`, the first 2^low_log multiples of G, and `high`, those of
// 2^low_log * G.
template <class F>
__global__ void fill_bases(const DeviceAffine<F>* low, const DeviceAffine<F>* high,
                           unsigned low_log, std::size_t count, DeviceAffine<F>* out) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  DeviceXyzz<F> sum = DeviceXyzz<F>::from_affine(low[i & ((1u << low_log) - 1)]);
  if (i >> low_log) sum.add(high[(i >> low_log) - 1]);
  const F z = inverse(sum.zzz);
  out[i] = {sum.x * (z * sum.zz).square(), sum.y * z};
}

template <class G>
gpu::DeviceBuffer<Affine<G>> make_bases(std::size_t count) {
  constexpr unsigned kLowLog = 13;
  using F = device::DeviceField<typename G::Field>;
  const auto low = cases::multiples_of_generator<G>(std::size_t{1} << kLowLog);
  std::vector<Affine<G>> high;
  Xyzz<G> p = Xyzz<G>::identity();
  for (std::size_t i = 0; i < (count >> kLowLog); ++i) {
    p += low.back();
    high.push_back(p.to_affine());
  }
  auto device_low = must(gpu::DeviceBuffer<Affine<G>>::allocate(low.size()));
  auto device_high = must(gpu::DeviceBuffer<Affine<G>>::allocate(high.size() + 1));
  auto out = must(gpu::DeviceBuffer<Affine<G>>::allocate(count));
  must(gpu::upload(nullptr, device_low.span(), std::span<const Affine<G>>(low)));
  must(gpu::upload(nullptr, device_high.span().first(high.size()),
                   std::span<const Affine<G>>(high)));
  fill_bases<F><<<static_cast<u32>((count + 127) / 128), 128>>>(
      reinterpret_cast<const DeviceAffine<F>*>(device_low.span().data()),
      reinterpret_cast<const DeviceAffine<F>*>(device_high.span().data()), kLowLog, count,
      reinterpret_cast<DeviceAffine<F>*>(out.span().data()));
  must(gpu::launched("fill_bases"));
  must(gpu::check_cuda(cudaStreamSynchronize(nullptr), "fill_bases"));
  return out;
}

// (sum of (i + 1) s_i) G.
template <class G>
Xyzz<G> closed_form(const std::vector<ScalarFor<G>>& scalars) {
  using Fr = ScalarField<G>;
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Fr> parts(threads, Fr::zero());
  std::vector<std::jthread> workers;
  for (unsigned t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      const std::size_t from = scalars.size() * t / threads;
      const std::size_t to = scalars.size() * (t + 1) / threads;
      Fr sum = Fr::zero();
      Fr weight = Fr::from_u64(from + 1);
      for (std::size_t i = from; i < to; ++i) {
        Fr term = {scalars[i].limbs};  // s / R
        term *= weight;
        sum += term;
        weight += Fr::one();
      }
      parts[t] = sum;
    });
  }
  workers.clear();
  Fr total = Fr::zero();
  for (const Fr& part : parts) total += part;
  total *= Fr{Fr::kR2};
  return Xyzz<G>::from_affine(G::generator()).mul(total.to_scalar());
}

template <class G>
void bench_msm(const char* name, unsigned max_log, double add_slots, double rate_slots) {
  using Fr = ScalarField<G>;
  const std::size_t most = std::size_t{1} << max_log;
  auto bases = make_bases<G>(most);
  auto scalars = must(gpu::DeviceBuffer<ScalarFor<G>>::allocate(most));
  auto result = must(gpu::DeviceBuffer<Xyzz<G>>::allocate(64));
  const u32 modulus_top = static_cast<u32>(Fr::kModulus[3] >> 32);
  fill_scalars<<<static_cast<u32>((most + 255) / 256), 256>>>(
      reinterpret_cast<u32*>(scalars.span().data()), most, modulus_top, 7);
  std::printf("%s: size, windows, bits, scratch MiB, ms, M terms/s, of the floor (pairs only)\n",
              name);
  for (unsigned k : {16u, 18u, 20u, 22u, 24u, 26u, 27u}) {
    if (k > max_log) break;
    if (only_log != 0 && k != only_log) continue;
    const std::size_t n = std::size_t{1} << k;
    const MsmCudaPlan plan = must(msm_cuda_plan<G>(n, msm_options));
    auto scratch = must(gpu::DeviceBuffer<std::byte>::allocate(plan.scratch_bytes));
    const auto s = scalars.const_span().first(n);
    auto b = bases.const_span().first(n);
    std::optional<gpu::DeviceBuffer<Affine<G>>> multiples;
    if (plan.multiples) {
      multiples = must(gpu::DeviceBuffer<Affine<G>>::allocate(plan.bases()));
      must(gpu::check_cuda(cudaMemcpyAsync(multiples->span().data(), b.data(), b.size_bytes(),
                                           cudaMemcpyDeviceToDevice, nullptr),
                           "copying bases"));
      const auto room = multiples->span();
      auto work =
          must(gpu::DeviceBuffer<std::byte>::allocate(msm_cuda_multiples_scratch_bytes<G>(n)));
      const double made =
          median_ms(1, [&] { must(msm_cuda_fill_multiples<G>(nullptr, plan, room, work.span())); });
      std::printf("2^%-3u multiples of the bases: %.1f MiB in %.1f ms\n", k,
                  static_cast<double>(room.size_bytes()) / 1048576, made);
      b = room;
    }
    const double ms = median_ms(k < 24 ? 11 : 5, [&] {
      must(msm_cuda<G>(nullptr, plan, s, b, scratch.span(), result.span()));
    });
    std::vector<Xyzz<G>> sums(plan.sums());
    std::vector<ScalarFor<G>> host(n);
    must(gpu::download(nullptr, std::span<Xyzz<G>>(sums), result.const_span().first(plan.sums())));
    must(gpu::download(nullptr, std::span<ScalarFor<G>>(host), s));
    must(gpu::check_cuda(cudaStreamSynchronize(nullptr), "download"));
    const auto start = std::chrono::steady_clock::now();
    const Xyzz<G> got = msm_cuda_finish<G>(plan, sums);
    const std::chrono::duration<double, std::milli> finish =
        std::chrono::steady_clock::now() - start;
    const bool right = got == closed_form<G>(host);
    const double floor = static_cast<double>(n) * plan.windows * add_slots / rate_slots * 1e3;
    std::printf(
        "2^%-3u %-6s W %2u  c %2u  %8.1f MiB  %9.3f ms + %.2f on the host  %8.1f M/s  %.2f  %s\n",
        k, plan.affine ? "affine" : "xyzz", plan.windows, plan.narrow_bits,
        static_cast<double>(plan.scratch_bytes) / 1048576, ms, finish.count(),
        static_cast<double>(n) / ms / 1e3, floor / ms, right ? "right" : "WRONG");
    std::fflush(stdout);
  }
}

int run(int argc, char** argv) {
  const auto devices = gpu::list_devices();
  if (devices.empty()) {
    std::printf("no CUDA device\n");
    return 2;
  }
  unsigned max_log = 26;
  std::string curve;  // empty: both
  std::vector<std::string> sections;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("max=")) {
      max_log = static_cast<unsigned>(std::atoi(argument.c_str() + 4));
    } else if (argument.starts_with("only=")) {
      only_log = static_cast<unsigned>(std::atoi(argument.c_str() + 5));
    } else if (argument.starts_with("curve=")) {
      curve = argument.substr(6);
    } else if (argument.starts_with("windows=")) {
      msm_options.windows = static_cast<unsigned>(std::atoi(argument.c_str() + 8));
    } else if (argument.starts_with("pairs=")) {
      msm_options.pairs_per_batch = std::size_t{1} << std::atoi(argument.c_str() + 6);
    } else if (argument == "multiples") {
      msm_options.multiples = true;
    } else if (argument == "xyzz") {
      msm_options.additions = MsmAdditions::kXyzz;
    } else if (argument == "affine") {
      msm_options.additions = MsmAdditions::kAffine;
    } else {
      sections.push_back(argument);
    }
  }
  const auto wanted = [&](const char* section) {
    return sections.empty() || std::count(sections.begin(), sections.end(), section) > 0;
  };
  const bool bls = curve.empty() || curve == "bls12-381";
  const bool bn = curve.empty() || curve == "bn254";
  const gpu::DeviceInfo& device = devices[0];
  const double rate = slots_per_second(device);
  int driver = 0;
  cudaDriverGetVersion(&driver);
  std::printf("%s, %d multiprocessors, sm_%d%d, driver for CUDA %d.%d, %.3g multiplier slots/s\n",
              device.name.c_str(), device.multiprocessors, device.capability_major,
              device.capability_minor, driver / 1000, driver % 1000 / 10, rate);
  if (wanted("field")) {
    bench_field<bls12_381::Fq>("bls12-381 Fq", 588, rate);
    bench_field<bls12_381::Fr>("bls12-381 Fr", 224, rate);
    bench_field<bn254::Fq>("bn254 Fq", 264, rate);
    bench_field<bls12_381::Fq2>("bls12-381 Fq2", 1464, rate);
  }
  if (wanted("ntt")) {
    if (bls) bench_ntt<bls12_381::Fr>("NTT bls12-381 Fr", max_log + 1, 224, rate);
    if (bn) bench_ntt<bn254::Fr>("NTT bn254 Fr", max_log, 264, rate);
  }
  if (wanted("msm")) {
    if (bls) bench_msm<Bls12_381G1>("MSM bls12-381 G1", max_log, 5328, rate);
    if (bn) bench_msm<Bn254G1>("MSM bn254 G1", max_log, 2404, rate);
  }
  if (wanted("g2")) {
    if (bls) bench_msm<Bls12_381G2>("MSM bls12-381 G2", std::min(max_log, 24u), 14064, rate);
    if (bn) bench_msm<Bn254G2>("MSM bn254 G2", std::min(max_log, 24u), 6304, rate);
  }
  return 0;
}

}  // namespace
}  // namespace cuzk

int main(int argc, char** argv) { return cuzk::run(argc, argv); }
