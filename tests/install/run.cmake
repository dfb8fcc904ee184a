# SPDX-License-Identifier: Apache-2.0
# The consumer test: installs Starling, then configures, builds and runs the README's first program
# as printed there; each step must succeed.
function(step name)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE log ERROR_VARIABLE log)
  if(NOT result STREQUAL "0")
    message(FATAL_ERROR "${name} failed (${result}):\n${log}")
  endif()
  message(STATUS "${name}: ok")
  set(log "${log}" PARENT_SCOPE)
endfunction()

# Writes the block of the README whose first line names `file` into the consumer's folder.
function(extract file)
  string(REPLACE "." "\\." pattern "${file}")
  if(NOT readme MATCHES "```[a-z]+\n((//|#) ${pattern}[^`]*)```")
    message(FATAL_ERROR "${README} has no code block that begins with the name ${file}")
  endif()
  file(WRITE "${WORK}/consumer/${file}" "${CMAKE_MATCH_1}")
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(READ "${README}" readme)
foreach(name IN ITEMS scale.hpp main.cpp scale.cu CMakeLists.txt)
  extract("${name}")
endforeach()

# If the library has Kokkos, the program also gets the Kokkos form of its kernel, and so does a
# program whose definitions, folders and libraries are added after the call.
if(KOKKOS)
  file(WRITE "${WORK}/consumer/kokkos.cpp"
    "#include <starling/device/interop/kokkos_kernels.hpp>\n#include \"scale.hpp\"\n"
    "template struct starling::kokkos::instantiate<scale>;\n")
  file(WRITE "${WORK}/consumer/folder/of_later.hpp" "struct of_later {};\n")
  file(WRITE "${WORK}/consumer/later.cpp" "#include <of_later.hpp>\n"
    "static_assert(DEFINED_LATER == 7);\n#include \"kokkos.cpp\"\n")
  file(APPEND "${WORK}/consumer/CMakeLists.txt"
    "starling_add_kokkos_kernels(my_program kokkos.cpp)\n"
    "add_executable(later main.cpp)\n"
    "starling_add_kokkos_kernels(later later.cpp)\n"
    "target_compile_definitions(later PRIVATE DEFINED_LATER=7)\n"
    "target_include_directories(later PRIVATE folder)\n"
    "target_link_libraries(later PRIVATE starling::starling)\n")
endif()

set(ENV{CMAKE_PREFIX_PATH} "${WORK}/prefix:${PREFIXES}")
step("install" "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/prefix")
step("run the launcher" "${WORK}/prefix/bin/starling" --help)
step("configure" "${CMAKE_COMMAND}" -S "${WORK}/consumer" -B "${WORK}/build" -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${CXX}" "-DKokkos_DIR=${Kokkos_DIR}"
  -DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON)
step("build" "${CMAKE_COMMAND}" --build "${WORK}/build")
step("run" "${WORK}/build/my_program" --starling-workers 2)
if(NOT log MATCHES "sum = 2000\n")
  message(FATAL_ERROR "the README's program printed something else:\n${log}")
endif()
if(KOKKOS AND NOT KOKKOS_ON_GPU)
  step("run through Kokkos" "${WORK}/build/my_program" --starling-backend kokkos)
  if(NOT log MATCHES "sum = 2000\n")
    message(FATAL_ERROR "the README's program printed something else through Kokkos:\n${log}")
  endif()
endif()
# The program must contain the kernel's device form if the library can launch it.
file(STRINGS "${WORK}/build/my_program" device_code REGEX "run_indices" LIMIT_COUNT 1)
if(CUDA AND NOT device_code)
  message(FATAL_ERROR "scale.cu did not get into the program")
endif()

# The package must refuse a request for a different version.
file(WRITE "${WORK}/stranger/CMakeLists.txt" "cmake_minimum_required(VERSION 3.24)
project(stranger LANGUAGES CXX)
find_package(starling 99.0 REQUIRED)\n")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${WORK}/stranger" -B "${WORK}/wrong"
  -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
  RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE log)
if(result STREQUAL "0" OR NOT log MATCHES "99\\.0")
  message(FATAL_ERROR "find_package(starling 99.0) succeeded, or failed otherwise:\n${log}")
endif()
