// SPDX-License-Identifier: Apache-2.0
//
// UCX used directly by two processes of one thread each, without flow control. The only failure
// that is handled is the end of the peer process.
#pragma once

#include <stdexcept>
#include <string>

#include <ucp/api/ucp.h>

#include "pair.hpp"

namespace osu {

inline void check(ucs_status_t status, const char* call) {
  if (status != UCS_OK)
    throw std::runtime_error(std::string(call) + ": " + ucs_status_string(status));
}

/// This process, its forked copy, and a UCX connection between them.
class ucx_pair {
 public:
  explicit ucx_pair(std::uint64_t features) {
    ucp_params_t wanted{};
    wanted.field_mask = UCP_PARAM_FIELD_FEATURES;
    wanted.features = features;
    check(ucp_init(&wanted, nullptr, &m_context), "ucp_init");
    ucp_worker_params_t how{};
    how.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    how.thread_mode = UCS_THREAD_MODE_SINGLE;
    check(ucp_worker_create(m_context, &how, &m_worker), "ucp_worker_create");
  }
  ucx_pair(const ucx_pair&) = delete;
  ucx_pair& operator=(const ucx_pair&) = delete;
  ~ucx_pair() {
    ucp_worker_destroy(m_worker);
    ucp_cleanup(m_context);
  }
  /// Connects to the peer. Call it when this side can receive.
  void connect() {
    ucp_address_t* own = nullptr;
    std::size_t bytes = 0;
    check(ucp_worker_get_address(m_worker, &own, &bytes), "ucp_worker_get_address");
    const auto all = m_both.exchange(std::string(reinterpret_cast<const char*>(own), bytes));
    ucp_worker_release_address(m_worker, own);
    ucp_ep_params_t to{};
    to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    to.address = reinterpret_cast<const ucp_address_t*>(all[std::size_t(1 - rank())].data());
    check(ucp_ep_create(m_worker, &to, &m_other), "ucp_ep_create");
  }

  [[nodiscard]] int rank() const noexcept { return m_both.rank(); }
  [[nodiscard]] ucp_worker_h worker() const noexcept { return m_worker; }
  [[nodiscard]] ucp_ep_h other() const noexcept { return m_other; }

  /// Returns parameters of an operation that is counted until UCX calls back.
  [[nodiscard]] ucp_request_param_t counted() noexcept {
    ucp_request_param_t p{};
    p.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    p.user_data = this;
    p.cb.send = [](void* request, ucs_status_t status, void* self) {
      static_cast<ucx_pair*>(self)->over(request, status);
    };
    return p;
  }
  /// Counts an operation by UCX's return value `r`. Returns whether a callback will report its end.
  bool count(ucs_status_ptr_t r, const char* call) {
    if (UCS_PTR_IS_ERR(r)) check(UCS_PTR_STATUS(r), call);
    m_on_their_way += r != nullptr;
    return r != nullptr;
  }
  void over(void* request, ucs_status_t status) noexcept {
    if (status != UCS_OK) std::fprintf(stderr, "ucx: %s\n", ucs_status_string(status));
    --m_on_their_way;
    ucp_request_free(request);
  }
  [[nodiscard]] bool is_idle() const noexcept { return m_on_their_way == 0; }
  void progress() noexcept { static_cast<void>(ucp_worker_progress(m_worker)); }

  bool leave() {
    ucp_request_param_t how{};
    const ucs_status_ptr_t r = ucp_ep_close_nbx(m_other, &how);
    if (UCS_PTR_IS_PTR(r)) {
      while (ucp_request_check_status(r) == UCS_INPROGRESS) progress();
      ucp_request_free(r);
    }
    static_cast<void>(m_both.exchange("over"));
    return rank() == 1 || m_both.join();
  }

 private:
  pair m_both;
  ucp_context_h m_context = nullptr;
  ucp_worker_h m_worker = nullptr;
  ucp_ep_h m_other = nullptr;
  int m_on_their_way = 0;
};

}  // namespace osu
