# SPDX-License-Identifier: Apache-2.0
# What this configuration will build, in a few lines.
function(starling_yes variable condition)
  if(${condition})
    set(${variable} "yes" PARENT_SCOPE)
  else()
    set(${variable} "no" PARENT_SCOPE)
  endif()
endfunction()

if(PROJECT_IS_TOP_LEVEL)
  starling_yes(starling_has_hdf5 HDF5_FOUND)
  starling_yes(starling_has_tbb TBB_FOUND)
  starling_yes(starling_has_openmp OpenMP_CXX_FOUND)
  set(starling_cuda_line "no (host backend only)")
  if(STARLING_WITH_CUDA)
    set(starling_cuda_line "${CMAKE_CUDA_COMPILER_VERSION}, sm_${CMAKE_CUDA_ARCHITECTURES}")
  endif()
  set(starling_kokkos_line "no")
  if(STARLING_WITH_KOKKOS)
    set(starling_kokkos_line "${Kokkos_VERSION} (${Kokkos_DEVICES})")
  endif()
  message(STATUS "Starling ${PROJECT_VERSION}: modules ${STARLING_MODULES}; "
    "${CMAKE_BUILD_TYPE}, shared ${BUILD_SHARED_LIBS}, sanitizers '${STARLING_SANITIZE}'")
  message(STATUS "  CUDA: ${starling_cuda_line}")
  message(STATUS "  Kokkos: ${starling_kokkos_line}")
  message(STATUS "  HDF5: ${starling_has_hdf5}  oneTBB: ${starling_has_tbb}  "
    "OpenMP: ${starling_has_openmp}")
endif()
