# SPDX-License-Identifier: Apache-2.0
# starling::nvshmem: for programs with `reach::nvshmem` and for comparison in benchmarks; the
# libraries of Starling do not need it. Searched in NVSHMEM_HOME (a CMake variable or an environment
# variable), then in the packages of Python (nvidia.nvshmem).

# starling_python_nvshmem(<variable> <python>): the folder of nvidia.nvshmem in that Python, or
# empty.
function(starling_python_nvshmem variable python)
  set(${variable} "" PARENT_SCOPE)
  if(NOT python)
    return()
  endif()
  execute_process(COMMAND "${python}" -c
    "import importlib.util as u; print(*u.find_spec('nvidia.nvshmem').submodule_search_locations, sep=';')"
    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(code STREQUAL "0")
    set(${variable} "${text}" PARENT_SCOPE)
  endif()
endfunction()

if((STARLING_BUILD_BENCHMARKS OR STARLING_BUILD_TESTS) AND STARLING_WITH_CUDA)
  set(starling_nvshmem_folders "${NVSHMEM_HOME}" "$ENV{NVSHMEM_HOME}")
  # Python3_EXECUTABLE may be an environment without the package, so python3 on PATH is searched,
  # too.
  find_program(STARLING_PATH_PYTHON python3 NO_CACHE)
  foreach(python IN ITEMS "${Python3_EXECUTABLE}" "${STARLING_PATH_PYTHON}")
    starling_python_nvshmem(folder "${python}")
    list(APPEND starling_nvshmem_folders ${folder})
  endforeach()
  list(REMOVE_ITEM starling_nvshmem_folders "")
  find_path(NVSHMEM_INCLUDE_DIR nvshmemx.h
    HINTS ${starling_nvshmem_folders} PATH_SUFFIXES include)
  find_library(NVSHMEM_DEVICE_LIBRARY nvshmem_device
    HINTS ${starling_nvshmem_folders} PATH_SUFFIXES lib)
  # In Python packages the library has no name without the version.
  find_library(NVSHMEM_HOST_LIBRARY NAMES nvshmem_host libnvshmem_host.so.3
    HINTS ${starling_nvshmem_folders} PATH_SUFFIXES lib)
  mark_as_advanced(NVSHMEM_INCLUDE_DIR NVSHMEM_DEVICE_LIBRARY NVSHMEM_HOST_LIBRARY)
  if(NVSHMEM_INCLUDE_DIR AND NVSHMEM_DEVICE_LIBRARY AND NVSHMEM_HOST_LIBRARY)
    add_library(starling_nvshmem INTERFACE)
    add_library(starling::nvshmem ALIAS starling_nvshmem)
    target_include_directories(starling_nvshmem SYSTEM INTERFACE "${NVSHMEM_INCLUDE_DIR}")
    # Its headers use volatile in ways that C++20 deprecates.
    target_compile_options(starling_nvshmem INTERFACE
      "$<$<COMPILE_LANGUAGE:CUDA>:--diag-suppress=3012,3013>")
    target_link_libraries(starling_nvshmem INTERFACE
      "${NVSHMEM_DEVICE_LIBRARY}" "${NVSHMEM_HOST_LIBRARY}")
  endif()
endif()
