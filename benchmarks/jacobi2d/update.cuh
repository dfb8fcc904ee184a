// SPDX-License-Identifier: Apache-2.0
//
// The update that all programs written by hand share: a block of threads iterates over a band of
// rows.
//
// A thread updates four adjacent cells of each row, gets the cells beside them from its warp, and
// loads the next rows ahead of their use: every row of a band is read once.
#pragma once

#include <cuda_runtime.h>

#include "physics/layout.hpp"
#include "physics/update.hpp"

namespace by_hand::code {

using jacobi2d::mean_of;
using jacobi2d::offset;
using jacobi2d::strip_layout;

inline constexpr int block_threads = 256;
inline constexpr int lanes = 32;
inline constexpr int width = 4;  // cells of a thread: 16 bytes
inline constexpr int warp_width = lanes * width;
inline constexpr int block_width = block_threads * width;
inline constexpr int ahead = 4;         // rows that are being loaded
inline constexpr int least_blocks = 4;  // of a multiprocessor: at most 64 registers

/// Four cells of a row and, at the ends of a warp, the cell beside them.
struct piece {
  float4 of;
  float beside;
};

/// Updates rows begin ≤ y < end, upwards or downwards, of four cells per thread of a warp from `x`
/// on.
template <bool Up>
class warp_sweep {
 public:
  __device__ warp_sweep(const strip_layout& s, const float* from, float* to, int x, int begin,
                        int end)
      : m_rows(end - begin), m_beside(lane() == 0 ? -1 : width), m_onward(Up ? s.pitch : -s.pitch),
        m_next(from + s.at(x, Up ? begin - 1 : end)), m_out(to + s.at(x, Up ? begin : end - 1)) {}

  __device__ void run() {
    // The previous row, this row, the rows that are being loaded, and the next row to load: rows
    // change their roles and not their registers.
    constexpr int turns = ahead + 3;
    piece rows[turns] = {};
#pragma unroll
    for (int k = 0; k < ahead + 2; ++k)
      if (k < m_rows + 2) rows[k] = load();
    for (int y = 0;; y += turns) {
#pragma unroll
      for (int k = 0; k < turns; ++k) {
        if (y + k >= m_rows) return;
        // Before the store: compilers do not move loads before a store.
        if (y + k + ahead < m_rows) rows[(k + ahead + 2) % turns] = load();
        const piece &behind = rows[k], &coming = rows[(k + 2) % turns];
        store_means(Up ? behind : coming, rows[(k + 1) % turns], Up ? coming : behind);
      }
    }
  }

 private:
  static __device__ int lane() { return static_cast<int>(threadIdx.x) % lanes; }
  __device__ piece load() {
    piece p{*reinterpret_cast<const float4*>(m_next), 0.0F};
    if (lane() == 0 || lane() == lanes - 1) p.beside = m_next[m_beside];
    m_next += m_onward;
    return p;
  }
  __device__ void store_means(const piece& south, const piece& row, const piece& north) {
    const float4 &c = row.of, &s = south.of, &n = north.of;
    float west = __shfl_up_sync(~0U, c.w, 1), east = __shfl_down_sync(~0U, c.x, 1);
    if (lane() == 0) west = row.beside;
    if (lane() == lanes - 1) east = row.beside;
    *reinterpret_cast<float4*>(m_out) = {mean_of(west, c.y, s.x, n.x), mean_of(c.x, c.z, s.y, n.y),
                                         mean_of(c.y, c.w, s.z, n.z), mean_of(c.z, east, s.w, n.w)};
    m_out += m_onward;
  }

  int m_rows, m_beside;
  offset m_onward;
  const float* m_next;
  float* m_out;
};

/// Updates cells x ≤ … < end_x of a row, spread over `team` threads; this thread has number `rank`.
__device__ inline void update_row(const strip_layout& s, const float* from, float* to, int x,
                                  int end_x, int y, int rank, int team) {
  for (x += rank; x < end_x; x += team) {
    const float* const here = from + s.at(x, y);
    to[s.at(x, y)] = mean_of(here[-1], here[1], here[-s.pitch], here[s.pitch]);
  }
}

/// Updates the columns of a block that begin at `x`, with all its threads.
__device__ inline void update_rows(const strip_layout& s, const float* from, float* to, int x,
                                   int begin, int end, bool up) {
  const int mine = x + static_cast<int>(threadIdx.x) * width;
  const int first = mine - static_cast<int>(threadIdx.x) % lanes * width;  // of the warp
  if (first + warp_width > s.n.x) {  // the end of a grid that warps do not divide
    for (int y = begin; y < end; ++y)
      update_row(s, from, to, first, s.n.x, y, static_cast<int>(threadIdx.x) % lanes, lanes);
    return;
  }
  if (up)
    warp_sweep<true>(s, from, to, mine, begin, end).run();
  else
    warp_sweep<false>(s, from, to, mine, begin, end).run();
}

}  // namespace by_hand::code
