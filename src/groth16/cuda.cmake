cuzk_cuda_sources(groth16 rows_cuda_bls12_381.cu rows_cuda_bn254.cu backend_cuda.cc cuda_plan.cc
                  device_circuit.cc self_test_cuda.cc setup_cuda.cc)
cuzk_test(groth16 backend_cuda_test SOURCES backend_cuda_test.cc LABELS gpu
          SYSTEM nlohmann_json::nlohmann_json)
