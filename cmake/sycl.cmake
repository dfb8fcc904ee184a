# SPDX-License-Identifier: Apache-2.0
# Decides whether the SYCL backend is built. Sets STARLING_WITH_SYCL and, if it is ON,
# dpcpp::runtime.
set(STARLING_WITH_SYCL OFF)
# The version of libsycl in oneAPI 2026, which reports the errors of all queues whichever is
# queried.
set(STARLING_SYCL_MINIMUM 9.0)
if(NOT STARLING_SYCL MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "STARLING_SYCL is '${STARLING_SYCL}'; use AUTO, ON or OFF")
endif()

# starling_sycl_fault(<variable>): sets the variable to the reason why the runtime that was found
# cannot be used, or to an empty string.
function(starling_sycl_fault variable)
  set(${variable} "" PARENT_SCOPE)
  if(NOT dpcpp_FOUND AND NOT "$ENV{SYCL_ROOT}" STREQUAL "")
    set(${variable} "none was found under SYCL_ROOT, $ENV{SYCL_ROOT}" PARENT_SCOPE)
  elseif(NOT dpcpp_FOUND)
    set(${variable} "none was found" PARENT_SCOPE)
  elseif(DPCPP_VERSION VERSION_LESS STARLING_SYCL_MINIMUM)
    set(${variable} "libsycl is version ${DPCPP_VERSION}, ${STARLING_SYCL_MINIMUM} is needed"
      PARENT_SCOPE)
  elseif(NOT STARLING_SYCL_WORKS STREQUAL "${DPCPP_LIBRARY} ${CMAKE_CXX_COMPILER}")
    set(probe "${CMAKE_BINARY_DIR}/CMakeFiles/starling_sycl_probe.cpp")
    file(WRITE "${probe}" "#include <sycl/sycl.hpp>\n"
      "int main() { return sycl::device::get_devices().size() > 1000; }\n")
    try_compile(works "${CMAKE_BINARY_DIR}/CMakeFiles/starling_sycl_probe" SOURCES "${probe}"
      LINK_LIBRARIES dpcpp::runtime OUTPUT_VARIABLE text
      CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
    if(works)
      set(STARLING_SYCL_WORKS "${DPCPP_LIBRARY} ${CMAKE_CXX_COMPILER}" CACHE INTERNAL
        "SYCL runtime and compiler that work together")
    else()
      set(${variable} "its headers do not compile with ${CMAKE_CXX_COMPILER}:\n${text}"
        PARENT_SCOPE)
    endif()
  endif()
endfunction()

if(NOT STARLING_SYCL STREQUAL "OFF")
  find_package(dpcpp MODULE QUIET)
  starling_sycl_fault(starling_fault)
  if(NOT starling_fault)
    set(STARLING_WITH_SYCL ON)
  elseif(STARLING_SYCL STREQUAL "ON")
    message(FATAL_ERROR "STARLING_SYCL=ON but there is no SYCL runtime to use (${DPCPP_LIBRARY}): "
      "${starling_fault}\nInstall one with `tools/deps.sh sycl`, name a oneAPI compiler's folder in "
      "the environment variable SYCL_ROOT, or use -DSTARLING_SYCL=OFF")
  elseif(dpcpp_FOUND OR NOT "$ENV{SYCL_ROOT}" STREQUAL "")
    message(WARNING "No SYCL backend: the runtime cannot be used (${DPCPP_LIBRARY}): "
      "${starling_fault}\n-DSTARLING_SYCL=OFF silences this.")
  endif()
endif()
