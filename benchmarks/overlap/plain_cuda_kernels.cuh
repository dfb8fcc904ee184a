// SPDX-License-Identifier: Apache-2.0
//
// Kernels as a user of CUDA would write them; the update of a tile is the code of Jacobi3D.
#pragma once

#include <cuda_runtime.h>

#include "physics/layout.hpp"
#include "physics/problems.hpp"
#include "physics/update.hpp"

namespace overlap::code {

using jacobi3d::block_layout;
using jacobi3d::box;
using jacobi3d::face;
using jacobi3d::face_count;
using jacobi3d::initial_values;
using jacobi3d::layer;
using jacobi3d::offset;
using jacobi3d::per_face;
using jacobi3d::triple;

inline constexpr int line_threads = 256;  // of kernels that iterate over lines

__device__ inline double mean(const double* __restrict__ from, offset at, offset pitch,
                              double below, double centre, double above) {
  return (centre + from[at - 1] + from[at + 1] + from[at - pitch] + from[at + pitch] + below +
          above) *
         (1.0 / 7.0);
}

/// A block of threads, with the interface that Jacobi3D's code for a tile uses.
struct threads_of_block {
  [[nodiscard]] __device__ int size() const noexcept { return static_cast<int>(blockDim.x); }
  [[nodiscard]] __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ void sync() const { __syncthreads(); }
};

/// Updates cells. It is as fast as Jacobi3D's own kernel and has the same code for a tile: the
/// benchmark compares launches and waits.
// A template: otherwise nvcc takes the shared code for code of the host, too.
template <class Group>
__global__ void __launch_bounds__(jacobi3d::update::group_size, jacobi3d::update::least_blocks)
    update_cells(const __grid_constant__ jacobi3d::sweep step, const __grid_constant__ box cells,
                 const __grid_constant__ jacobi3d::tiling cut) {
  Group g;
  const triple number{static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y),
                      static_cast<int>(blockIdx.z)};
  jacobi3d::sweep_tile(step, cut.tile(cells, number), cut, g);
}

/// Updates the cells beside the faces in `which`; cells on edges several times, with equal results.
__global__ void __launch_bounds__(line_threads)
    update_faces(block_layout s, const double* __restrict__ from, double* __restrict__ to,
                 per_face<bool> which) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int f = 0; f < face_count; ++f) {
    if (!which.of[f]) continue;
    const layer l = layer::own(s, jacobi3d::face_of(f));
    const int row = i / l.width;
    if (row >= l.height) continue;
    const offset at = l.origin + row * l.row + (i - row * l.width) * l.step;
    to[at] = mean(from, at, s.pitch, from[at - s.plane], from[at], from[at + s.plane]);
  }
}

__global__ void __launch_bounds__(line_threads)
    pack_all(block_layout s, const double* __restrict__ block, per_face<double*> messages) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int f = 0; f < face_count; ++f) {
    if (messages.of[f] == nullptr) continue;
    const layer l = layer::own(s, jacobi3d::face_of(f));
    const int row = i / l.width;
    if (row < l.height)
      messages.of[f][i] = block[l.origin + row * l.row + (i - row * l.width) * l.step];
  }
}

__global__ void __launch_bounds__(line_threads)
    unpack_all(block_layout s, double* __restrict__ block, per_face<const double*> messages) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int f = 0; f < face_count; ++f) {
    if (messages.of[f] == nullptr) continue;
    const layer l = layer::ghosts(s, jacobi3d::face_of(f));
    const int row = i / l.width;
    if (row < l.height)
      block[l.origin + row * l.row + (i - row * l.width) * l.step] = messages.of[f][i];
  }
}

/// Writes the initial values to both arrays. Blocks iterate over rows, threads along a row.
__global__ void __launch_bounds__(line_threads)
    fill(block_layout s, triple origin, initial_values value, double* one, double* other) {
  const offset rows = (offset{s.n.y} + 2) * (offset{s.n.z} + 2);
  for (offset row = blockIdx.x; row < rows; row += gridDim.x) {
    const int y = static_cast<int>(row % (s.n.y + 2)) - 1;
    const int z = static_cast<int>(row / (s.n.y + 2)) - 1;
    for (int x = static_cast<int>(threadIdx.x) - 1; x <= s.n.x; x += line_threads)
      one[s.at(x, y, z)] = other[s.at(x, y, z)] = value(origin.x + x, origin.y + y, origin.z + z);
  }
}

/// Result for the host: the checksum, and the bit pattern of the largest error without its sign.
struct findings {
  unsigned long long checksum, error;
};

__global__ void __launch_bounds__(line_threads)
    judge_cells(block_layout s, triple origin, initial_values value, double amplitude,
                const double* __restrict__ block, findings* found) {
  unsigned long long sum = 0, worst = 0;
  const offset rows = offset{s.n.y} * s.n.z;
  for (offset row = blockIdx.x; row < rows; row += gridDim.x) {
    const int y = static_cast<int>(row % s.n.y), z = static_cast<int>(row / s.n.y);
    for (int x = static_cast<int>(threadIdx.x); x < s.n.x; x += line_threads) {
      const triple c{origin.x + x, origin.y + y, origin.z + z};
      const double cell = block[s.at(x, y, z)];
      sum += jacobi3d::checksum_of(cell, jacobi3d::cell_number(value.grid, c.x, c.y, c.z));
      const double error = fabs(cell - amplitude * value(c.x, c.y, c.z));
      worst = max(worst, static_cast<unsigned long long>(__double_as_longlong(error)));
    }
  }
  atomicAdd(&found->checksum, sum);
  atomicMax(&found->error, worst);
}

}  // namespace overlap::code
