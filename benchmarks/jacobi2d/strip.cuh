// SPDX-License-Identifier: Apache-2.0
//
// A device's part of the grid: how it is filled, how its blocks share it for many steps, and how
// its answer is computed.
#pragma once

#include <cooperative_groups.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "../common/plain_cuda.cuh"
#include "cuda_run.hpp"
#include "physics/reduction.hpp"
#include "update.cuh"

namespace by_hand {
namespace code {

using jacobi2d::initial_values;
using jacobi2d::side;

/// A strip in memory that its user owns. Both states are complete at the start; neighbours then
/// write their rows into the ghost cells of the next state.
struct strip {
  strip_layout shape;
  int origin;  ///< its first row in the grid
  float* states[2];
  jacobi2d::per_side<bool> has_neighbour;

  /// Returns the state after `steps` steps.
  [[nodiscard]] __host__ __device__ float* state(long steps) const { return states[steps & 1]; }
};

/// Cells that a block updates in a step, `block_width` wide.
struct share {
  int column, x, begin, end;
  bool up;

  [[nodiscard]] __device__ int end_x(const strip& s) const {
    return min(x + block_width, s.shape.n.x);
  }
};

/// Partition of a strip into shares: bands of equal height. Neighbouring bands run in opposite
/// directions, which change in every step: bands meet at rows that both read, and begin with rows
/// that the caches still hold.
struct sharing {
  int across = 1;  ///< blocks side by side
  int bands = 1;
  int spare_south = 0, spare_north = 0;  ///< rows that the first and last band have less

