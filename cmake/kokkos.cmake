# SPDX-License-Identifier: Apache-2.0
# Decides whether the Kokkos backend is built. Sets STARLING_WITH_KOKKOS.
include(starling-kernels)

set(STARLING_WITH_KOKKOS OFF)
set(STARLING_KOKKOS_MINIMUM 3.4)
if(NOT STARLING_KOKKOS MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "STARLING_KOKKOS is '${STARLING_KOKKOS}'; use AUTO, ON or OFF")
endif()

# starling_kokkos_fault(<variable>): sets the variable to the reason why the Kokkos that was found
# cannot be used, or to an empty string.
function(starling_kokkos_fault variable)
  set(${variable} "" PARENT_SCOPE)
  foreach(space IN ITEMS HIP SYCL OPENMPTARGET OPENACC)
    if(Kokkos_ENABLE_${space})
      set(${variable} "it computes on ${space}, and the backend knows Kokkos' host spaces and CUDA \
only" PARENT_SCOPE)
    endif()
  endforeach()
  if(Kokkos_VERSION VERSION_LESS STARLING_KOKKOS_MINIMUM)
    set(${variable} "it is version ${Kokkos_VERSION}, ${STARLING_KOKKOS_MINIMUM} is needed"
      PARENT_SCOPE)
  elseif(Kokkos_ENABLE_CUDA AND NOT STARLING_WITH_CUDA)
    set(${variable} "it computes on CUDA, and this build has no CUDA backend (-DSTARLING_CUDA=ON)"
      PARENT_SCOPE)
  elseif(NOT Kokkos_ENABLE_CUDA AND NOT Kokkos_ENABLE_SERIAL)
    set(${variable} "it has neither Serial nor CUDA (its execution spaces: ${Kokkos_DEVICES}); \
configure it with -DKokkos_ENABLE_SERIAL=ON" PARENT_SCOPE)
  endif()
endfunction()

if(NOT STARLING_KOKKOS STREQUAL "OFF")
  starling_find_kokkos()
  if(NOT Kokkos_FOUND)
    if(STARLING_KOKKOS STREQUAL "ON")
      message(FATAL_ERROR "STARLING_KOKKOS=ON but CMake finds no Kokkos: install one "
        "(libtrilinos-kokkos-dev on Debian and Ubuntu), name its folder with -DKokkos_DIR or "
        "CMAKE_PREFIX_PATH, or use -DSTARLING_KOKKOS=OFF")
    endif()
  else()
    starling_kokkos_fault(starling_fault)
    if(NOT starling_fault)
      set(STARLING_WITH_KOKKOS ON)
    elseif(STARLING_KOKKOS STREQUAL "ON")
      message(FATAL_ERROR "STARLING_KOKKOS=ON but the Kokkos in ${Kokkos_DIR} cannot be used: "
        "${starling_fault}")
    else()
      message(WARNING "No Kokkos backend: the Kokkos in ${Kokkos_DIR} cannot be used: "
        "${starling_fault}\n-DSTARLING_KOKKOS=OFF silences this.")
    endif()
  endif()
endif()
set(starling_WITH_KOKKOS "${STARLING_WITH_KOKKOS}")  # the name in an installed package
