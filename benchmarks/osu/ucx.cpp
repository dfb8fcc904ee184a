// SPDX-License-Identifier: Apache-2.0
//
// What do messages between two processes cost with UCX by hand? One thread, one buffer, no order
// but UCX' own, no limit to what is on its way. See README.md.
#include <functional>

#include <ucp/api/ucp.h>

#include "run.hpp"

namespace {

void check(ucs_status_t status, const char* call) {
  if (status != UCS_OK)
    throw std::runtime_error(std::string(call) + ": " + ucs_status_string(status));
}

class ucx_link {
 public:
  ucx_link(const osu::pair& both, std::size_t largest) : m_out(largest), m_in(largest) {
    ucp_params_t wanted{};
    wanted.field_mask = UCP_PARAM_FIELD_FEATURES;
    wanted.features = UCP_FEATURE_AM;
    check(ucp_init(&wanted, nullptr, &m_context), "ucp_init");
    ucp_worker_params_t how{};
    how.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    how.thread_mode = UCS_THREAD_MODE_SINGLE;
    check(ucp_worker_create(m_context, &how, &m_worker), "ucp_worker_create");
    for (unsigned k = 0; k < osu::kinds; ++k) listen(k);
    ucp_address_t* own = nullptr;
    std::size_t bytes = 0;
    check(ucp_worker_get_address(m_worker, &own, &bytes), "ucp_worker_get_address");
    const auto all = both.exchange(std::string(reinterpret_cast<const char*>(own), bytes));
    ucp_worker_release_address(m_worker, own);
    ucp_ep_params_t to{};
    to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    to.address = reinterpret_cast<const ucp_address_t*>(all[std::size_t(1 - both.rank())].data());
    check(ucp_ep_create(m_worker, &to, &m_other), "ucp_ep_create");
    m_both = &both;
  }
  ucx_link(const ucx_link&) = delete;
  ucx_link& operator=(const ucx_link&) = delete;
  ~ucx_link() {
    ucp_worker_destroy(m_worker);
    ucp_cleanup(m_context);
  }

  void send(unsigned k, std::uint64_t number, std::size_t bytes) {
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK;
    how.cb.send = [](void* request, ucs_status_t, void*) { ucp_request_free(request); };
    std::memcpy(m_out.data(), &number, sizeof number);
    const ucs_status_ptr_t r = ucp_am_send_nbx(m_other, k, nullptr, 0, m_out.data(), bytes, &how);
    if (UCS_PTR_IS_ERR(r)) check(UCS_PTR_STATUS(r), "ucp_am_send_nbx");
  }
  void progress() {
    static_cast<void>(ucp_worker_progress(m_worker));
    m_now.swap(m_arrived);
    for (const auto& [k, number, bytes] : m_now) on_message(k, number, bytes);
    m_now.clear();
  }
  void finish() {
    ucp_request_param_t how{};
    const ucs_status_ptr_t r = ucp_ep_close_nbx(m_other, &how);
    if (UCS_PTR_IS_PTR(r)) {
      while (ucp_request_check_status(r) == UCS_INPROGRESS) ucp_worker_progress(m_worker);
      ucp_request_free(r);
    }
    static_cast<void>(m_both->exchange("over"));
  }

  std::function<void(unsigned, std::uint64_t, std::size_t)> on_message;

 private:
  struct arrival {
    unsigned kind;
    std::uint64_t number;
    std::size_t bytes;
  };
  struct listener {
    ucx_link* link;
    unsigned kind;
  };

  void listen(unsigned k) {
    m_listeners[k] = {this, k};
    ucp_am_handler_param_t to{};
    to.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                    UCP_AM_HANDLER_PARAM_FIELD_ARG;
    to.id = k;
    to.cb = &take;
    to.arg = &m_listeners[k];
    check(ucp_worker_set_am_recv_handler(m_worker, &to), "ucp_worker_set_am_recv_handler");
  }
  static ucs_status_t take(void* context, const void*, std::size_t, void* data, std::size_t bytes,
                           const ucp_am_recv_param_t* how) {
    const auto& l = *static_cast<listener*>(context);
    ucx_link& self = *l.link;
    if ((how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
      self.arrived(l.kind, static_cast<const std::byte*>(data), bytes);
      return UCS_OK;
    }
    ucp_request_param_t p{};
    p.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    p.user_data = context;
    p.cb.recv_am = [](void* request, ucs_status_t, std::size_t n, void* c) {
      const auto& of = *static_cast<listener*>(c);
      of.link->arrived(of.kind, of.link->m_in.data(), n);
      ucp_request_free(request);
    };
    const ucs_status_ptr_t r =
        ucp_am_recv_data_nbx(self.m_worker, data, self.m_in.data(), bytes, &p);
    if (UCS_PTR_IS_ERR(r)) check(UCS_PTR_STATUS(r), "ucp_am_recv_data_nbx");
    return UCS_INPROGRESS;
  }
  void arrived(unsigned k, const std::byte* data, std::size_t bytes) {
    std::uint64_t number = 0;
    std::memcpy(&number, data, sizeof number);
    m_arrived.push_back({k, number, bytes});
  }

  std::vector<std::byte> m_out, m_in;
  ucp_context_h m_context = nullptr;
  ucp_worker_h m_worker = nullptr;
  ucp_ep_h m_other = nullptr;
  const osu::pair* m_both = nullptr;
  listener m_listeners[osu::kinds];
  std::vector<arrival> m_arrived, m_now;
};

}  // namespace

int main(int argc, char** argv) {
  return osu::run<ucx_link>("osu_ucx", "Messages between two processes: UCX by hand", argc, argv);
}
