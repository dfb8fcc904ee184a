# SPDX-License-Identifier: Apache-2.0
# Functions that declare tests: one executable for each group, and one ctest test, which is a
# process, for each GoogleTest suite.

# starling_time_limit(<variable> <seconds>): the seconds that a test may take; five times as many
# under a sanitizer or an emulator and in Debug builds.
function(starling_time_limit variable seconds)
  if(STARLING_SANITIZE OR CMAKE_CROSSCOMPILING OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    math(EXPR seconds "${seconds} * 5")
  endif()
  set(${variable} ${seconds} PARENT_SCOPE)
endfunction()

# starling_discover_tests(<target> <prefix> [TIMEOUT <seconds>] [CASES <number>] [ALONE <regex>]
# [FILTER <pattern>]): adds the suites of a program, which are listed when it is linked. The options
# are explained in list_suites.cmake.
function(starling_discover_tests target prefix)
  cmake_parse_arguments(arg "" "TIMEOUT;CASES;ALONE;FILTER" "" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  starling_time_limit(arg_TIMEOUT ${arg_TIMEOUT})
  if(NOT arg_CASES)
    set(arg_CASES 50)
  endif()
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake")
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${target}>" "-DPREFIX=${prefix}"
      "-DTIMEOUT=${arg_TIMEOUT}" "-DCASES=${arg_CASES}" "-DALONE=${arg_ALONE}" "-DFILTER=${arg_FILTER}"
      "-DOUTPUT=${list}" "-DEMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
      -P "${PROJECT_SOURCE_DIR}/cmake/list_suites.cmake"
    BYPRODUCTS "${list}" VERBATIM)
  # A program that is not built becomes a test that fails.
  set(include "${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake")
  file(WRITE "${include}" "if(EXISTS [==[${list}]==])
  include([==[${list}]==])
else()
  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include}")
endfunction()

# Linked into every test program: `main` and the list of expected skips (tests/support).
add_library(starling_test_support STATIC EXCLUDE_FROM_ALL
  "${PROJECT_SOURCE_DIR}/tests/support/main.cpp" "${PROJECT_SOURCE_DIR}/tests/support/run_all.cpp"
  "${PROJECT_SOURCE_DIR}/tests/support/expected_skips.cpp")
target_compile_features(starling_test_support PUBLIC cxx_std_20)
target_include_directories(starling_test_support PUBLIC "${PROJECT_SOURCE_DIR}/tests")
target_link_libraries(starling_test_support PUBLIC GTest::gtest)
# The macros of GoogleTest declare variables for which -Wshadow warns.
target_compile_options(starling_test_support INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow;${STARLING_TEST_OPTIONS}>")

# Precompiled headers that test programs share: starling_test_headers, and
# starling_test_headers_<module>, which contains the header of the module.
function(starling_add_test_headers name)
  cmake_parse_arguments(arg "" "" "HEADERS;LIBRARIES" ${ARGN})
  starling_add_shared_headers(${name} HEADERS ${arg_HEADERS} gtest/gtest.h functional vector string
    LIBRARIES ${arg_LIBRARIES} starling_test_support)
  # As in test programs: with ON, an object library gets -fPIC and a program -fPIE, which do not
  # match.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
endfunction()
starling_add_test_headers(starling_test_headers)
foreach(module IN LISTS STARLING_MODULES)
  starling_add_test_headers(starling_test_headers_${module}
    HEADERS starling/${module}.hpp LIBRARIES starling::${module})
endforeach()

# starling_add_tests(<name> SOURCES <file>... [LIBRARIES <target>...] [HEADERS <shared
# headers>|NONE] [TIMEOUT <seconds>] [CASES <number>] [ALONE <regex>]): adds a test program; its
# tests have <name> as label and prefix. HEADERS: the precompiled headers, starling_test_headers by
# default. Does nothing if there are no sources.
function(starling_add_tests name)
  cmake_parse_arguments(arg "" "TIMEOUT;CASES;ALONE;HEADERS" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT arg_SOURCES)
    return()
  endif()
  if(NOT arg_HEADERS)
    set(arg_HEADERS starling_test_headers)
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  # Tests of a module's internals may include its private headers, by their path under src/.
  target_include_directories(test_${name}
    PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(test_${name} PRIVATE ${arg_LIBRARIES} starling_test_support)
  if(NOT arg_HEADERS STREQUAL "NONE")
    set_target_properties(test_${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_precompile_headers(test_${name} REUSE_FROM ${arg_HEADERS})
  endif()
  starling_discover_tests(test_${name} ${name}
    TIMEOUT "${arg_TIMEOUT}" CASES "${arg_CASES}" ALONE "${arg_ALONE}")
endfunction()

# starling_add_pytest(<name> <folder> [<variable>=<value>]...): adds the Python tests of a folder if
# pytest, numpy and matplotlib are installed; the variables are set in their environment.
function(starling_add_pytest name folder)
  if(NOT Python3_EXECUTABLE)
    return()
  endif()
  execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import pytest, numpy, matplotlib"
    RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
  if(missing)
    message(STATUS "Python tests '${name}' left out: numpy, matplotlib and pytest are needed "
      "(`make deps` puts them into .venv)")
    return()
  endif()
  add_test(NAME python.${name}
    COMMAND "${Python3_EXECUTABLE}" -m pytest -q -p no:cacheprovider -p expected_skips "${folder}")
  set(environment PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg
    "PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support" ${ARGN})
  if(HDF5_FOUND)
    list(APPEND environment STARLING_HAS_HDF5=1)
  endif()
  starling_time_limit(seconds 600)
  # COST: ctest starts these tests first, because they are the longest and the last ones listed.
  set_tests_properties(python.${name} PROPERTIES
    TIMEOUT ${seconds} LABELS "python" COST 100 ENVIRONMENT "${environment}")
endfunction()
