// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

#include "../backend.hpp"

namespace starling::detail {

/// Unused executable graphs, kept for updates: changing the arguments of an executable graph costs
/// a fraction of instantiating a new graph. Thread-safe.
class cuda_graph_cache {
 public:
  cuda_graph_cache() = default;
  ~cuda_graph_cache();
  cuda_graph_cache(const cuda_graph_cache&) = delete;
  cuda_graph_cache& operator=(const cuda_graph_cache&) = delete;

  /// Returns an executable form of `recording`, which has `nodes` nodes. @throws device_error
  [[nodiscard]] cudaGraphExec_t instantiate(cudaGraph_t recording, std::size_t nodes);
  void give_back(cudaGraphExec_t executable, std::size_t nodes) noexcept;
  /// Returns the number of graphs made by updating an old graph; for tests.
  [[nodiscard]] std::size_t updates() const noexcept;

 private:
  struct entry {
    cudaGraphExec_t executable;
    std::size_t nodes;
  };
  static constexpr std::size_t most = 16;

  mutable std::mutex m_lock;
  std::vector<entry> m_entries;  // oldest first
  std::size_t m_updates = 0;
};

class cuda_graph final : public backend_graph {
 public:
  /// Takes ownership of an ended capture, also when it throws. @throws device_error
  cuda_graph(cudaGraph_t recording, std::shared_ptr<cuda_graph_cache> cache);
  ~cuda_graph() override { m_cache->give_back(m_executable, m_size); }

  [[nodiscard]] std::size_t size() const noexcept override { return m_size; }
  void launch(cudaStream_t stream);

 private:
  std::shared_ptr<cuda_graph_cache> m_cache;
  std::size_t m_size = 0;
  cudaGraphExec_t m_executable = nullptr;
  std::mutex m_lock;  // CUDA allows one call at a time on an executable graph
};

}  // namespace starling::detail
