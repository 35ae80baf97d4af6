cuzk_cuda_sources(msm msm_cuda_sort.cu msm_cuda_bls12_381_g1.cu msm_cuda_bls12_381_g2.cu
                  msm_cuda_bn254_g1.cu msm_cuda_bn254_g2.cu)
target_link_libraries(cuzk_msm PUBLIC cuzk::gpu)
cuzk_test(msm msm_cuda_test SOURCES msm_cuda_test.cc LABELS gpu)
if(CUZK_BENCH)
  add_executable(cuzk_cuda_kernels_bench cuda_kernels_bench.cu)
  target_link_libraries(cuzk_cuda_kernels_bench PRIVATE cuzk::msm cuzk::ntt)
  cuzk_cuda_sources(cuzk_cuda_kernels_bench)
endif()
