# SPDX-License-Identifier: Apache-2.0
# CUDA for kernels: used by this project and, installed beside its package file, by its users.

# starling_enable_cuda(): the CUDA language as Starling's headers need it. A macro, because
# enable_language() must run in the folder's own scope.
macro(starling_enable_cuda)
  # One host compiler for both languages, so that objects and standard libraries agree.
  if(NOT DEFINED CMAKE_CUDA_HOST_COMPILER)
    set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
  endif()
  # Static: the same binary starts on machines without a GPU or a CUDA runtime.
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  # CMake 3.25 does not know that nvcc speaks C++20.
  foreach(starling_kind IN ITEMS STANDARD EXTENSION)
    if(NOT CMAKE_CUDA20_${starling_kind}_COMPILE_OPTION)
      set(CMAKE_CUDA20_${starling_kind}_COMPILE_OPTION "-std=c++20")
    endif()
  endforeach()
endmacro()

# starling_enable_cuda_of_package(): the same for users of an installed Starling: its compiler and its
# architectures where they have not chosen theirs.
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
# library. A .cu file is compiled for CUDA where the Starling it uses has CUDA, and left out
# elsewhere. A .cpp file is told where it lies and how it is compiled, because SYCL compiles it once
# more at run time. Not to be called from inside a function.
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
    # The target may be older than the language: it has not inherited these.
    set_target_properties(${starling_target} PROPERTIES
      CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
      CUDA_RUNTIME_LIBRARY Static
      CUDA_STANDARD 20
      CUDA_STANDARD_REQUIRED ON
      CUDA_EXTENSIONS OFF)
    # Kernels are constexpr function objects: this flag lets the device call them.
    target_compile_options(${starling_target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>")
  endif()
endmacro()

# starling_describe_kernels(<target> <file>.cpp...): the same for files that are among the target's
# sources already. The include folders and definitions are those of the target, of what it links
# too, also when they are added later; flags of other kinds (COMPILE_OPTIONS, CMAKE_CXX_FLAGS) are
# for the other compiler and do not go there.
function(starling_describe_kernels target)
  # Lists of raw strings: nothing in them means anything to the compiler.
  foreach(property IN ITEMS INCLUDE_DIRECTORIES COMPILE_DEFINITIONS)
    set(${property}
      "R\"~($<JOIN:$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${target},${property}>>,)~\"$<COMMA>R\"~(>)~\"")
  endforeach()
  foreach(file IN LISTS ARGN)
    get_filename_component(path "${file}" ABSOLUTE)
    # Definitions for this file alone could change what headers declare.
    set_property(SOURCE "${path}" TARGET_DIRECTORY ${target} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    # As options: definitions may not speak of definitions.
    set_property(SOURCE "${path}" TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS
      "-DSTARLING_KERNEL_FILE=\"${path}\""
      "-DSTARLING_KERNEL_FOLDERS=${INCLUDE_DIRECTORIES}"
      "-DSTARLING_KERNEL_DEFINITIONS=${COMPILE_DEFINITIONS}")
  endforeach()
endfunction()

# starling_find_kokkos(): the Kokkos of this machine, if any, and starling_kokkos_libraries. A macro:
# Kokkos' variables are of use.
macro(starling_find_kokkos)
  # A Kokkos with CUDA would put a launcher of its own before every compiler.
  set(Kokkos_LAUNCH_COMPILER OFF)
  find_package(Kokkos CONFIG QUIET)
  set(starling_kokkos_libraries Kokkos::kokkos)
  if(Kokkos_LIBRARIES)  # one from Trilinos: its target names a folder that is not there
    set(starling_kokkos_libraries ${Kokkos_LIBRARIES})
  endif()
  if(Kokkos_ENABLE_CUDA AND TARGET Kokkos::kokkoscore)
    # Its link options are nvcc's, and programs are linked by the C++ compiler here.
    set_target_properties(Kokkos::kokkoscore PROPERTIES INTERFACE_LINK_OPTIONS "")
  endif()
endmacro()

# starling_kokkos_objects(<name> <file>.cpp...): an object library of files that include Kokkos'
# headers, compiled as that Kokkos wants: by nvcc where it has CUDA. Apart from the other files of a
# program, which must not get the flags that Kokkos hands to its users.
function(starling_kokkos_objects name)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PRIVATE ${starling_kokkos_libraries})
  target_include_directories(${name} SYSTEM PRIVATE ${Kokkos_INCLUDE_DIRS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${name} PRIVATE cxx_std_20)
  if(Kokkos_ENABLE_CUDA)
    set(architectures "${Kokkos_CUDA_ARCHITECTURES}")
    if(NOT architectures)  # not told by Kokkos before 3.7
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
      # nvcc tells of attributes that only the host's compiler reads (1835).
      "$<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;--expt-relaxed-constexpr;-diag-suppress=1835>")
  endif()
endfunction()

# starling_add_kokkos_kernels(<target> <file>.cpp...): compiles the Kokkos form of kernels into a
# program or shared library, where the Starling it uses has Kokkos; elsewhere it does nothing. The
# files see the target's options, definitions and include folders, and the libraries that it has been
# given before. Not to be called from inside a function.
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
    # Objects of an object library are for those that link it.
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
