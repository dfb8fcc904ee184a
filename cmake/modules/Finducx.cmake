# SPDX-License-Identifier: Apache-2.0
# Finds UCX (communication between processes) and defines ucx::ucp. Installed with the package file,
# too, because a static starling::net passes the library on to its user's link line.
find_path(ucx_INCLUDE_DIR NAMES ucp/api/ucp.h)
find_library(ucx_ucp_LIBRARY NAMES ucp)
find_library(ucx_ucs_LIBRARY NAMES ucs)
if(ucx_INCLUDE_DIR)
  file(STRINGS "${ucx_INCLUDE_DIR}/ucp/api/ucp_version.h" ucx_version_lines
    REGEX "define UCP_API_(MAJOR|MINOR)")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" ucx_VERSION
    "${ucx_version_lines}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ucx
  REQUIRED_VARS ucx_ucp_LIBRARY ucx_ucs_LIBRARY ucx_INCLUDE_DIR VERSION_VAR ucx_VERSION
  REASON_FAILURE_MESSAGE "install libucx-dev (`make deps`)")
if(ucx_FOUND AND NOT TARGET ucx::ucp)
  add_library(ucx::ucp UNKNOWN IMPORTED)
  set_target_properties(ucx::ucp PROPERTIES
    IMPORTED_LOCATION "${ucx_ucp_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${ucx_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${ucx_ucs_LIBRARY}")
endif()
mark_as_advanced(ucx_INCLUDE_DIR ucx_ucp_LIBRARY ucx_ucs_LIBRARY)
