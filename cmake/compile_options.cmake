# SPDX-License-Identifier: Apache-2.0
# Warnings, sanitizers and the compiler cache: for this project's own files only (none exported).

if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor>"
    # GCC 12 suspects overlapping copies inside its own std::string, with -O3.
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>"
    # libstdc++'s own std::stable_sort calls what it declares deprecated.
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>"
    # An entry method of type `awaited` has no body; in an unnamed namespace Clang asks for one.
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-undefined-internal>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>"
    # A host-only function called from a kernel is a bug however it compiles.
    "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=cross-execution-space-call>")
  if(STARLING_WERROR)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Werror>"
      "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Werror>")
  endif()
endif()

if(STARLING_SANITIZE)
  add_compile_options("-fsanitize=${STARLING_SANITIZE}" -fno-omit-frame-pointer
    -fno-sanitize-recover=all
    # The instrumented code hides from GCC that variables are set.
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>")
  # A quarter of the time to compile. Accesses by null and beyond an object are the address
  # sanitizer's; what is lost are references to null and calls by it that touch nothing.
  if(STARLING_SANITIZE MATCHES "address.*undefined|undefined.*address")
    add_compile_options(-fno-sanitize=null,object-size
      # Clang's looks at memory through a pipe, and tests take all descriptors away.
      "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=vptr>")
  endif()
  add_link_options("-fsanitize=${STARLING_SANITIZE}")
endif()

find_program(STARLING_CCACHE ccache)
mark_as_advanced(STARLING_CCACHE)
if(STARLING_CCACHE)
  # pch_defines, time_macros: without them ccache caches nothing that uses a precompiled header.
  # CCACHE_DEPEND: otherwise a header whose comments alone have changed counts as unchanged, and the
  # cached precompiled header does not match it: GCC compares whole files for #pragma once.
  set(starling_launcher "${CMAKE_COMMAND}" -E env CCACHE_DEPEND=1
    CCACHE_SLOPPINESS=pch_defines,time_macros "${STARLING_CCACHE}")
  foreach(language IN ITEMS C CXX CUDA)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${starling_launcher}")
    endif()
  endforeach()
endif()
