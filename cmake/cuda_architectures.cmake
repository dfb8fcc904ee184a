# SPDX-License-Identifier: Apache-2.0
# The architectures that CUDA code is compiled for.

# starling_gpu_architectures(<variable>): the architectures of this machine's GPUs, empty without a
# GPU. Queries the driver, because CMake's `native` fails late and with an unclear message where GPU
# and driver do not match.
function(starling_gpu_architectures variable)
  set(${variable} "" PARENT_SCOPE)
  find_program(STARLING_NVIDIA_SMI nvidia-smi)
  mark_as_advanced(STARLING_NVIDIA_SMI)
  if(NOT STARLING_NVIDIA_SMI)
    return()
  endif()
  execute_process(COMMAND "${STARLING_NVIDIA_SMI}" --query-gpu=compute_cap --format=csv,noheader
    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_QUIET TIMEOUT 60)
  if(code STREQUAL "0")
    string(REGEX MATCHALL "[0-9]+\\.[0-9]+" found "${text}")
    list(REMOVE_DUPLICATES found)
    string(REPLACE "." "" found "${found}")
    set(${variable} "${found}" PARENT_SCOPE)
  endif()
endfunction()

# starling_choose_cuda_architectures(): sets CMAKE_CUDA_ARCHITECTURES unless it is set, and
# STARLING_CUDA_CHOICE to the reason of the choice, for the summary.
function(starling_choose_cuda_architectures)
  if(DEFINED CMAKE_CUDA_ARCHITECTURES)
    return()
  endif()
  starling_gpu_architectures(architectures)
  set(reason "those of this machine's GPUs")
  if(NOT architectures)
    # Ampere and Hopper, and PTX, which drivers compile for newer architectures.
    set(architectures 80-real 90-real 90-virtual)
    set(reason "no GPU here")
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${architectures} PARENT_SCOPE)
  set(STARLING_CUDA_CHOICE "${reason}; CMAKE_CUDA_ARCHITECTURES chooses others" PARENT_SCOPE)
endfunction()
