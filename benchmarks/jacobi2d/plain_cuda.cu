// SPDX-License-Identifier: Apache-2.0
#include "plain_cuda.hpp"

#include <chrono>
#include <cuda/atomic>
#include <memory>
#include <string>
#include <vector>

#include "strip.cuh"

namespace by_hand {
namespace {

using code::side;
using flag = unsigned long long;  // steps that the neighbour has done in a column of blocks
using starling::bench::stream;

/// Exchange that stores rows in a neighbour's memory, with a flag for each block's part of a row.
struct peer_stores {
  static constexpr unsigned long long patience_ns = 20'000'000'000;

  jacobi2d::per_side<float*> ghosts[2];  ///< of the neighbour's two states, from cell 0 on
  jacobi2d::per_side<flag*> there;       ///< a neighbour's flags for this side, one for each column
  jacobi2d::per_side<flag*> here;
  int* lost;  ///< 1: a row did not arrive; all waits end

  /// Waits until the neighbour's cells beside a share have arrived, in their state before `step`.
  __device__ void wait(side d, const code::share& part, long step) const {
    // The acquire makes the neighbour's stores before its release visible to this thread, the
    // barrier to the whole block.
    if (threadIdx.x == 0) {
      const cuda::atomic_ref<flag, cuda::thread_scope_system> done(here[d][part.column]);
      const unsigned long long begin = now();
      for (unsigned turn = 0; done.load(cuda::std::memory_order_acquire) < flag(step); ++turn)
        if (turn % 1024 == 1023 && give_up(begin)) break;
    }
    __syncthreads();
  }
  /// Stores the outermost row of a share that has just been updated in the neighbour's ghost cells.
  __device__ void send(const code::strip& s, side d, const code::share& part, long step) const {
    const float* const row = s.state(step + 1) + s.shape.at(0, s.shape.own_row(d));
    float* const ghost = ghosts[(step + 1) & 1][d];
    __syncthreads();
    for (int x = part.x + static_cast<int>(threadIdx.x); x < part.end_x(s);
         x += code::block_threads)
      ghost[x] = row[x];
    __syncthreads();
    if (threadIdx.x == 0) {
      const cuda::atomic_ref<flag, cuda::thread_scope_system> done(there[d][part.column]);
      done.store(flag(step + 1), cuda::std::memory_order_release);
    }
  }

 private:
  static __device__ unsigned long long now() {
    unsigned long long ns = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
  }
  /// Returns whether to end a wait: after `patience_ns`, or if another wait has ended so. A wrong
  /// answer is better than a kernel that waits for ever.
  __device__ bool give_up(unsigned long long begin) const {
    // Relaxed: publishes no other data.
    const cuda::atomic_ref<int, cuda::thread_scope_device> failed(*lost);
    if (now() - begin > patience_ns) failed.store(1, cuda::std::memory_order_relaxed);
    return failed.load(cuda::std::memory_order_relaxed) != 0;
  }
};

__global__ void __launch_bounds__(code::block_threads, code::least_blocks)
    resident(const __grid_constant__ code::strip s, const __grid_constant__ code::sharing cut,
             long first, long end, const __grid_constant__ peer_stores exchange) {
  code::do_steps(s, cut, first, end, exchange);
}

/// Runs one step with a block for each share, scheduled by the device.
__global__ void __launch_bounds__(code::block_threads, code::least_blocks)
    once(const __grid_constant__ code::strip s, const __grid_constant__ code::sharing cut,
         long step) {
  const int count = cut.count(), i = static_cast<int>(blockIdx.x);
  // In reverse order in every second step: it begins with rows that the cache still holds.
  const code::share part = cut(s, step % 2 == 0 ? i : count - 1 - i, step);
  code::update_rows(s.shape, s.state(step), s.state(step + 1), part.x, part.begin, part.end,
                    part.up);
}

/// A device's strip and its memory.
class device_strip {
 public:
  device_strip(int device, const jacobi2d::decomposition& cut, const jacobi2d::problem& start,
               bool spoilt)
      : m_device(current(device)), m_shape(cut.cells(device)) {
    for (device_array<float>& a : m_arrays) a = on_device<float>(m_shape.size());
    m_strip = {m_shape, cut.origin(device), {m_arrays[0].get(), m_arrays[1].get()}, {}};
    for (const side d : jacobi2d::sides)
      if (const auto neighbour = cut.neighbour(device, d)) {
        m_strip.has_neighbour[d] = true;
        allow_peer(*neighbour);
      }
    const int flags = 2 * columns();
    m_flags = on_device<flag>(flags);
    check(cudaMemset(m_flags.get(), 0, std::size_t(flags) * sizeof(flag)), "cudaMemset");
    m_lost = on_device<int>(1);
    check(cudaMemset(m_lost.get(), 0, sizeof(int)), "cudaMemset");
    m_ends = std::make_unique<beginning_and_end>(start);
    m_ends->fill(m_strip, spoilt);
  }

