# SPDX-License-Identifier: Apache-2.0
# cmake -DLAUNCHER=… -DSTARS=… -DRANKS=N -DFOLDER=… -DOPTIONS=… [-DOTHERWISE=…] -P same_bits.cmake
# Runs stars as one process and on N ranks, the latter with the options OTHERWISE as well; fails if
# the final states or their times differ.
function(run ranks found)
  set(report "${FOLDER}/${ranks}.json")
  execute_process(COMMAND ${ARGN} --json "${report}" --output "${FOLDER}/${ranks}" --no-progress
    --backend host --workers 1 RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "on ${ranks} ranks: exit code ${code}")
  endif()
  file(READ "${report}" text)
  string(JSON ran GET "${text}" config ranks)
  if(NOT ran EQUAL ranks)
    message(FATAL_ERROR "asked for ${ranks} ranks, it ran on ${ran}")
  endif()
  string(JSON digest GET "${text}" config state_fnv1a)
  string(JSON time GET "${text}" metrics time)
  set(${found} "${digest} at time ${time}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
run(1 alone "${STARS}" ${OPTIONS})
run(${RANKS} together "${LAUNCHER}" launch -n ${RANKS} "${STARS}" ${OPTIONS} ${OTHERWISE})
if(NOT alone STREQUAL together)
  message(FATAL_ERROR "the states differ: ${alone} as one process, ${together} on ${RANKS} ranks")
endif()
message("${alone}, on ${RANKS} ranks too")
