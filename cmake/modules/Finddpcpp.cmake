# SPDX-License-Identifier: Apache-2.0
# Finds the runtime of Intel's DPC++ and its headers: dpcpp::runtime. If the environment variable
# SYCL_ROOT names a folder, only that folder is searched; otherwise the project's own environment
# (where the Python wheels intel-sycl-rt and intel-opencl-rt are installed), a sourced oneAPI
# (CMPLR_ROOT), and the folder of icpx. Any C++17 compiler accepts the headers; only a device
# compiler compiles kernels that are lambdas.
find_program(DPCPP_COMPILER icpx)
set(dpcpp_hints "${PROJECT_SOURCE_DIR}/.venv" "$ENV{CMPLR_ROOT}")
if(DPCPP_COMPILER)
  get_filename_component(dpcpp_beside "${DPCPP_COMPILER}" DIRECTORY)
  list(APPEND dpcpp_hints "${dpcpp_beside}/..")
endif()
set(dpcpp_only "")
if(NOT "$ENV{SYCL_ROOT}" STREQUAL "")
  set(dpcpp_hints "$ENV{SYCL_ROOT}")
  set(dpcpp_only NO_DEFAULT_PATH)
endif()
# Discards the result of an earlier run with another SYCL_ROOT. A run without SYCL_ROOT, such as one
# that the build starts itself, keeps the result.
if(dpcpp_only AND NOT "${DPCPP_SYCL_ROOT}" STREQUAL "$ENV{SYCL_ROOT}")
  if(DEFINED DPCPP_SYCL_ROOT)
    unset(DPCPP_INCLUDE_DIR CACHE)
    unset(DPCPP_LIBRARY CACHE)
  endif()
  set(DPCPP_SYCL_ROOT "$ENV{SYCL_ROOT}" CACHE INTERNAL "SYCL_ROOT of the last search")
endif()
find_path(DPCPP_INCLUDE_DIR NAMES sycl/ext/oneapi/free_function_queries.hpp sycl/version.hpp
  HINTS ${dpcpp_hints} PATH_SUFFIXES include ${dpcpp_only})
find_library(DPCPP_LIBRARY NAMES sycl HINTS ${dpcpp_hints} PATH_SUFFIXES lib ${dpcpp_only})
mark_as_advanced(DPCPP_COMPILER DPCPP_INCLUDE_DIR DPCPP_LIBRARY)

set(DPCPP_VERSION "")
if(DPCPP_INCLUDE_DIR AND EXISTS "${DPCPP_INCLUDE_DIR}/sycl/version.hpp")
  file(STRINGS "${DPCPP_INCLUDE_DIR}/sycl/version.hpp" dpcpp_lines
    REGEX "define __LIBSYCL_(MAJOR|MINOR|PATCH)_VERSION")
  string(REGEX MATCHALL "[0-9]+" dpcpp_numbers "${dpcpp_lines}")
  list(JOIN dpcpp_numbers "." DPCPP_VERSION)
endif()

if(DPCPP_LIBRARY)
  get_filename_component(DPCPP_LIBRARY_DIR "${DPCPP_LIBRARY}" DIRECTORY)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(dpcpp REQUIRED_VARS DPCPP_LIBRARY DPCPP_INCLUDE_DIR
  VERSION_VAR DPCPP_VERSION)
if(dpcpp_FOUND AND NOT TARGET dpcpp::runtime)
  add_library(dpcpp::runtime SHARED IMPORTED)
  set_target_properties(dpcpp::runtime PROPERTIES
    IMPORTED_LOCATION "${DPCPP_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${DPCPP_INCLUDE_DIR}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${DPCPP_INCLUDE_DIR}"
    # The headers warn every compiler but DPC++ that kernels will not be compiled; Starling compiles
    # them at run time.
    INTERFACE_COMPILE_DEFINITIONS SYCL_DISABLE_FSYCL_SYCLHPP_WARNING)
endif()
