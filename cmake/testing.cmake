# SPDX-License-Identifier: Apache-2.0
# How tests are declared: one executable per group, one ctest test per GoogleTest case.
include(GoogleTest)

# starling_add_tests(<name> SOURCES <file>... [LIBRARIES <target>...] [PRECOMPILE <header>...]
# [TIMEOUT <seconds>]): its tests get the name as label and prefix; the headers are those that most of
# them include anyway. Does nothing when there are no sources.
function(starling_add_tests name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBRARIES;PRECOMPILE" ${ARGN})
  if(NOT arg_SOURCES)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(STARLING_SANITIZE)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  # Tests of a module's inside may include its private headers, by their path under src/.
  target_include_directories(test_${name}
    PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(test_${name} PRIVATE ${arg_LIBRARIES} GTest::gtest GTest::gtest_main)
  # GoogleTest's macros declare names of their own that a test's may hide.
  target_compile_options(test_${name} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>")
  foreach(header IN LISTS arg_PRECOMPILE ITEMS gtest/gtest.h functional vector string)
    target_precompile_headers(test_${name} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>")
  endforeach()
  gtest_discover_tests(test_${name}
    TEST_PREFIX "${name}."
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${name}")
endfunction()

# starling_add_pytest(<name> <folder> [<variable>=<value>]...): the Python tests of a folder, when pytest is there.
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
    COMMAND "${Python3_EXECUTABLE}" -m pytest -q -p no:cacheprovider "${folder}")
  set_tests_properties(python.${name} PROPERTIES
    TIMEOUT 300 LABELS "python" ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1;MPLBACKEND=Agg;${ARGN}")
endfunction()
