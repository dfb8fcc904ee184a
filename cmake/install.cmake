# SPDX-License-Identifier: Apache-2.0
# Installed files and package files: `find_package(starling)` provides `starling::starling` and, for
# kernels on devices, `starling_add_kernels`.
include(CMakePackageConfigHelpers)

set(starling_package "${CMAKE_INSTALL_LIBDIR}/cmake/starling")
install(TARGETS starling EXPORT starling-targets)
install(EXPORT starling-targets NAMESPACE starling:: DESTINATION "${starling_package}")
install(DIRECTORY include/starling DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/starling")

# Static libraries pass their dependencies on to the user's link line; shared libraries do not.
if(BUILD_SHARED_LIBS)
  set(starling_static_needs OFF)
else()
  set(starling_static_needs ON)
endif()
configure_package_config_file(cmake/starling-config.cmake.in
  "${PROJECT_BINARY_DIR}/starling-config.cmake" INSTALL_DESTINATION "${starling_package}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/starling-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/starling-config.cmake"
  "${PROJECT_BINARY_DIR}/starling-config-version.cmake"
  cmake/modules/Findhwloc.cmake
  cmake/modules/Finducx.cmake
  cmake/modules/Finddpcpp.cmake
  cmake/starling-kernels.cmake
  DESTINATION "${starling_package}")
