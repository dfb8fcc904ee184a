# SPDX-License-Identifier: Apache-2.0
# Finds hwloc (hardware topology) and defines hwloc::hwloc. Installed with the package file, too,
# because a static starling::core passes the library on to its user's link line.
find_path(hwloc_INCLUDE_DIR NAMES hwloc.h)
# Debian installs headers that depend on the architecture in a folder of their own, which compilers
# search automatically below /usr only.
find_path(hwloc_CONFIG_DIR NAMES hwloc/autogen/config.h HINTS "${hwloc_INCLUDE_DIR}")
find_library(hwloc_LIBRARY NAMES hwloc)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(hwloc REQUIRED_VARS hwloc_LIBRARY hwloc_INCLUDE_DIR hwloc_CONFIG_DIR
  REASON_FAILURE_MESSAGE "install libhwloc-dev (`make deps`)")
if(hwloc_FOUND AND NOT TARGET hwloc::hwloc)
  add_library(hwloc::hwloc UNKNOWN IMPORTED)
  set_target_properties(hwloc::hwloc PROPERTIES
    IMPORTED_LOCATION "${hwloc_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${hwloc_INCLUDE_DIR};${hwloc_CONFIG_DIR}")
endif()
mark_as_advanced(hwloc_INCLUDE_DIR hwloc_CONFIG_DIR hwloc_LIBRARY)
