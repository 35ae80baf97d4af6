cuzk_cuda_sources(groth16 rows_cuda_bls12_381.cu rows_cuda_bn254.cu backend_cuda.cc cuda_plan.cc
                  device_circuit.cc multiples_cuda.cc self_test_cuda.cc setup_cuda.cc)
cuzk_test(groth16 backend_cuda_test SOURCES backend_cuda_test.cc LABELS gpu
          SYSTEM nlohmann_json::nlohmann_json)

# What CUDA is asked while proofs run, as CUPTI reports it; where there is no CUPTI the test says so.
cuzk_test(groth16 api_trace_cuda_test SOURCES api_trace_cuda_test.cc LABELS gpu)
if(CUZK_TESTS)
  set(hints ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_ROOT_DIR})
  find_path(CUZK_CUPTI_INCLUDE cupti.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${hints}
            PATH_SUFFIXES include extras/CUPTI/include)
  find_library(CUZK_CUPTI_LIBRARY cupti HINTS ${CUDAToolkit_LIBRARY_DIR} ${hints}
               PATH_SUFFIXES lib64 lib extras/CUPTI/lib64)
  if(CUZK_CUPTI_INCLUDE AND CUZK_CUPTI_LIBRARY)
    target_compile_definitions(api_trace_cuda_test PRIVATE CUZK_HAS_CUPTI)
    target_include_directories(api_trace_cuda_test SYSTEM PRIVATE ${CUZK_CUPTI_INCLUDE})
    target_link_libraries(api_trace_cuda_test PRIVATE ${CUZK_CUPTI_LIBRARY})
  else()
    message(WARNING "CUPTI was not found: api_trace_cuda_test will be skipped")
  endif()
endif()
cuzk_test(groth16 backend_cuda_large_test SOURCES backend_cuda_large_test.cc LABELS gpu slow)
