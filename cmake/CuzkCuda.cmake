# CUDA: the language, the architectures, and cuzk_cuda_sources().
#
# CUZK_CUDA_ARCHITECTURES  one architecture while developing (the default, 90), because each costs
#   minutes of ptxas. A release carries machine code for all cards from Turing on, and PTX for those
#   to come: the preset cuda-release, "75-real;80-real;86-real;89-real;90-real;100-real;120".

set(CUZK_CUDA_ARCHITECTURES "90" CACHE STRING "CUDA architectures to build for")
if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
  set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
endif()
set(CMAKE_CUDA_ARCHITECTURES ${CUZK_CUDA_ARCHITECTURES})
# CMake 3.25 does not know that this nvcc speaks C++20; the flag says it instead.
set(CMAKE_CUDA_STANDARD_REQUIRED OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)

# FMT_USE_CONSTEXPR: fmt 9 turns constexpr off under nvcc but leaves consteval on, which cannot
# compile. --expt-relaxed-constexpr: device code evaluates the fields' constants.
set(CUZK_CUDA_FLAGS -std=c++20 --expt-relaxed-constexpr -DFMT_USE_CONSTEXPR=1)

# cuzk_cuda_sources(MODULE files...)
#   Adds .cu and CUDA host files to a module or test that exists already.
function(cuzk_cuda_sources target)
  if(TARGET cuzk_${target})
    set(target cuzk_${target})
  endif()
  target_sources(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${CUZK_CUDA_FLAGS}>")
  target_link_libraries(${target} PRIVATE CUDA::cudart_static)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${CUZK_CUDA_ARCHITECTURES}")
endfunction()
