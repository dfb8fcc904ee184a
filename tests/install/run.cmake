# SPDX-License-Identifier: Apache-2.0
# The consumer test: install, configure, build, run; each step must succeed.
function(step name)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE log ERROR_VARIABLE log)
  if(NOT result STREQUAL "0")
    message(FATAL_ERROR "${name} failed (${result}):\n${log}")
  endif()
  message(STATUS "${name}: ok")
  set(log "${log}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK}")
set(ENV{CMAKE_PREFIX_PATH} "${WORK}/prefix:${PREFIXES}")
step("install" "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/prefix")
step("configure" "${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${WORK}/build" -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${CXX}"
  -DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON)
step("build" "${CMAKE_COMMAND}" --build "${WORK}/build")
step("run" "${WORK}/build/consumer")
if(NOT log MATCHES "consumer: 42\n")
  message(FATAL_ERROR "the consumer printed something else:\n${log}")
endif()

# The package must say no to a version it is not.
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${WORK}/wrong" -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${CXX}" -DWANTED_VERSION=99.0
  RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
if(result STREQUAL "0")
  message(FATAL_ERROR "find_package(starling 99.0) succeeded")
endif()
