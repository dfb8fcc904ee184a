# SPDX-License-Identifier: Apache-2.0
# Decides whether the transport between processes is built. Sets STARLING_WITH_UCX.
set(STARLING_WITH_UCX OFF)
set(STARLING_UCX_MINIMUM 1.13)
if(NOT STARLING_UCX MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "STARLING_UCX is '${STARLING_UCX}'; use AUTO, ON or OFF")
endif()
if(NOT STARLING_UCX STREQUAL "OFF")
  find_package(ucx ${STARLING_UCX_MINIMUM} QUIET)
  if(ucx_FOUND)
    set(STARLING_WITH_UCX ON)
  elseif(STARLING_UCX STREQUAL "ON")
    message(FATAL_ERROR "STARLING_UCX=ON but no UCX of version ${STARLING_UCX_MINIMUM} or later was "
      "found: install libucx-dev (`make deps`) or name its folder in CMAKE_PREFIX_PATH")
  endif()
endif()
