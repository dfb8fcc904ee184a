// SPDX-License-Identifier: Apache-2.0
//
// Measures messages between two processes with UCX's tagged messages by hand. See README.md.
#include "polled.hpp"
#include "slots.hpp"
#include "ucx_pair.hpp"

namespace {

class tagged_link {
 public:
  tagged_link() : m_ucx(UCP_FEATURE_TAG) { m_ucx.connect(); }

  [[nodiscard]] int rank() const noexcept { return m_ucx.rank(); }
  void prepare(int slots, std::size_t bytes) {
    m_out.prepare(slots, bytes);
    m_in.prepare(slots, bytes);
  }
  std::span<std::byte> out(int slot) { return m_out[slot]; }
  std::span<const std::byte> in(int slot) { return m_in[slot]; }
  void send(int slot, std::size_t bytes) {
    start_send(slot, bytes);
    wait();
  }
  void receive(int slot, std::size_t bytes) {
    start_receive(slot, bytes);
    wait();
  }
  void start_send(int slot, std::size_t bytes) {
    const ucp_request_param_t how = m_ucx.counted();
    m_ucx.count(ucp_tag_send_nbx(m_ucx.other(), m_out[slot].data(), bytes, tag, &how),
                "ucp_tag_send_nbx");
  }
  void start_receive(int slot, std::size_t bytes) {
    ucp_request_param_t how = m_ucx.counted();
    how.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    how.cb.recv = [](void* request, ucs_status_t status, const ucp_tag_recv_info_t*, void* self) {
      static_cast<osu::ucx_pair*>(self)->over(request, status);
    };
    m_ucx.count(ucp_tag_recv_nbx(m_ucx.worker(), m_in[slot].data(), bytes, tag, ~ucp_tag_t{}, &how),
                "ucp_tag_recv_nbx");
  }
  void wait() {
    while (!m_ucx.is_idle()) m_ucx.progress();
  }
  bool leave() { return m_ucx.leave(); }

 private:
  static constexpr ucp_tag_t tag = 7;
  osu::ucx_pair m_ucx;
  osu::slots m_out, m_in;
};

}  // namespace

int main(int argc, char** argv) {
  return osu::run<tagged_link>(
      "osu_ucx_tags", "Messages between two processes: UCX' tagged messages by hand", argc, argv);
}
