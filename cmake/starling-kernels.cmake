# SPDX-License-Identifier: Apache-2.0
# CUDA for kernels: used by this project and, installed beside its package file, by its users.

# starling_enable_cuda(): enables CUDA with the settings that Starling's headers need. A macro,
# because enable_language() must run in the scope of the calling folder.
macro(starling_enable_cuda)
  # One host compiler for both languages, so that object files and standard libraries match.
  if(NOT DEFINED CMAKE_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
  endif()
  # Static, so that the same binary starts on machines without a GPU or a CUDA runtime.
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  # CMake 3.25 does not have the C++20 options of nvcc.
  foreach(starling_kind IN ITEMS STANDARD EXTENSION)
    if(NOT CMAKE_CUDA20_${starling_kind}_COMPILE_OPTION)
      set(CMAKE_CUDA20_${starling_kind}_COMPILE_OPTION "-std=c++20")
    endif()
  endforeach()
endmacro()

# starling_enable_cuda_of_package(): enables CUDA for users of an installed Starling: with
# Starling's compiler and architectures, unless the user has chosen them.
macro(starling_enable_cuda_of_package)
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND EXISTS "${starling_CUDA_COMPILER}")
    set(CMAKE_CUDA_COMPILER "${starling_CUDA_COMPILER}")
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES "${starling_CUDA_ARCHITECTURES}")
  endif()
  starling_enable_cuda()
endmacro()

