# SPDX-License-Identifier: Apache-2.0
# Warnings, sanitizers and the compiler cache, for this project's own files only (none is exported).

if(PROJECT_IS_TOP_LEVEL)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor>"
    # GCC 12 with -O3 wrongly reports overlapping copies inside its own std::string.
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>"
    # std::stable_sort of libstdc++ calls a function that libstdc++ declares deprecated.
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>"
    # An entry method of type `awaited` has no body; Clang demands one in an unnamed namespace.
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-undefined-internal>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>"
    # A host-only function called from a kernel is always a bug.
    "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=cross-execution-space-call>")
  if(STARLING_WERROR)
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Werror>"
      "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Werror>")
  endif()
endif()

if(STARLING_SANITIZE)
  add_compile_options("-fsanitize=${STARLING_SANITIZE}" -fno-omit-frame-pointer
    -fno-sanitize-recover=all
    # With instrumentation GCC wrongly reports variables as uninitialised.
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>")
  # Saves a quarter of the compile time. The address sanitizer still reports accesses through null
  # and beyond an object; unreported are references to null and calls through null that access no
  # memory.
  if(STARLING_SANITIZE MATCHES "address.*undefined|undefined.*address")
    add_compile_options(-fno-sanitize=null,object-size
      # Clang's vptr check reads memory through a pipe, and some tests use up all file descriptors.
      "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=vptr>")
  endif()
  add_link_options("-fsanitize=${STARLING_SANITIZE}")
endif()

find_program(STARLING_CCACHE ccache)
mark_as_advanced(STARLING_CCACHE)
if(STARLING_CCACHE)
  # pch_defines, time_macros: without them ccache caches no file that uses a precompiled header.
  # CCACHE_DEPEND: without it a header in which only comments have changed counts as unchanged; the
  # cached precompiled header then does not match it, since GCC compares whole files for #pragma
  # once.
  set(starling_launcher "${CMAKE_COMMAND}" -E env CCACHE_DEPEND=1
    CCACHE_SLOPPINESS=pch_defines,time_macros "${STARLING_CCACHE}")
  foreach(language IN ITEMS C CXX CUDA)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${starling_launcher}")
    endif()
  endforeach()
endif()
