# SPDX-License-Identifier: Apache-2.0
# Decides whether ranks can be started by mpirun, prterun or srun. Sets STARLING_WITH_PMIX and, if
# it is ON, defines starling::pmix.
set(STARLING_WITH_PMIX OFF)
if(NOT STARLING_PMIX MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "STARLING_PMIX is '${STARLING_PMIX}'; use AUTO, ON or OFF")
endif()

if(NOT STARLING_PMIX STREQUAL "OFF")
  # Debian installs PMIx in a folder of its own.
  find_path(STARLING_PMIX_INCLUDE_DIR NAMES pmix.h
    HINTS "$ENV{PMIX_ROOT}" PATH_SUFFIXES include
    PATHS "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pmix2" "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pmix")
  find_library(STARLING_PMIX_LIBRARY NAMES pmix
    HINTS "$ENV{PMIX_ROOT}" PATH_SUFFIXES lib lib64
    PATHS "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pmix2")
  mark_as_advanced(STARLING_PMIX_INCLUDE_DIR STARLING_PMIX_LIBRARY)
  if(STARLING_PMIX_INCLUDE_DIR AND STARLING_PMIX_LIBRARY)
    set(STARLING_WITH_PMIX ON)
    add_library(starling_pmix INTERFACE)
    add_library(starling::pmix ALIAS starling_pmix)
    target_include_directories(starling_pmix SYSTEM INTERFACE "${STARLING_PMIX_INCLUDE_DIR}")
  elseif(STARLING_PMIX STREQUAL "ON")
    message(FATAL_ERROR "STARLING_PMIX=ON but there is no PMIx (pmix.h, libpmix): install one "
      "(libpmix-dev on Debian and Ubuntu), name its folder in the environment variable PMIX_ROOT, "
      "or use -DSTARLING_PMIX=OFF")
  endif()
endif()
