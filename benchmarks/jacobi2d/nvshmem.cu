// SPDX-License-Identifier: Apache-2.0
#include "nvshmem.hpp"

#include <nvshmem.h>
#include <nvshmemx.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <string>

#include "strip.cuh"

namespace by_hand {
namespace {

using code::side;

static_assert(sizeof(nvshmemx_uniqueid_t) <= unique_id::size);

void require(int status, const char* call) {
  if (status != 0)
    throw std::runtime_error(std::string(call) + " failed with " + std::to_string(status));
}

/// Exchange that puts rows into a neighbour's memory, with a signal for each block's part of a row.
struct puts {
  jacobi2d::per_side<float*> ghosts[2];      ///< of the neighbour's two states, from cell 0 on
  jacobi2d::per_side<std::uint64_t*> there;  ///< a neighbour's signals, one for each column
  jacobi2d::per_side<std::uint64_t*> here;   ///< steps that the neighbour has done
  jacobi2d::per_side<int> pe;

  /// Waits until the neighbour's cells beside a share have arrived, in their state before `step`.
  __device__ void wait(side d, const code::share& part, long step) const {
    if (threadIdx.x == 0)
      nvshmem_signal_wait_until(here[d] + part.column, NVSHMEM_CMP_GE,
                                static_cast<std::uint64_t>(step));
    __syncthreads();
  }
  /// Puts the outermost row of a share that has just been updated. The row is overwritten two steps
  /// later, after the neighbour's next row, which is sent only when this row has arrived: so no
  /// `quiet` is needed.
  __device__ void send(const code::strip& s, side d, const code::share& part, long step) const {
    const float* const row = s.state(step + 1) + s.shape.at(part.x, s.shape.own_row(d));
    __syncthreads();
    nvshmemx_float_put_signal_nbi_block(
        ghosts[(step + 1) & 1][d] + part.x, row, static_cast<std::size_t>(part.end_x(s) - part.x),
        there[d] + part.column, static_cast<std::uint64_t>(step) + 1, NVSHMEM_SIGNAL_SET, pe[d]);
  }
};

__global__ void __launch_bounds__(code::block_threads, code::least_blocks)
    resident(const __grid_constant__ code::strip s, const __grid_constant__ code::sharing cut,
             long first, long end, const __grid_constant__ puts exchange) {
  code::do_steps(s, cut, first, end, exchange);
}

/// Initialises the library, and finalises it.
class library {
 public:
  explicit library(const pe_run& run) {
    check(cudaSetDevice(run.pe), "cudaSetDevice");
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    std::memcpy(&id, run.id.bytes, sizeof id);
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    require(nvshmemx_set_attr_uniqueid_args(run.pe, run.all.gpus, &id, &attributes),
            "nvshmemx_set_attr_uniqueid_args");
    require(nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes), "nvshmemx_init_attr");
  }
  ~library() {
    if (std::uncaught_exceptions() == 0) nvshmem_finalize();  // waits for all PEs
  }
  library(const library&) = delete;
  library& operator=(const library&) = delete;
};

/// Memory at the same offset of the symmetric heap on all PEs.
template <class T>
class symmetric_array {
 public:
  explicit symmetric_array(std::int64_t size)
      : m_data(static_cast<T*>(nvshmem_align(alignment, std::size_t(size) * sizeof(T)))) {
    if (m_data == nullptr) throw std::runtime_error("nvshmem_align: no memory");
    check(cudaMemset(m_data, 0, std::size_t(size) * sizeof(T)), "cudaMemset");
  }
  ~symmetric_array() {
    if (std::uncaught_exceptions() == 0) nvshmem_free(m_data);  // waits for all PEs
  }
  symmetric_array(const symmetric_array&) = delete;
  symmetric_array& operator=(const symmetric_array&) = delete;
  [[nodiscard]] T* get() const { return m_data; }

