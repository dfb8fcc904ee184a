# SPDX-License-Identifier: Apache-2.0
# Finds the runtime of Intel's DPC++ and its headers: dpcpp::runtime. Looked for in the project's
# own environment (the Python wheels intel-sycl-rt and intel-opencl-rt put it there), under
# SYCL_ROOT, under a sourced oneAPI (CMPLR_ROOT), and beside icpx. Any C++17 compiler reads its
# headers; only a device compiler reads kernels that are lambdas.
find_program(DPCPP_COMPILER icpx)
set(dpcpp_hints "${PROJECT_SOURCE_DIR}/.venv" "$ENV{SYCL_ROOT}" "$ENV{CMPLR_ROOT}")
if(DPCPP_COMPILER)
  get_filename_component(dpcpp_beside "${DPCPP_COMPILER}" DIRECTORY)
  list(APPEND dpcpp_hints "${dpcpp_beside}/..")
endif()
find_path(DPCPP_INCLUDE_DIR NAMES sycl/ext/oneapi/free_function_queries.hpp HINTS ${dpcpp_hints}
  PATH_SUFFIXES include)
find_library(DPCPP_LIBRARY NAMES sycl HINTS ${dpcpp_hints} PATH_SUFFIXES lib)
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
    # Its headers warn every compiler but DPC++ that kernels will not be compiled: ours are at run
    # time.
    INTERFACE_COMPILE_DEFINITIONS SYCL_DISABLE_FSYCL_SYCLHPP_WARNING)
endif()
