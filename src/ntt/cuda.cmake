cuzk_cuda_sources(ntt ntt_cuda_bls12_381.cu ntt_cuda_bn254.cu)
target_link_libraries(cuzk_ntt PUBLIC cuzk::gpu)
cuzk_test(ntt ntt_cuda_test SOURCES ntt_cuda_test.cc LABELS gpu)
