// SPDX-License-Identifier: Apache-2.0
//
// Measures messages between two processes with Starling's transport. See README.md.
#include <memory>
#include <stdexcept>

#include <starling/net.hpp>

#include "polled.hpp"
#include "slots.hpp"

namespace {

class transport_link {
 public:
  transport_link() : m_ranks(starling::make_bootstrap()) {
    if (m_ranks->size() != 2) throw std::runtime_error("start it with `starling launch -n 2`");
    m_transport =
        starling::make_transport(*m_ranks, starling::transport_kind::ucx, {.window = most_kept});
    m_transport->set_handler(0, &take, this);
  }

  [[nodiscard]] int rank() const noexcept { return m_ranks->rank(); }
  void prepare(int slots, std::size_t bytes) {
    m_out.prepare(slots, bytes);
    m_place.assign(std::size_t(slots), 0);
    m_in.resize(std::size_t(slots));
  }
  std::span<std::byte> out(int slot) { return m_out[slot]; }
  std::span<const std::byte> in(int slot) { return kept(m_place[std::size_t(slot)]).bytes(); }
  void send(int slot, std::size_t bytes) {
    starling::message m(bytes);
    if (bytes != 0) std::memcpy(m.data(), m_out[slot].data(), bytes);
    m_transport->send(1 - rank(), 0, std::move(m));
  }
  void receive(int slot, std::size_t bytes) {
    start_receive(slot, bytes);
    wait();
  }
  void start_send(int slot, std::size_t bytes) { send(slot, bytes); }
  void start_receive(int slot, std::size_t) { m_place[std::size_t(slot)] = m_expected++; }
  void wait() {
    while (m_arrived < m_expected) static_cast<void>(m_transport->progress());
  }
  bool leave() {
    m_in.clear();
    m_transport->finish();
    return true;
  }

 private:
  /// Window of the transport: more than two of the largest windows of the benchmark, since messages
  /// that the receiver keeps still count as in flight.
  static constexpr std::size_t most_kept = 4 * (osu::most_window_mib << 20);

  /// Returns the place of message `number`: the receiver keeps it until its slot is used again.
  starling::message& kept(std::uint64_t number) { return m_in[number % m_in.size()]; }
  static void take(void* self, int, starling::message m) noexcept {
    auto& link = *static_cast<transport_link*>(self);
    link.kept(link.m_arrived++) = std::move(m);
  }

  std::unique_ptr<starling::bootstrap> m_ranks;
  std::unique_ptr<starling::transport> m_transport;
  osu::slots m_out;
  std::vector<starling::message> m_in;
  std::vector<std::uint64_t> m_place;  // number of the message of each slot
  std::uint64_t m_arrived = 0, m_expected = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return osu::run<transport_link>(
      "osu_starling", "Messages between two processes: Starling's transport over UCX", argc, argv);
}
