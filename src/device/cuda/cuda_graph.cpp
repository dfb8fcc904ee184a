// SPDX-License-Identifier: Apache-2.0
#include "cuda_graph.hpp"

#include "cuda_error.hpp"

namespace starling::detail {

cuda_graph_cache::~cuda_graph_cache() {
  for (const entry& e : m_entries) static_cast<void>(cudaGraphExecDestroy(e.executable));
  forget_cuda_error();
}

cudaGraphExec_t cuda_graph_cache::instantiate(cudaGraph_t recording, std::size_t nodes) {
  {
    std::lock_guard lock(m_lock);
    for (auto e = m_entries.begin(); e != m_entries.end(); ++e) {
      if (e->nodes != nodes) continue;
      // Launches already queued keep the old arguments.
      cudaGraphExecUpdateResultInfo info{};
      if (cudaGraphExecUpdate(e->executable, recording, &info) != cudaSuccess) {
        forget_cuda_error();  // the graphs differ in shape
        continue;
      }
      const cudaGraphExec_t found = e->executable;
      m_entries.erase(e);
      ++m_updates;
      return found;
    }
  }
  cudaGraphExec_t made = nullptr;
  check(cudaGraphInstantiate(&made, recording, 0), "cudaGraphInstantiate");
  return made;
}

void cuda_graph_cache::give_back(cudaGraphExec_t executable, std::size_t nodes) noexcept {
  cudaGraphExec_t dropped = executable;
  try {
    std::lock_guard lock(m_lock);
    m_entries.push_back({executable, nodes});
    dropped = nullptr;
    if (m_entries.size() > most) {
      dropped = m_entries.front().executable;
      m_entries.erase(m_entries.begin());
    }
  } catch (...) {  // no memory to keep the graph
  }
  // If the graph still runs, CUDA frees it when its run ends.
  if (dropped != nullptr && cudaGraphExecDestroy(dropped) != cudaSuccess) forget_cuda_error();
}

std::size_t cuda_graph_cache::updates() const noexcept {
  std::lock_guard lock(m_lock);
  return m_updates;
}

cuda_graph::cuda_graph(cudaGraph_t recording, std::shared_ptr<cuda_graph_cache> cache)
    : m_cache(std::move(cache)) {
  const std::unique_ptr<CUgraph_st, cudaError_t (*)(cudaGraph_t)> owner(recording,
                                                                        &cudaGraphDestroy);
  check(cudaGraphGetNodes(recording, nullptr, &m_size), "cudaGraphGetNodes");
  m_executable = m_cache->instantiate(recording, m_size);
}

void cuda_graph::launch(cudaStream_t stream) {
  std::lock_guard lock(m_lock);
  check(cudaGraphLaunch(m_executable, stream), "cudaGraphLaunch");
}

}  // namespace starling::detail