  /// Sets the exchange and the number of blocks. Call it when all strips exist.
  void meet(const std::vector<std::unique_ptr<device_strip>>& all, const launch_shape& shape) {
    use();
    m_blocks = resident_blocks(reinterpret_cast<const void*>(resident), shape);
    m_cut = code::sharing(m_strip, m_blocks * shape.rounds, shape.spare_rows);
    m_exchange.lost = m_lost.get();
    for (const side d : jacobi2d::sides) {
      m_exchange.here[d] = flags_of(d);
      if (!m_strip.has_neighbour[d]) continue;
      const device_strip& other = *all[std::size_t(d == side::south ? m_device - 1 : m_device + 1)];
      const side its = d == side::south ? side::north : side::south;
      m_exchange.there[d] = other.flags_of(its);
      for (int i = 0; i < 2; ++i)
        m_exchange.ghosts[i][d] =
            other.m_strip.states[i] + other.m_shape.at(0, other.m_shape.ghost_row(its));
    }
  }
  void start(long first, long end) {
    use();
    void* arguments[] = {&m_strip, &m_cut, &first, &end, &m_exchange};
    check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(resident),
                                      dim3(unsigned(std::min(m_blocks, m_cut.count()))),
                                      dim3(code::block_threads), arguments, 0, m_stream.get()),
          "cudaLaunchCooperativeKernel");
  }
  void start_once(long step, int rows) {
    const int across = apps::pieces(m_shape.n.x, code::block_width);
    const code::sharing cut(m_strip, across * apps::pieces(m_shape.n.y, rows), 0);
    once<<<unsigned(cut.count()), code::block_threads, 0, m_stream.get()>>>(m_strip, cut, step);
    check(cudaGetLastError(), "once");
  }
  void wait() {
    use();
    check(cudaStreamSynchronize(m_stream.get()), "cudaStreamSynchronize");
  }
  [[nodiscard]] answer judged(long steps) {
    use();
    int lost = 0;
    check(cudaMemcpy(&lost, m_lost.get(), sizeof lost, cudaMemcpyDeviceToHost), "cudaMemcpy");
    if (lost != 0)
      throw std::runtime_error("a row for device " + std::to_string(m_device) + " never came");
    return m_ends->judged(m_strip, steps);
  }

 private:
  /// Selects the device. Called before the members are made: the stream needs the current device.
  static int current(int device) {
    check(cudaSetDevice(device), "cudaSetDevice");
    return device;
  }
  void use() const { current(m_device); }
  [[nodiscard]] int columns() const { return apps::pieces(m_shape.n.x, code::block_width); }
  [[nodiscard]] flag* flags_of(side d) const {
    return m_flags.get() + static_cast<int>(d) * columns();
  }
  void allow_peer(int neighbour) const {
    int possible = 0;
    check(cudaDeviceCanAccessPeer(&possible, m_device, neighbour), "cudaDeviceCanAccessPeer");
    if (possible == 0)
      throw std::invalid_argument("device " + std::to_string(m_device) +
                                  " does not reach the memory of device " +
                                  std::to_string(neighbour) + "; take one GPU");
    const cudaError_t code = cudaDeviceEnablePeerAccess(neighbour, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled)
      static_cast<void>(cudaGetLastError());  // enabled by an earlier run
    else
      check(code, "cudaDeviceEnablePeerAccess");
  }

  int m_device;
  jacobi2d::strip_layout m_shape;
  device_array<float> m_arrays[2];
  device_array<flag> m_flags;
  device_array<int> m_lost;
  std::unique_ptr<beginning_and_end> m_ends;
  code::strip m_strip;
  code::sharing m_cut;
  int m_blocks = 0;
  peer_stores m_exchange{};
  stream m_stream{0};
};

using strips = std::vector<std::unique_ptr<device_strip>>;

strips make_strips(int gpus, const launch_shape& shape, const jacobi2d::problem& start,
                   bool spoilt) {
  const jacobi2d::decomposition cut = jacobi2d::decompose(start.grid(), gpus);
  strips all;
  for (int device = 0; device < gpus; ++device)
    all.push_back(std::make_unique<device_strip>(device, cut, start, spoilt && device == 0));
  for (auto& s : all) s->meet(all, shape);
  return all;
}

/// Returns the seconds from start() until all strips have completed the started steps.
template <class Start>
double timed(const strips& all, Start start) {
  using clock = std::chrono::steady_clock;
  const clock::time_point begin = clock::now();
  start();
  for (const auto& s : all) s->wait();
  return std::chrono::duration<double>(clock::now() - begin).count();
}

outcome judged(const strips& all, double seconds, long steps) {
  outcome total{seconds, {}};
  for (const auto& s : all) total.found.add(s->judged(steps));
  return total;
}

}  // namespace

int device_count() noexcept {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

outcome steps_of_all(const cuda_run& run, const jacobi2d::problem& start, bool spoilt) {
  const strips all = make_strips(run.gpus, run.shape, start, spoilt);
  const auto advance = [&](long first, long end) {
    return timed(all, [&] {
      for (const auto& s : all) s->start(first, end);
    });
  };
  advance(0, run.warmup);
  const double seconds = advance(run.warmup, run.steps());
  return judged(all, seconds, run.steps());
}

outcome kernel_alone(const cuda_run& run, int rows, const jacobi2d::problem& start, bool spoilt) {
  const strips all = make_strips(1, run.shape, start, spoilt);
  const auto advance = [&](long first, long end) {
    return timed(all, [&] {
      for (long step = first; step < end; ++step) all.front()->start_once(step, rows);
    });
  };
  advance(0, run.warmup);
  const double seconds = advance(run.warmup, run.steps());
  return judged(all, seconds, run.steps());
}

}  // namespace by_hand