 private:
  static constexpr std::size_t alignment = 128;
  T* m_data;
};

/// A PE's strip. All PEs must allocate equal sizes, so arrays have the size of the largest strip.
class pe_strip {
 public:
  pe_strip(int pe, const jacobi2d::decomposition& cut, const launch_shape& shape)
      : m_columns(apps::pieces(cut.grid.x, code::block_width)), m_even(largest(cut)),
        m_odd(largest(cut)),
        m_signals(2 * m_columns), m_strip{jacobi2d::strip_layout(cut.cells(pe)),
                                          cut.origin(pe),
                                          {m_even.get(), m_odd.get()},
                                          {}} {
    for (const side d : jacobi2d::sides) {
      const side its = d == side::south ? side::north : side::south;
      m_exchange.here[d] = signals_of(d);
      m_exchange.there[d] = signals_of(its);
      const auto neighbour = cut.neighbour(pe, d);
      if (!neighbour) continue;
      m_strip.has_neighbour[d] = true;
      m_exchange.pe[d] = *neighbour;
      const jacobi2d::strip_layout other(cut.cells(*neighbour));
      for (int i = 0; i < 2; ++i)
        m_exchange.ghosts[i][d] = m_strip.states[i] + other.at(0, other.ghost_row(its));
    }
    m_blocks = resident_blocks(reinterpret_cast<const void*>(resident), shape);
    m_cut = code::sharing(m_strip, m_blocks * shape.rounds, shape.spare_rows);
  }

  /// Runs the steps first ≤ n < end; returns when this PE has completed them.
  void advance(long first, long end) {
    void* arguments[] = {&m_strip, &m_cut, &first, &end, &m_exchange};
    // The same number of blocks on all PEs; some blocks may have no share.
    require(nvshmemx_collective_launch(reinterpret_cast<const void*>(resident),
                                       dim3(unsigned(m_blocks)), dim3(code::block_threads),
                                       arguments, 0, m_stream.get()),
            "nvshmemx_collective_launch");
    check(cudaStreamSynchronize(m_stream.get()), "cudaStreamSynchronize");
  }
  [[nodiscard]] const code::strip& get() const { return m_strip; }

 private:
  static std::int64_t largest(const jacobi2d::decomposition& cut) {
    const jacobi2d::extent n = cut.grid;
    return jacobi2d::strip_layout({n.x, apps::pieces(n.y, cut.strips)}).size();
  }
  [[nodiscard]] std::uint64_t* signals_of(side d) const {
    return m_signals.get() + static_cast<int>(d) * m_columns;
  }

  int m_columns;
  symmetric_array<float> m_even, m_odd;
  symmetric_array<std::uint64_t> m_signals;
  code::strip m_strip;
  code::sharing m_cut;
  puts m_exchange{};
  int m_blocks = 0;
  starling::bench::stream m_stream{0};
};

}  // namespace

void make(unique_id& id) {
  nvshmemx_uniqueid_t made = NVSHMEMX_UNIQUEID_INITIALIZER;
  require(nvshmemx_get_uniqueid(&made), "nvshmemx_get_uniqueid");
  std::memcpy(id.bytes, &made, sizeof made);
}

int device_count() noexcept {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

outcome steps_of_pe(const pe_run& run, const jacobi2d::problem& start, bool spoilt) {
  const library used(run);
  pe_strip mine(run.pe, jacobi2d::decompose(start.grid(), run.all.gpus), run.all.shape);
  const beginning_and_end ends(start);
  ends.fill(mine.get(), spoilt);
  // No PE may put rows into ghost cells that are still to be filled.
  const auto meet = [&] {
    nvshmem_barrier_all();
    run.meet();
  };
  meet();
  mine.advance(0, run.all.warmup);
  meet();
  const auto begin = std::chrono::steady_clock::now();
  mine.advance(run.all.warmup, run.all.steps());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return {elapsed.count(), ends.judged(mine.get(), run.all.steps())};
}

}  // namespace by_hand