# starling_add_kernels(<target> <file>...): adds the device form of kernels to a program or shared
# library. A .cu file is compiled for CUDA if the Starling it uses has CUDA, and left out otherwise.
# A .cpp file gets its own path and compile settings as macros, because SYCL compiles it again at
# run time. Must not be called inside a function.
macro(starling_add_kernels starling_target)
  set(starling_cuda_files ${ARGN})
  list(FILTER starling_cuda_files INCLUDE REGEX "\\.cu$")
  set(starling_cpp_files ${ARGN})
  list(FILTER starling_cpp_files EXCLUDE REGEX "\\.cu$")
  if(starling_cpp_files)
    target_sources(${starling_target} PRIVATE ${starling_cpp_files})
    starling_describe_kernels(${starling_target} ${starling_cpp_files})
  endif()
  if(starling_WITH_CUDA AND starling_cuda_files)
    starling_enable_cuda_of_package()
    target_sources(${starling_target} PRIVATE ${starling_cuda_files})
    # A target created before the language was enabled has not inherited these properties.
    set_target_properties(${starling_target} PROPERTIES
      CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
      CUDA_RUNTIME_LIBRARY Static
      CUDA_STANDARD 20
      CUDA_STANDARD_REQUIRED ON
      CUDA_EXTENSIONS OFF)
    # Kernels are constexpr function objects; with this flag the device can call them.
    target_compile_options(${starling_target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")
  endif()
endmacro()

# starling_describe_kernels(<target> <file>.cpp...): describes files that are sources of the target
# already. Include folders and definitions are those of the target and of the libraries it links,
# also if they are added later. Other flags (COMPILE_OPTIONS, CMAKE_CXX_FLAGS) are for the host
# compiler and are not passed to SYCL's compiler.
function(starling_describe_kernels target)
  # Lists of raw string literals, in which no character has a special meaning.
  foreach(property IN ITEMS INCLUDE_DIRECTORIES COMPILE_DEFINITIONS)
    set(${property}
      "R\"~($<JOIN:$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${target},${property}>>,)~\"$<COMMA>R\"~(>)~\"")
  endforeach()
  foreach(file IN LISTS ARGN)
    get_filename_component(path "${file}" ABSOLUTE)
    # Without precompiled headers, because definitions of this file alone could change declarations.
    set_property(SOURCE "${path}" TARGET_DIRECTORY ${target} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    # As options, because COMPILE_DEFINITIONS must not refer to COMPILE_DEFINITIONS.
    set_property(SOURCE "${path}" TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS
      "-DSTARLING_KERNEL_FILE=\"${path}\""
      "-DSTARLING_KERNEL_FOLDERS=${INCLUDE_DIRECTORIES}"
      "-DSTARLING_KERNEL_DEFINITIONS=${COMPILE_DEFINITIONS}")
  endforeach()
endfunction()

# starling_find_kokkos(): finds Kokkos on this machine and sets starling_kokkos_libraries. A macro,
# because the caller uses the variables of Kokkos.
macro(starling_find_kokkos)
  # Otherwise a Kokkos with CUDA puts its own launcher before every compiler.
  set(Kokkos_LAUNCH_COMPILER OFF)
  find_package(Kokkos CONFIG QUIET)
  set(starling_kokkos_libraries Kokkos::kokkos)
  if(Kokkos_LIBRARIES)  # from Trilinos, whose target names a folder that does not exist
    set(starling_kokkos_libraries ${Kokkos_LIBRARIES})
  endif()
  if(Kokkos_ENABLE_CUDA AND TARGET Kokkos::kokkoscore)
    # Its link options are for nvcc, but here the C++ compiler links the programs.
    set_target_properties(Kokkos::kokkoscore PROPERTIES INTERFACE_LINK_OPTIONS "")
  endif()
endmacro()

# starling_kokkos_objects(<name> <file>.cpp...): an object library of files that include Kokkos'
# headers, compiled as that Kokkos requires: by nvcc if it has CUDA. Separate from the other files
# of a program, which must not get the compile flags that Kokkos passes on to its users.
function(starling_kokkos_objects name)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PRIVATE ${starling_kokkos_libraries})
  target_include_directories(${name} SYSTEM PRIVATE ${Kokkos_INCLUDE_DIRS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${name} PRIVATE cxx_std_20)
  if(Kokkos_ENABLE_CUDA)
    set(architectures "${Kokkos_CUDA_ARCHITECTURES}")
    if(NOT architectures)  # Kokkos before 3.7 does not export them
      set(architectures "${CMAKE_CUDA_ARCHITECTURES}")
    endif()
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
    set_target_properties(${name} PROPERTIES
      CUDA_ARCHITECTURES "${architectures}"
      CUDA_RUNTIME_LIBRARY Static
      CUDA_STANDARD 20
      CUDA_STANDARD_REQUIRED ON
      CUDA_EXTENSIONS OFF)
    target_compile_options(${name} PRIVATE
      # nvcc warns of attributes that only the host compiler reads (1835).
      "$<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;--expt-relaxed-constexpr;-diag-suppress=1835>")
  endif()
endfunction()

# starling_add_kokkos_kernels(<target> <file>.cpp...): compiles the Kokkos form of kernels into a
# program or shared library if the Starling it uses has Kokkos; otherwise it does nothing. The files
# are compiled with the target's options, definitions and include folders, and with the libraries it
# was linked to before the call. Must not be called inside a function.
macro(starling_add_kokkos_kernels starling_target)
  if(starling_WITH_KOKKOS)
    if(NOT starling_kokkos_libraries)
      starling_find_kokkos()
    endif()
    if(Kokkos_ENABLE_CUDA)
      starling_enable_cuda_of_package()
    endif()
    starling_kokkos_objects(${starling_target}_kokkos ${ARGN})
    get_target_property(starling_libraries ${starling_target} LINK_LIBRARIES)
    if(starling_libraries)
      target_link_libraries(${starling_target}_kokkos PRIVATE ${starling_libraries})
    endif()
    target_compile_options(${starling_target}_kokkos PRIVATE
      "$<TARGET_PROPERTY:${starling_target},COMPILE_OPTIONS>")
    target_compile_definitions(${starling_target}_kokkos PRIVATE
      "$<TARGET_PROPERTY:${starling_target},COMPILE_DEFINITIONS>")
    target_include_directories(${starling_target}_kokkos PRIVATE
      "$<TARGET_PROPERTY:${starling_target},INCLUDE_DIRECTORIES>")
    # Objects added to an object library must be in its interface to reach the targets that link it.
    get_target_property(starling_type ${starling_target} TYPE)
    set(starling_scope PRIVATE)
    if(starling_type STREQUAL OBJECT_LIBRARY)
      set(starling_scope INTERFACE)
    endif()
    target_sources(${starling_target} ${starling_scope}
      "$<TARGET_OBJECTS:${starling_target}_kokkos>")
    target_link_libraries(${starling_target} ${starling_scope}
      "$<LINK_ONLY:${starling_kokkos_libraries}>")
  endif()
endmacro()
