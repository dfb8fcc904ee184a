# SPDX-License-Identifier: Apache-2.0
# Decides whether the CUDA backend is built and enables the language. Sets STARLING_WITH_CUDA.
# Included from the root (not a function): enable_language() must run there.

set(STARLING_WITH_CUDA OFF)
if(NOT STARLING_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "STARLING_CUDA is '${STARLING_CUDA}'; use AUTO, ON or OFF")
endif()

if(NOT STARLING_CUDA STREQUAL "OFF")
  find_program(STARLING_NVCC nvcc
    HINTS "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(STARLING_NVCC)
  if(STARLING_NVCC)
    set(STARLING_WITH_CUDA ON)
  elseif(STARLING_CUDA STREQUAL "ON")
    message(FATAL_ERROR "STARLING_CUDA=ON but no nvcc was found: install the CUDA toolkit, "
      "put its bin folder on PATH, or use -DSTARLING_CUDA=OFF (host backend only)")
  endif()
endif()

if(STARLING_WITH_CUDA)
  # One host compiler for both languages, so that objects and standard libraries agree.
  if(NOT DEFINED CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER "${STARLING_NVCC}")
  endif()
  if(NOT DEFINED CMAKE_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  # Static: the same binary starts on machines without a GPU or a CUDA runtime.
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)

  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  # CMake 3.25 does not know that nvcc speaks C++20.
  foreach(kind IN ITEMS STANDARD EXTENSION)
    if(NOT CMAKE_CUDA20_${kind}_COMPILE_OPTION)
      set(CMAKE_CUDA20_${kind}_COMPILE_OPTION "-std=c++20")
    endif()
  endforeach()
  # Kernels are constexpr function objects: this flag lets the device call them.
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")
endif()
