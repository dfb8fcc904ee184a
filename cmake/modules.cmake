# SPDX-License-Identifier: Apache-2.0
# Functions that declare library modules.

# starling_sources(<variable> <pattern>...): the files that match, searched again at each build.
function(starling_sources variable)
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  set(${variable} "${files}" PARENT_SCOPE)
endfunction()

# starling_precompile(<target> <header>...): precompiles headers that most files of the target
# include. This costs as much as compiling three files, so small targets share precompiled headers
# or have none.
function(starling_precompile target)
  foreach(header IN LISTS ARGN)
    target_precompile_headers(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>")
  endforeach()
endfunction()

# starling_add_shared_headers(<name> HEADERS <header>... LIBRARIES <library>...): creates
# precompiled headers for several targets: target_precompile_headers(<target> REUSE_FROM <name>).
# The targets must be compiled with the same options as <name>, which gets its options from the
# libraries.
function(starling_add_shared_headers name)
  cmake_parse_arguments(arg "" "" "HEADERS;LIBRARIES" ${ARGN})
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Empty: this target exists for its precompiled headers.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  starling_precompile(${name} ${arg_HEADERS})
endfunction()

# starling_add_module(<name> SOURCES <file>... [PUBLIC <library>...] [PRIVATE <library>...]) Creates
# the target starling_<name> with the alias starling::<name>, and adds it to the installation and to
# STARLING_MODULES. Header-only PRIVATE libraries are given as $<BUILD_INTERFACE:...>.
function(starling_add_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "module ${name} has no sources")
  endif()
  set(target starling_${name})
  add_library(${target} ${arg_SOURCES})
  add_library(starling::${name} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target}
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  if(STARLING_PRECOMPILE)
    starling_precompile(${target} starling/${name}.hpp algorithm functional memory string vector)
  endif()
  if(STARLING_FMT_LIBRARY)
    target_link_libraries(${target} PRIVATE "$<INSTALL_INTERFACE:${STARLING_FMT_LIBRARY}>")
  endif()
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    INSTALL_RPATH "$ORIGIN"
    INSTALL_RPATH_USE_LINK_PATH ON)
  if(BUILD_SHARED_LIBS AND NOT APPLE)
    # An undefined symbol fails the link of this module, not that of its user.
    target_link_options(${target} PRIVATE LINKER:--no-undefined)
  endif()
  install(TARGETS ${target} EXPORT starling-targets
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  set(STARLING_MODULES ${STARLING_MODULES} ${name} PARENT_SCOPE)
endfunction()

# starling_tune(<target>): optimises for the processor of the build machine if STARLING_NATIVE is
# set; with a sanitizer at least so far that its kernels do not take 30 times as long.
function(starling_tune target)
  if(STARLING_NATIVE AND NOT STARLING_SANITIZE)
    # GCC 12 reports the undefined vectors of its own AVX-512 header as uninitialised variables.
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:-march=native>"
      "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>")
  elseif(STARLING_SANITIZE)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-O1>")
  endif()
endfunction()