  sharing() = default;
  sharing(const strip& s, int shares, int spare_rows) {
    const jacobi2d::extent n = s.shape.n;
    across = apps::pieces(n.x, block_width);
    bands = std::clamp(shares / across, 1, n.y);
    const int spare = std::min(spare_rows, n.y / bands - 1);
    if (s.has_neighbour[side::south]) spare_south = spare;
    if (s.has_neighbour[side::north]) spare_north = spare;
  }
  [[nodiscard]] __host__ __device__ int count() const { return across * bands; }
  /// Returns the first row of a band.
  [[nodiscard]] __host__ __device__ int row(int band, int rows) const {
    const offset all = offset{rows} + spare_south + spare_north;
    const int even = static_cast<int>(all * band / bands) - spare_south;
    return even < 0 ? 0 : even > rows ? rows : even;
  }
  [[nodiscard]] __device__ share operator()(const strip& s, int i, long step) const {
    const int column = i % across, band = i / across, rows = s.shape.n.y;
    return {column, column * block_width, row(band, rows), row(band + 1, rows),
            (band + step) % 2 == 0};
  }
};

/// Updates a share. Rows beside neighbours are first: updates of the other rows hide the transfer.
template <class Exchange>
__device__ void do_share(const strip& s, share part, long step, const Exchange& exchange) {
  const float* const from = s.state(step);
  float* const to = s.state(step + 1);
  const int last = s.shape.n.y - 1;
  const bool south = part.begin == 0 && s.has_neighbour[side::south];
  const bool north = part.end == last + 1 && s.has_neighbour[side::north];
  if (south) exchange.wait(side::south, part, step);
  if (north) exchange.wait(side::north, part, step);
  const auto update_one = [&](int y) {
    update_row(s.shape, from, to, part.x, part.end_x(s), y, static_cast<int>(threadIdx.x),
               block_threads);
  };
  if (south) {
    update_one(0);
    exchange.send(s, side::south, part, step);
    part.begin = 1;
    part.up = true;
  }
  if (north) {
    if (part.begin <= last) update_one(last);
    exchange.send(s, side::north, part, step);
    part.end = last;
    part.up = south;
  }
  if (part.begin < part.end) update_rows(s.shape, from, to, part.x, part.begin, part.end, part.up);
}

/// Runs the steps first ≤ n < end in resident blocks, which synchronise after each step. Strips
/// synchronise by their neighbours' rows alone: a row of state n arrives after its sender has read
/// the ghost cells of state n - 1, which the next row sent to it overwrites.
template <class Exchange>
__device__ void do_steps(const strip& s, const sharing& cut, long first, long end,
                         const Exchange& exchange) {
  const auto all = cooperative_groups::this_grid();
  for (long step = first; step < end; ++step) {
    for (int i = static_cast<int>(blockIdx.x); i < cut.count(); i += static_cast<int>(gridDim.x))
      do_share(s, cut(s, i, step), step, exchange);
    all.sync();
  }
}

/// Fills both states; blocks iterate over rows. `spoilt`: a cell in the middle is wrong, for tests
/// of the checks.
__global__ void __launch_bounds__(block_threads) fill(strip s, initial_values value, bool spoilt) {
  const jacobi2d::extent n = s.shape.n;
  for (int y = static_cast<int>(blockIdx.x) - 1; y <= n.y; y += static_cast<int>(gridDim.x))
    for (int x = static_cast<int>(threadIdx.x) - 1; x <= n.x; x += block_threads) {
      const bool wrong = spoilt && x == n.x / 2 && y == n.y / 2;
      const float v = wrong ? 64.0F : value(x, s.origin + y);
      s.states[0][s.shape.at(x, y)] = s.states[1][s.shape.at(x, y)] = v;
    }
}

/// Result for the host: the checksum, and the bit pattern of the largest error.
struct findings {
  unsigned long long checksum, error;
};

__global__ void __launch_bounds__(block_threads)
    judge_cells(strip s, initial_values value, double amplitude, long steps, findings* found) {
  const jacobi2d::checksum_of_cell sum{s.state(steps), value.grid, s.origin};
  const jacobi2d::error_of_cell error{s.state(steps), value, s.origin, amplitude};
  unsigned long long total = 0, worst = 0;
  for (int y = static_cast<int>(blockIdx.x); y < s.shape.n.y; y += static_cast<int>(gridDim.x))
    for (int x = static_cast<int>(threadIdx.x); x < s.shape.n.x; x += block_threads) {
      const offset at = s.shape.at(x, y);
      total += sum(at, x, y);
      if (value.kind == jacobi2d::problem_kind::mode)
        worst = max(worst, static_cast<unsigned long long>(error(at, x, y)));
    }
  atomicAdd(&found->checksum, total);
  atomicMax(&found->error, worst);
}

}  // namespace code

using starling::bench::check, starling::bench::device_array, starling::bench::on_device;

/// Fills a strip's first state and judges its last state, on the current device.
class beginning_and_end {
 public:
  explicit beginning_and_end(const jacobi2d::problem& start)
      : m_start(&start),
        m_tables(on_device<double>(static_cast<code::offset>(start.tables().size()))) {
    const std::vector<double>& tables = start.tables();
    check(cudaMemcpy(m_tables.get(), tables.data(), tables.size() * sizeof(double),
                     cudaMemcpyHostToDevice),
          "cudaMemcpy");
  }
  /// Fills both states; returns when they are complete.
  void fill(const code::strip& s, bool spoilt) const {
    code::fill<<<row_blocks, code::block_threads>>>(s, m_start->with(m_tables.get()), spoilt);
    check(cudaGetLastError(), "fill");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  [[nodiscard]] answer judged(const code::strip& s, long steps) const {
    const device_array<code::findings> found = on_device<code::findings>(1);
    check(cudaMemset(found.get(), 0, sizeof(code::findings)), "cudaMemset");
    code::judge_cells<<<row_blocks, code::block_threads>>>(
        s, m_start->with(m_tables.get()), m_start->amplitude(steps), steps, found.get());
    check(cudaGetLastError(), "judge_cells");
    code::findings result{};
    check(cudaMemcpy(&result, found.get(), sizeof result, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return {result.checksum, std::bit_cast<double>(result.error)};
  }

 private:
  static constexpr unsigned row_blocks = 2048;

  const jacobi2d::problem* m_start;
  device_array<double> m_tables;
};

/// Returns how many blocks of a kernel can be resident on the current device at once.
inline int resident_blocks(const void* kernel, const launch_shape& shape) {
  int device = 0, multiprocessors = 0, most = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&most, kernel, code::block_threads, 0),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  return multiprocessors * (shape.blocks == 0 ? most : std::min(shape.blocks, most));
}

}  // namespace by_hand
