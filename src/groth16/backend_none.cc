// The card's part of this folder in a build without CUDA: no card can be opened, and whoever asks
// for a backend all the same is told why.

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "groth16/backend_cuda.h"

namespace cuzk::groth16 {

namespace {

auto no_cuda() { return fail(ErrorCode::kInvalidArgument, "{}", gpu::no_device_reason()); }

}  // namespace

template <class Fr>
Result<std::shared_ptr<const DeviceTwiddles<Fr>>> DeviceTwiddles<Fr>::load(
    gpu::Card&, const DeviceDomain<Fr>&) {
  return no_cuda();
}
template <class Fr>
std::size_t DeviceCircuit<Fr>::bytes(const CompactR1cs<Fr>&, const Density&) {
  return 0;
}
template <class Fr>
Result<std::unique_ptr<DeviceCircuit<Fr>>> DeviceCircuit<Fr>::load(
    gpu::Card&, Tasks&, const CompactR1cs<Fr>&, const Density&,
    std::shared_ptr<const DeviceTwiddles<Fr>>, DeviceDomain<Fr>) {
  return no_cuda();
}
template <class Curve>
Result<typename DeviceKey<Curve>::Multiples> DeviceKey<Curve>::multiples_of(const KeyCounts&) {
  return no_cuda();
}
template <class Curve>
Status DeviceKey<Curve>::add_multiples(gpu::Card&) {
  return no_cuda();
}
template <class Curve>
Result<std::unique_ptr<Backend<Curve>>> make_cuda_backend(gpu::Card&,
                                                          const DeviceCircuit<typename Curve::Fr>&,
                                                          const KeyBases<Curve>&,
                                                          CudaBackendOptions) {
  return no_cuda();
}
template <class Curve>
Result<std::size_t> cuda_lease_bytes(const CompactR1cs<typename Curve::Fr>&, const Density&,
                                     const CudaLease&) {
  return no_cuda();
}
template <class Curve>
Result<std::vector<CudaWay>> cuda_ways(const CompactR1cs<typename Curve::Fr>&, const Density&,
                                       const CudaLease&) {
  return no_cuda();
}
template <class Curve>
Result<DeviceSetup<Curve>> insecure_dev_setup_on_card(const Context&, gpu::Card&,
                                                      const CompactR1cs<typename Curve::Fr>&,
                                                      const Density&, const ToxicWaste<Curve>&) {
  return no_cuda();
}

Status self_test(const Context&, gpu::Card&) { return no_cuda(); }

#define CUZK_INSTANTIATE(Curve)                                                                  \
  template class DeviceTwiddles<Curve::Fr>;                                                      \
  template class DeviceCircuit<Curve::Fr>;                                                       \
  template Result<DeviceKey<Curve>::Multiples> DeviceKey<Curve>::multiples_of(const KeyCounts&); \
  template Status DeviceKey<Curve>::add_multiples(gpu::Card&);                                   \
  template Result<std::unique_ptr<Backend<Curve>>> make_cuda_backend(                            \
      gpu::Card&, const DeviceCircuit<typename Curve::Fr>&, const KeyBases<Curve>&,              \
      CudaBackendOptions);                                                                       \
  template Result<std::size_t> cuda_lease_bytes<Curve>(const CompactR1cs<typename Curve::Fr>&,   \
                                                       const Density&, const CudaLease&);        \
  template Result<std::vector<CudaWay>> cuda_ways<Curve>(const CompactR1cs<typename Curve::Fr>&, \
                                                         const Density&, const CudaLease&);      \
  template Result<DeviceSetup<Curve>> insecure_dev_setup_on_card(                                \
      const Context&, gpu::Card&, const CompactR1cs<typename Curve::Fr>&, const Density&,        \
      const ToxicWaste<Curve>&);
CUZK_INSTANTIATE(Bls12_381)
CUZK_INSTANTIATE(Bn254)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
