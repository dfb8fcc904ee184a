# SPDX-License-Identifier: Apache-2.0
# Runs after a test program is linked (see testing.cmake): lists its cases and writes one ctest test
# for each GoogleTest suite to OUTPUT. A suite of more than CASES cases is split into shards of
# equal size. Each case of a suite that matches ALONE becomes a test, that is, a process, of its
# own. Suites whose name begins with `nightly` get that label, too: `make test` leaves them out. A
# case may take TIMEOUT seconds, which the program enforces; a test may take TIMEOUT and a tenth of
# it for each further case. EMULATOR, if any, runs programs that are compiled for another machine.
cmake_policy(VERSION 3.24)
if(NOT FILTER)
  set(FILTER *)
endif()
execute_process(COMMAND ${EMULATOR} "${PROGRAM}" --gtest_list_tests "--gtest_filter=${FILTER}"
  OUTPUT_VARIABLE listed ERROR_VARIABLE listed_errors RESULT_VARIABLE result TIMEOUT 60)
if(NOT result STREQUAL "0")
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests ended with '${result}':\n${listed}\n${listed_errors}")
endif()

set(script "")
# add(<name> <filter> <number of cases> <VARIABLE=value>...): appends a ctest test to `script`.
function(add name filter count)
  math(EXPR seconds "${TIMEOUT} + (${count} - 1) * ${TIMEOUT} / 10")
  set(labels "${PREFIX}")
  if(name MATCHES "^nightly")
    list(APPEND labels nightly)
  endif()
  set(environment "TEST_CASE_SECONDS=${TIMEOUT}" ${ARGN})
  set(script "${script}add_test([==[${PREFIX}.${name}]==] ${EMULATOR} [==[${PROGRAM}]==] [==[--gtest_filter=${filter}]==])
set_tests_properties([==[${PREFIX}.${name}]==] PROPERTIES TIMEOUT ${seconds} LABELS [==[${labels}]==]
  ENVIRONMENT [==[${environment}]==])
" PARENT_SCOPE)
endfunction()

# add_suite(<suite> <case>...): appends the ctest tests of a suite.
function(add_suite suite)
  list(LENGTH ARGN count)
  if(count EQUAL 0)
    return()
  endif()
  if(ALONE AND suite MATCHES "${ALONE}")
    foreach(case IN LISTS ARGN)
      add("${suite}.${case}" "${suite}.${case}" 1)
    endforeach()
  elseif(count LESS_EQUAL CASES)
    add("${suite}" "${suite}.*" ${count})
  else()
    math(EXPR shards "(${count} + ${CASES} - 1) / ${CASES}")
    math(EXPR share "(${count} + ${shards} - 1) / ${shards}")
    foreach(number RANGE 1 ${shards})
      math(EXPR index "${number} - 1")
      add("${suite}.${number}_of_${shards}" "${suite}.*" ${share}
        "GTEST_TOTAL_SHARDS=${shards}" "GTEST_SHARD_INDEX=${index}")
    endforeach()
  endif()
  set(script "${script}" PARENT_SCOPE)
endfunction()

# A line that ends with a dot names a suite; the indented lines below are its cases. The text behind
# # is a parameter.
string(REPLACE ";" "," listed "${listed}")
string(REPLACE "[" "(" listed "${listed}")
string(REPLACE "]" ")" listed "${listed}")
string(REGEX REPLACE " *#[^\n]*" "" listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")
set(suite "")
set(cases "")
foreach(line IN LISTS lines)
  if(line MATCHES "^  ([^ ]+)$")
    set(case "${CMAKE_MATCH_1}")
    if(NOT "${suite}.${case}" MATCHES "DISABLED_")
      list(APPEND cases "${case}")
    endif()
  elseif(line MATCHES "^([^ ]+)\\.$")
    set(next "${CMAKE_MATCH_1}")
    add_suite("${suite}" ${cases})
    set(suite "${next}")
    set(cases "")
  endif()
endforeach()
add_suite("${suite}" ${cases})
if(script STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} has no tests")
endif()
file(WRITE "${OUTPUT}" "${script}")
