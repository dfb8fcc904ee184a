// SPDX-License-Identifier: Apache-2.0
#include "plain_cuda.hpp"

#include <algorithm>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <stdexcept>

#include "../common/plain_cuda.cuh"

namespace tree_search {
namespace {

using starling::bench::check, starling::bench::device_array, starling::bench::on_device,
    starling::bench::on_host, starling::bench::pinned_array, starling::bench::stream;
using counter = unsigned long long;  // the type of CUDA's atomic additions

constexpr int block_threads = 256;
/// A level reads one buffer and one size, writes the next of each, and clears the size after that.
constexpr int buffers = 2, sizes = 3;
/// A multiple of `buffers` and of `sizes`.
constexpr int levels_of_graph = 36;

struct state {
  std::uint32_t size[sizes];
  std::uint32_t too_large;  // nodes of a level that did not fit; 0: none
  counter nodes, sum;
};

__global__ void plant(tree whole, node* first, state* s) {
  const std::uint32_t at = blockIdx.x * block_threads + threadIdx.x;
  if (at < whole.roots) first[at] = tree::child(0, at);
  if (at == 0) *s = {{whole.roots, 0, 0}, 0, 0, 0};
}

/// Expands a level: each thread of a block expands a node; a scan gives its children their places.
__global__ void __launch_bounds__(block_threads)
    expand(tree whole, const node* from, node* to, std::uint32_t room, state* s, int turn) {
  using scan = cub::BlockScan<std::uint32_t, block_threads>;
  using reduce = cub::BlockReduce<counter, block_threads>;
  __shared__ union {
    typename scan::TempStorage places;
    typename reduce::TempStorage sums;
  } scratch;
  __shared__ std::uint32_t first;
  const std::uint32_t size = s->size[turn];
  std::uint32_t* const next = &s->size[(turn + 1) % sizes];
  if (blockIdx.x == 0 && threadIdx.x == 0) s->size[(turn + 2) % sizes] = 0;
  counter nodes = 0, sum = 0;
  for (std::uint32_t base = blockIdx.x * block_threads; base < size;
       base += gridDim.x * block_threads) {
    const bool is_one = base + threadIdx.x < size;
    const node mine = is_one ? from[base + threadIdx.x] : 0;
    const std::uint32_t children = is_one ? whole.children_of(mine) : 0;
    nodes += is_one;
    sum += mine;
    std::uint32_t before = 0, all = 0;
    scan(scratch.places).ExclusiveSum(children, before, all);
    if (threadIdx.x == 0) first = all == 0 ? 0 : atomicAdd(next, all);
    __syncthreads();
    if (first + all > room) {
      if (threadIdx.x == 0) {
        atomicMax(&s->too_large, first + all);
        atomicSub(next, all);  // the host ends the search
      }
    } else {
      for (std::uint32_t c = 0; c < children; ++c) to[first + before + c] = tree::child(mine, c);
    }
    __syncthreads();
  }
  if (blockIdx.x * block_threads >= size) return;  // no node for this block
  nodes = reduce(scratch.sums).Sum(nodes);
  __syncthreads();
  sum = reduce(scratch.sums).Sum(sum);
  if (threadIdx.x == 0) {
    atomicAdd(&s->nodes, nodes);
    atomicAdd(&s->sum, sum);
  }
}

unsigned blocks_for(std::uint32_t nodes) {
  return std::max(1u, (nodes + block_threads - 1) / block_threads);
}

class graph {
 public:
  graph() = default;
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  ~graph() {
    if (m_handle != nullptr) cudaGraphExecDestroy(m_handle);
  }
  /// Captures the work that `submit` gives to the stream.
  template <class Submit>
  void capture(const stream& on, Submit submit) {
    cudaGraph_t made = nullptr;
    check(cudaStreamBeginCapture(on.get(), cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
    submit();
    check(cudaStreamEndCapture(on.get(), &made), "cudaStreamEndCapture");
    const cudaError_t code = cudaGraphInstantiate(&m_handle, made, 0);
    cudaGraphDestroy(made);
    check(code, "cudaGraphInstantiate");
  }
  void launch(const stream& on) const {
    check(cudaGraphLaunch(m_handle, on.get()), "cudaGraphLaunch");
  }

 private:
  cudaGraphExec_t m_handle = nullptr;
};

}  // namespace

std::string cuda_device_name() {
  cudaDeviceProp found{};
  return cudaGetDeviceProperties(&found, 0) == cudaSuccess ? found.name : "";
}

class level_search::impl {
 public:
  impl(const tree& searched, look when)
      : m_tree(searched), m_room(4 * searched.roots + (1u << 20)), m_stream(0),
        m_state(on_device<state>(1)), m_seen(on_host<state>(1)) {
    for (auto& b : m_levels) b = on_device<node>(m_room);
    if (when == look::each_level) return;
    // Levels are about as large as the first level, as long as the number of blocks matters.
    m_graph.capture(m_stream, [&] {
      for (int level = 0; level < levels_of_graph; ++level) launch(level, m_tree.roots);
      see();
    });
    m_levels_a_look = levels_of_graph;
  }

  findings run() {
    plant<<<blocks_for(m_tree.roots), block_threads, 0, m_stream.get()>>>(m_tree, m_levels[0].get(),
                                                                          m_state.get());
    check(cudaGetLastError(), "plant");
    std::uint32_t left = m_tree.roots;
    for (int level = 0; left != 0; level += m_levels_a_look) {
      go_on(level, left);
      check(cudaStreamSynchronize(m_stream.get()), "cudaStreamSynchronize");
      if (m_seen[0].too_large != 0)
        throw std::runtime_error("a level has " + std::to_string(m_seen[0].too_large) +
                                 " nodes, there is room for " + std::to_string(m_room));
      left = m_seen[0].size[(level + m_levels_a_look) % sizes];
    }
    return {m_seen[0].nodes, m_seen[0].sum};
  }

 private:
  void go_on(int level, std::uint32_t nodes) {
    if (m_levels_a_look > 1) return m_graph.launch(m_stream);
    launch(level, nodes);
    see();
  }
  void launch(int level, std::uint32_t nodes) {
    expand<<<blocks_for(nodes), block_threads, 0, m_stream.get()>>>(
        m_tree, m_levels[level % buffers].get(), m_levels[(level + 1) % buffers].get(), m_room,
        m_state.get(), level % sizes);
    check(cudaGetLastError(), "expand");
  }
  void see() {
    check(cudaMemcpyAsync(m_seen.get(), m_state.get(), sizeof(state), cudaMemcpyDeviceToHost,
                          m_stream.get()),
          "cudaMemcpyAsync");
  }

  tree m_tree;
  std::uint32_t m_room;
  stream m_stream;
  device_array<node> m_levels[buffers];
  device_array<state> m_state;
  pinned_array<state> m_seen;
  graph m_graph;
  int m_levels_a_look = 1;
};

level_search::level_search(const tree& searched, look when)
    : m_impl(std::make_unique<impl>(searched, when)) {}
level_search::~level_search() = default;

findings level_search::run() { return m_impl->run(); }

}  // namespace tree_search
