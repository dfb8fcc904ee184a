# SPDX-License-Identifier: Apache-2.0
# All external libraries. Header-only libraries are found by their header, not by a package file, so
# that system packages and `make offline-deps` (.deps/) work alike. None of them appears in a public
# header, so a user of an installed Starling needs none of them. A program that links static
# libraries of Starling needs hwloc, UCX and, if it was found, fmt's library.

# Unpacked packages are searched last: packages of the system take precedence.
set(starling_offline "${PROJECT_SOURCE_DIR}/.deps/usr")
if(IS_DIRECTORY "${starling_offline}")
  list(APPEND CMAKE_SYSTEM_PREFIX_PATH "${starling_offline}")
  # Debian's shared libraries depend on each other; linker and loader find them in the same folder.
  # The older kind of run path is used, because it holds for the dependencies of libraries, too.
  add_link_options("LINKER:--disable-new-dtags")
  file(GLOB starling_offline_lib LIST_DIRECTORIES true "${starling_offline}/lib/*-linux-gnu")
  foreach(folder IN LISTS starling_offline_lib)
    add_link_options("LINKER:-rpath-link,${folder}")
  endforeach()
endif()

# starling_missing(<need> <what>): reports that a required library was not found. tools/probe
# defines its own function, which lists all missing libraries.
if(NOT COMMAND starling_missing)
  function(starling_missing need what)
    message(FATAL_ERROR "${what} not found: install it (`make deps`), name its folder in "
      "CMAKE_PREFIX_PATH, or unpack it here with `make offline-deps`")
  endfunction()
endif()

# starling_header_only(<target> <header>): creates an interface target for a folder of headers.
function(starling_header_only target header)
  string(TOUPPER "STARLING_${target}_INCLUDE_DIR" variable)
  find_path(${variable} NAMES "${header}")
  mark_as_advanced(${variable})
  if(NOT ${variable})
    starling_missing(${target} "${header}")
    return()
  endif()
  add_library(starling_${target} INTERFACE)
  add_library(starling::${target} ALIAS starling_${target})
  target_include_directories(starling_${target} SYSTEM INTERFACE "${${variable}}")
endfunction()

# Uses fmt's shared library beside the headers if it exists: files that format compile 2 s faster
# with it.
starling_header_only(fmt fmt/format.h)
if(TARGET starling_fmt)
  cmake_path(GET STARLING_FMT_INCLUDE_DIR PARENT_PATH starling_fmt_root)
  find_library(STARLING_FMT_LIBRARY NAMES "${CMAKE_SHARED_LIBRARY_PREFIX}fmt${CMAKE_SHARED_LIBRARY_SUFFIX}"
    PATHS "${starling_fmt_root}" PATH_SUFFIXES lib "lib/${CMAKE_LIBRARY_ARCHITECTURE}" lib64
    NO_DEFAULT_PATH)
  mark_as_advanced(STARLING_FMT_LIBRARY)
  if(STARLING_FMT_LIBRARY)
    target_link_libraries(starling_fmt INTERFACE "${STARLING_FMT_LIBRARY}")
  else()
    target_compile_definitions(starling_fmt INTERFACE FMT_HEADER_ONLY=1)
  endif()
endif()
starling_header_only(cli11 CLI/CLI.hpp)
starling_header_only(json nlohmann/json.hpp)
# Checksums of checkpoints; compiled into Starling, so that programs need no library of xxHash.
starling_header_only(xxhash xxhash.h)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(hwloc QUIET)
if(NOT hwloc_FOUND)
  starling_missing(hwloc "hwloc (hwloc.h, libhwloc)")
endif()

if(STARLING_BUILD_TESTS)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    starling_missing(gtest "GoogleTest")
  endif()
  # For the tests of objects/interop/cereal.hpp; a user of that header provides cereal.
  find_path(STARLING_CEREAL_INCLUDE_DIR NAMES cereal/cereal.hpp)
  mark_as_advanced(STARLING_CEREAL_INCLUDE_DIR)
  if(STARLING_CEREAL_INCLUDE_DIR)
    starling_header_only(cereal cereal/cereal.hpp)
    target_compile_definitions(starling_cereal INTERFACE CEREAL_THREAD_SAFE=1)
  else()
    message(STATUS "Tests of the adaptor for cereal left out: cereal is needed (`make deps`)")
  endif()
endif()

if(STARLING_BUILD_APPS)
  find_package(HDF5 QUIET COMPONENTS C)
endif()

if(STARLING_BUILD_BENCHMARKS)
  find_package(TBB QUIET)
  find_package(OpenMP QUIET COMPONENTS CXX)
  # starling::starpu, if StarPU is installed as by Debian's package.
  find_path(STARLING_STARPU_INCLUDE_DIR NAMES starpu.h PATH_SUFFIXES starpu/1.4 starpu/1.3)
  find_library(STARLING_STARPU_LIBRARY NAMES starpu-1.4 starpu-1.3)
  mark_as_advanced(STARLING_STARPU_INCLUDE_DIR STARLING_STARPU_LIBRARY)
  if(STARLING_STARPU_INCLUDE_DIR AND STARLING_STARPU_LIBRARY)
    add_library(starling_starpu INTERFACE)
    add_library(starling::starpu ALIAS starling_starpu)
    target_include_directories(starling_starpu SYSTEM INTERFACE "${STARLING_STARPU_INCLUDE_DIR}")
    target_link_libraries(starling_starpu INTERFACE "${STARLING_STARPU_LIBRARY}")
  endif()
  # starling::mpi, for comparison in benchmarks only; Starling does not use it.
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND AND MPIEXEC_EXECUTABLE)
    add_library(starling_mpi INTERFACE)
    add_library(starling::mpi ALIAS starling_mpi)
    target_link_libraries(starling_mpi INTERFACE MPI::MPI_CXX)
    target_compile_definitions(starling_mpi INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
    # Without these variables Open MPI refuses to run as root and to start more ranks than cores.
    set(STARLING_MPI_LAUNCH ${CMAKE_COMMAND} -E env OMPI_ALLOW_RUN_AS_ROOT=1
      OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
      "${MPIEXEC_EXECUTABLE}" -n 2)
  endif()
endif()

# The Python interpreter of checks and figures: that of the project's own environment if it exists.
if(NOT DEFINED Python3_EXECUTABLE AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python3")
  set(Python3_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python3")
endif()
find_package(Python3 QUIET COMPONENTS Interpreter)
