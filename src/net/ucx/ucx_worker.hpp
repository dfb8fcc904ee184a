// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <ucp/api/ucp.h>

namespace starling::detail {

/// Checks the status of a call of UCX. @throws bootstrap_error naming the call and UCX's reason
void check_ucx(ucs_status_t status, const char* call);

/// Returns parameters of a UCX operation that calls a callback with `user_data` at completion.
inline ucp_request_param_t request(std::uint32_t more_fields, void* user_data) noexcept {
  ucp_request_param_t p{};
  p.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | more_fields;
  p.user_data = user_data;
  return p;
}

/// UCX context and worker of this process. Used by one thread at a time.
class ucx_worker {
 public:
  /// `uses_posix_memory`: UCX may create files in its folder. @throws bootstrap_error
  explicit ucx_worker(bool uses_posix_memory = true);
  ~ucx_worker();
  ucx_worker(const ucx_worker&) = delete;
  ucx_worker& operator=(const ucx_worker&) = delete;

  [[nodiscard]] ucp_worker_h get() const noexcept { return m_worker; }
  /// Returns the address to which other ranks connect. @throws bootstrap_error
  [[nodiscard]] std::string address() const;
  /// Returns the largest header of an active message, in bytes.
  [[nodiscard]] std::size_t largest_header() const noexcept { return m_largest_header; }
  /// Returns a file descriptor that becomes readable when an armed worker has work.
  [[nodiscard]] int event_descriptor() const noexcept { return m_events; }
  /// Notes that some requests have not completed: the destructor then suppresses UCX's warnings
  /// about them, unless UCX_LOG_LEVEL is set.
  void expect_leftovers() noexcept { m_has_leftovers = true; }
  [[nodiscard]] bool has_leftovers() const noexcept { return m_has_leftovers; }

 private:
  ucp_context_h m_context = nullptr;
  ucp_worker_h m_worker = nullptr;
  int m_events = -1;
  std::size_t m_largest_header = 0;
  bool m_has_leftovers = false;
};

/// Connection to one rank. `close` must have been called before the destructor.
class ucx_endpoint {
 public:
  ucx_endpoint() noexcept = default;
  ucx_endpoint(const ucx_endpoint&) = delete;
  ucx_endpoint& operator=(const ucx_endpoint&) = delete;
  /// Connects, once. Errors are reported by `on_error`, within calls of UCX. A near endpoint, to a
  /// process of this host, uses UCX's fastest transports, which do not detect the end of a process.
  /// @throws bootstrap_error
  void connect(ucp_worker_h worker, const std::string& address, bool is_near,
               ucp_err_handler_cb_t on_error, void* context);

  [[nodiscard]] ucp_ep_h get() const noexcept { return m_endpoint; }
  /// Returns null when all sent messages are on their way, else an error or a request that is to be
  /// driven to completion.
  [[nodiscard]] ucs_status_ptr_t flush() noexcept;
  /// Begins to close the connection. Unless `at_once`, all sent messages reach the peer first.
  /// Returns null, an error, or a request that is to be driven to completion.
  [[nodiscard]] ucs_status_ptr_t close(bool at_once) noexcept;

 private:
  ucp_ep_h m_endpoint = nullptr;
  bool m_is_near = true;
};

}  // namespace starling::detail
