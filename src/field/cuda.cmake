if(CUZK_TESTS)
  cuzk_test(field field_cuda_test SOURCES field_cuda_test.cu LABELS gpu DEPENDS gpu)
  cuzk_cuda_sources(field_cuda_test)
endif()
