# SPDX-License-Identifier: Apache-2.0
# The program stars${stars_suffix}, whose sub-grids have ${stars_edge}³ cells, and its libraries. The
# edge is a constant of all kernels, so each edge has a program of its own, made in a folder of its
# own, as the properties of a source file belong to a folder.
set(stars_folder "${CMAKE_CURRENT_LIST_DIR}")

# The science alone: without runtime and device.
set(physics stars_physics${stars_suffix})
starling_sources(physics_sources "${stars_folder}/mesh/*.cpp" "${stars_folder}/problems/*.cpp"
  "${stars_folder}/gravity/*.cpp"
  "${stars_folder}/placement/serial.cpp" "${stars_folder}/driver/regrid.cpp")
add_library(${physics} STATIC ${physics_sources})
target_compile_features(${physics} PUBLIC cxx_std_20)
target_compile_definitions(${physics} PUBLIC STARS_SUB_GRID_EDGE=${stars_edge})
target_include_directories(${physics} PUBLIC "${stars_folder}")
# No contraction of a·b+c, also in other targets that include the kernels: host and device, and one
# sub-grid or all at once, must give the same bits.
target_compile_options(${physics} PUBLIC
  # Superword vectorisation of g++ 12 contracts in spite of the option (vfmaddsub).
  "$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;-fno-tree-slp-vectorize>"
  "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;-Xcompiler=-ffp-contract=off>")
starling_tune(${physics})

# Input and output files. Restart files need HDF5; without it, the same functions report that it
# is missing.
set(output stars_output${stars_suffix})
starling_sources(output_sources "${stars_folder}/io/*.cpp")
if(HDF5_FOUND)
  list(FILTER output_sources EXCLUDE REGEX "_absent\\.cpp$")
else()
  list(FILTER output_sources EXCLUDE REGEX "hdf5_[a-z]+\\.cpp$")
endif()
add_library(${output} STATIC ${output_sources})
target_link_libraries(${output} PUBLIC ${physics} apps_common
  PRIVATE starling::fmt starling::json)
if(HDF5_FOUND)
  target_include_directories(${output} SYSTEM PRIVATE ${HDF5_INCLUDE_DIRS})
  target_compile_definitions(${output} PRIVATE ${HDF5_DEFINITIONS})
  target_link_libraries(${output} PRIVATE ${HDF5_C_LIBRARIES})
endif()
starling_tune(${output})

# The application with its devices. Object libraries, so that the linker keeps launch tables that
# are filled at link time.
set(gravity stars_gravity${stars_suffix})
set(gravity_folder "${stars_folder}/placement/gravity")
add_library(${gravity} OBJECT "${gravity_folder}/device_gravity.cpp"
  "${gravity_folder}/kernels_sycl.cpp")
if(STARLING_WITH_CUDA)
  target_sources(${gravity} PRIVATE "${gravity_folder}/kernels.cu")
endif()
target_link_libraries(${gravity} PUBLIC starling::starling ${physics} apps_common)
starling_describe_kernels(${gravity} "${gravity_folder}/kernels_sycl.cpp")
starling_tune(${gravity})
starling_add_kokkos_kernels(${gravity} "${gravity_folder}/kokkos_kernels.cpp")

set(app stars_app${stars_suffix})
starling_sources(app_sources "${stars_folder}/driver/*.cpp" "${stars_folder}/placement/*.cpp")
list(FILTER app_sources EXCLUDE REGEX "/(serial|regrid|kokkos_[a-z]+)\\.cpp$")
if(STARLING_WITH_CUDA)
  starling_sources(app_cuda_sources "${stars_folder}/placement/*.cu")
  list(APPEND app_sources ${app_cuda_sources})
endif()
add_library(${app} OBJECT ${app_sources})
target_link_libraries(${app} PUBLIC starling::starling ${output} ${physics}
  starling::fmt starling::cli11 starling::json)
if(STARLING_PRECOMPILE)
  starling_precompile(${app} starling/device.hpp starling/objects.hpp algorithm vector)
endif()
starling_describe_kernels(${app} "${stars_folder}/placement/kernels_sycl.cpp")
starling_tune(${app})
set(kokkos_kernels "${stars_folder}/placement/kokkos_kernels.cpp")
if(NOT Kokkos_ENABLE_CUDA)
  list(APPEND kokkos_kernels "${stars_folder}/placement/kokkos_grouped.cpp")
endif()
starling_add_kokkos_kernels(${app} ${kokkos_kernels})

add_executable(stars${stars_suffix} "${stars_folder}/main.cpp")
target_link_libraries(stars${stars_suffix} PRIVATE starling::starling ${app} ${output} ${physics}
  starling::fmt starling::cli11 starling::json)
starling_tune(stars${stars_suffix})
