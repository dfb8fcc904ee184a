// SPDX-License-Identifier: Apache-2.0
//
// Measures messages between two processes with UCX's active messages by hand. See README.md.
#include "polled.hpp"
#include "slots.hpp"
#include "ucx_pair.hpp"

namespace {

class active_message_link {
 public:
  active_message_link() : m_ucx(UCP_FEATURE_AM) {
    ucp_am_handler_param_t to{};
    to.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                    UCP_AM_HANDLER_PARAM_FIELD_ARG;
    to.cb = &take;
    to.arg = this;
    osu::check(ucp_worker_set_am_recv_handler(m_ucx.worker(), &to),
               "ucp_worker_set_am_recv_handler");
    m_ucx.connect();
  }

  [[nodiscard]] int rank() const noexcept { return m_ucx.rank(); }
  void prepare(int slots, std::size_t bytes) {
    m_out.prepare(slots, bytes);
    m_in.prepare(slots, bytes);
    m_place.assign(std::size_t(slots), 0);
  }
  std::span<std::byte> out(int slot) { return m_out[slot]; }
  std::span<const std::byte> in(int slot) { return kept(m_place[std::size_t(slot)]); }
  void send(int slot, std::size_t bytes) {
    start_send(slot, bytes);
    while (!m_ucx.is_idle()) m_ucx.progress();
  }
  void receive(int slot, std::size_t bytes) {
    start_receive(slot, bytes);
    wait();
  }
  void start_send(int slot, std::size_t bytes) {
    const ucp_request_param_t how = m_ucx.counted();
    m_ucx.count(ucp_am_send_nbx(m_ucx.other(), 0, nullptr, 0, m_out[slot].data(), bytes, &how),
                "ucp_am_send_nbx");
  }
  void start_receive(int slot, std::size_t) { m_place[std::size_t(slot)] = m_expected++; }
  void wait() {
    while (m_arrived < m_expected || !m_ucx.is_idle()) m_ucx.progress();
  }
  bool leave() { return m_ucx.leave(); }

 private:
  /// Returns the memory into which message `number` is copied or received: the slots in turn.
  std::span<std::byte> kept(std::uint64_t number) {
    return m_in[int(number % std::uint64_t(m_in.count()))];
  }
  static ucs_status_t take(void* self, const void*, std::size_t, void* data, std::size_t bytes,
                           const ucp_am_recv_param_t* how) {
    auto& link = *static_cast<active_message_link*>(self);
    std::byte* const to = link.kept(link.m_begun++).data();
    if ((how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
      if (bytes != 0) std::memcpy(to, data, bytes);
      ++link.m_arrived;
      return UCS_OK;
    }
    ucp_request_param_t p{};
    p.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    p.user_data = self;
    p.cb.recv_am = [](void* request, ucs_status_t, std::size_t, void* context) {
      ++static_cast<active_message_link*>(context)->m_arrived;
      ucp_request_free(request);
    };
    const ucs_status_ptr_t r = ucp_am_recv_data_nbx(link.m_ucx.worker(), data, to, bytes, &p);
    if (UCS_PTR_IS_ERR(r)) osu::check(UCS_PTR_STATUS(r), "ucp_am_recv_data_nbx");
    return UCS_INPROGRESS;
  }

  osu::ucx_pair m_ucx;
  osu::slots m_out, m_in;
  std::vector<std::uint64_t> m_place;  // number of the message of each slot
  std::uint64_t m_begun = 0, m_arrived = 0, m_expected = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return osu::run<active_message_link>(
      "osu_ucx", "Messages between two processes: UCX' active messages by hand", argc, argv);
}
