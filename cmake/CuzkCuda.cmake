# CUDA for the modules that have kernels. Development builds carry one architecture; a release carries
# every one from Turing to Blackwell and the newest as PTX:
#   -DCUZK_CUDA_ARCHITECTURES="75-real;80-real;86-real;89-real;90-real;100-real;120-real;120-virtual"
set(CUZK_CUDA_ARCHITECTURES "90" CACHE STRING "CUDA architectures to build for")
if(NOT CMAKE_CUDA_COMPILER)
  find_program(CUZK_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(NOT CUZK_NVCC)
    message(FATAL_ERROR "CUZK_CUDA is on, but nvcc was not found. Install the CUDA toolkit, 12.8 or newer, or leave CUZK_CUDA off")
  endif()
  set(CMAKE_CUDA_COMPILER ${CUZK_NVCC})
endif()
set(CMAKE_CUDA_ARCHITECTURES ${CUZK_CUDA_ARCHITECTURES})
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
find_package(CUDAToolkit REQUIRED)
set_property(GLOBAL PROPERTY CUZK_HAS_CUDA ON)
