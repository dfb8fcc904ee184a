# SPDX-License-Identifier: Apache-2.0
# Decides whether the CUDA backend is built, and enables the language. Sets STARLING_WITH_CUDA.
# Included from the root, not a function: enable_language() must run there.
include(starling-kernels)
include(cuda_architectures)

set(STARLING_WITH_CUDA OFF)
# The oldest accepted nvcc: its PTX (8.4) has the 128-bit loads of resident programs, and it
# compiles C++20.
set(STARLING_CUDA_MINIMUM 12.4)
if(NOT STARLING_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "STARLING_CUDA is '${STARLING_CUDA}'; use AUTO, ON or OFF")
endif()

# starling_nvcc_fault(<variable> <nvcc>): sets the variable to the reason why <nvcc> cannot be used,
# or to an empty string. A pair of nvcc and host compiler that works is tested once
# (STARLING_NVCC_WORKS).
function(starling_nvcc_fault variable nvcc)
  set(${variable} "" PARENT_SCOPE)
  set(host "${CMAKE_CUDA_HOST_COMPILER}")
  if(NOT host)
    set(host "${CMAKE_CXX_COMPILER}")
  endif()
  if(STARLING_NVCC_WORKS STREQUAL "${nvcc} ${host}")
    return()
  endif()
  execute_process(COMMAND "${nvcc}" --version
    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code STREQUAL "0" OR NOT text MATCHES "release ([0-9]+\\.[0-9]+)")
    set(${variable} "it does not tell its version (${code})" PARENT_SCOPE)
    return()
  endif()
  if(CMAKE_MATCH_1 VERSION_LESS STARLING_CUDA_MINIMUM)
    set(${variable} "it is version ${CMAKE_MATCH_1}, ${STARLING_CUDA_MINIMUM} is needed"
      PARENT_SCOPE)
    return()
  endif()
  set(probe "${CMAKE_BINARY_DIR}/CMakeFiles/starling_nvcc_probe.cu")
  file(WRITE "${probe}" "#include <concepts>\n__global__ void probe(std::integral auto) {}\n"
    "template __global__ void probe<int>(int);\n")
  execute_process(COMMAND "${nvcc}" -std=c++20 -ccbin "${host}" -c "${probe}" -o "${probe}.o"
    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code STREQUAL "0")
    set(${variable} "it does not compile with ${host}:\n${text}" PARENT_SCOPE)
    return()
  endif()
  set(STARLING_NVCC_WORKS "${nvcc} ${host}" CACHE INTERNAL "nvcc and host compiler that work")
endfunction()

if(NOT STARLING_CUDA STREQUAL "OFF")
  find_program(STARLING_NVCC nvcc
    HINTS "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(STARLING_NVCC)
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND STARLING_NVCC)
    set(CMAKE_CUDA_COMPILER "${STARLING_NVCC}")
  endif()
  set(starling_fault "none was found")
  if(CMAKE_CUDA_COMPILER)
    starling_nvcc_fault(starling_fault "${CMAKE_CUDA_COMPILER}")
  endif()
  if(NOT starling_fault)
    set(STARLING_WITH_CUDA ON)
  elseif(STARLING_CUDA STREQUAL "ON")
    message(FATAL_ERROR "STARLING_CUDA=ON but nvcc cannot be used (${CMAKE_CUDA_COMPILER}): "
      "${starling_fault}\nInstall the CUDA toolkit, put its bin folder on PATH, or use "
      "-DSTARLING_CUDA=OFF (host backend only)")
  elseif(CMAKE_CUDA_COMPILER)
    message(WARNING "No CUDA backend: nvcc cannot be used (${CMAKE_CUDA_COMPILER}): "
      "${starling_fault}\n-DSTARLING_CUDA=OFF silences this.")
  endif()
endif()

if(STARLING_WITH_CUDA)
  starling_choose_cuda_architectures()
  starling_enable_cuda()
  find_package(CUDAToolkit REQUIRED)
  # CUPTI, for timelines with kernels; loaded at run time when a timeline is requested.
  find_path(CUPTI_INCLUDE_DIR cupti.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
    PATHS "${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include")
  find_library(CUPTI_LIBRARY NAMES cupti libcupti.so.${CUDAToolkit_VERSION_MAJOR}
    HINTS "${CUDAToolkit_LIBRARY_DIR}" "${CUPTI_INCLUDE_DIR}/../lib"
    PATHS "${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/lib64")
  mark_as_advanced(CUPTI_INCLUDE_DIR CUPTI_LIBRARY)
  # Kernels are constexpr function objects; with this flag the device can call them.
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")
endif()
