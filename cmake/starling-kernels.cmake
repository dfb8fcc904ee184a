# SPDX-License-Identifier: Apache-2.0
# CUDA for kernels: used by this project and, installed beside its package file, by its users.

# starling_enable_cuda(): the CUDA language as Starling's headers need it. A macro, because
# enable_language() must run in the folder's own scope.
macro(starling_enable_cuda)
  # One host compiler for both languages, so that objects and standard libraries agree.
  if(NOT DEFINED CMAKE_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
  endif()
  # Static: the same binary starts on machines without a GPU or a CUDA runtime.
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  # CMake 3.25 does not know that nvcc speaks C++20.
  foreach(starling_kind IN ITEMS STANDARD EXTENSION)
    if(NOT CMAKE_CUDA20_${starling_kind}_COMPILE_OPTION)
      set(CMAKE_CUDA20_${starling_kind}_COMPILE_OPTION "-std=c++20")
    endif()
  endforeach()
endmacro()

# starling_add_kernels(<target> <file>.cu...): compiles the device form of kernels into a program or
# shared library, where the Starling it uses has CUDA; elsewhere it does nothing. Not to be called
# from inside a function.
macro(starling_add_kernels starling_target)
  if(starling_WITH_CUDA)
    if(NOT DEFINED CMAKE_CUDA_COMPILER AND EXISTS "${starling_CUDA_COMPILER}")
      set(CMAKE_CUDA_COMPILER "${starling_CUDA_COMPILER}")
    endif()
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES "${starling_CUDA_ARCHITECTURES}")
    endif()
    starling_enable_cuda()
    target_sources(${starling_target} PRIVATE ${ARGN})
    # The target may be older than the language: it has not inherited these.
    set_target_properties(${starling_target} PROPERTIES
      CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
      CUDA_RUNTIME_LIBRARY Static
      CUDA_STANDARD 20
      CUDA_STANDARD_REQUIRED ON
      CUDA_EXTENSIONS OFF)
    # Kernels are constexpr function objects: this flag lets the device call them.
    target_compile_options(${starling_target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")
  endif()
endmacro()
