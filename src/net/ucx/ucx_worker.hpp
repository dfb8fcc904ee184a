// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <ucp/api/ucp.h>

namespace starling::detail {

/// @throws bootstrap_error naming the call and UCX's reason
void check_ucx(ucs_status_t status, const char* call);

/// UCX's context and worker of this process, for one thread at a time.
class ucx_worker {
 public:
  /// `uses_posix_memory`: UCX may make files in /dev/shm. @throws bootstrap_error
  explicit ucx_worker(bool uses_posix_memory = true);
  ~ucx_worker();
  ucx_worker(const ucx_worker&) = delete;
  ucx_worker& operator=(const ucx_worker&) = delete;

  [[nodiscard]] ucp_worker_h get() const noexcept { return m_worker; }
  /// What other ranks connect to.
  [[nodiscard]] std::string address() const;
  /// Of an active message.
  [[nodiscard]] std::size_t largest_header() const noexcept { return m_largest_header; }
  /// Readable when an armed worker has something to do.
  [[nodiscard]] int event_descriptor() const noexcept { return m_events; }
  /// Not all that was begun has come to its end: nothing to warn of when this is destroyed.
  void expect_leftovers() noexcept { m_has_leftovers = true; }
  [[nodiscard]] bool has_leftovers() const noexcept { return m_has_leftovers; }

 private:
  ucp_context_h m_context = nullptr;
  ucp_worker_h m_worker = nullptr;
  int m_events = -1;
  std::size_t m_largest_header = 0;
  bool m_has_leftovers = false;
};

/// A connection to one rank.
class ucx_endpoint {
 public:
  ucx_endpoint() noexcept = default;
  /// It tells of its errors by `on_error`, in calls of UCX. A near one, to a process of this host,
  /// takes UCX' fastest ways, which do not notice that a process dies. @throws bootstrap_error
  ucx_endpoint(ucp_worker_h worker, const std::string& address, bool is_near,
               ucp_err_handler_cb_t on_error, void* context);
  ucx_endpoint(ucx_endpoint&& other) noexcept { swap(other); }
  ucx_endpoint& operator=(ucx_endpoint&& other) noexcept {
    swap(other);
    return *this;
  }
  /// Ended by `close` before.
  ~ucx_endpoint() = default;

  [[nodiscard]] ucp_ep_h get() const noexcept { return m_endpoint; }
  /// Null when all that was sent is on its way, or a request that is to be driven to its end.
  [[nodiscard]] ucs_status_ptr_t flush() noexcept;
  /// Begins to close it: all that was sent reaches the other side first, unless `at_once`. Null or
  /// a request that is to be driven to its end.
  [[nodiscard]] ucs_status_ptr_t close(bool at_once) noexcept;

 private:
  void swap(ucx_endpoint& other) noexcept {
    std::swap(m_endpoint, other.m_endpoint);
    std::swap(m_is_near, other.m_is_near);
  }
  ucp_ep_h m_endpoint = nullptr;
  bool m_is_near = true;
};

}  // namespace starling::detail
