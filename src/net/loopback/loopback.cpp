// SPDX-License-Identifier: Apache-2.0
#include <starling/net/loopback.hpp>

#include <mutex>
#include <optional>
#include <thread>

#include "../common/farewells.hpp"
#include "loopback_hub.hpp"

namespace starling {
namespace {

using detail::loopback_hub;
using detail::message_block;

class loopback_transport final : public transport {
 public:
  loopback_transport(std::shared_ptr<loopback_hub> hub, int rank)
      : m_hub(std::move(hub)), m_rank(rank), m_farewells(m_hub->size(), rank) {
    check_address(rank, 0);
  }

  int rank() const noexcept override { return m_rank; }
  int size() const noexcept override { return m_hub->size(); }
  const char* name() const noexcept override { return "loopback"; }

  void send(int to, unsigned number, message m) override {
    check_address(to, number);
    if (m.data() == nullptr) m = message(0);
    m.join();
    post(to, number, m.release());
  }
  bool is_congested(int to) const noexcept override { return m_hub->is_congested(m_rank, to); }
  void start_send(transfer& t) override {
    check(t);
    m_hub->start_send(m_rank, t);
  }
  void start_receive(transfer& t) override {
    check(t);
    m_hub->start_receive(m_rank, t);
  }
  void cancel_receive(transfer& t) noexcept override { m_hub->cancel_receive(m_rank, t); }
  void cancel_transfers() noexcept override { m_hub->cancel_transfers(m_rank); }
  std::size_t in_flight() const noexcept override {
    return m_hub->of(m_rank).sending.load() + m_hub->of(m_rank).sending_memory.load();
  }

  int event_descriptor() const noexcept override { return m_hub->of(m_rank).bell.get(); }
  bool arm() noexcept override { return m_hub->of(m_rank).arm(); }

  bool progress() noexcept override {
    const std::unique_lock only(m_progress, std::try_to_lock);
    if (!only.owns_lock()) return false;
    loopback_hub::inbox& box = m_hub->of(m_rank);
    detail::message_list received;
    std::vector<transfer*> over;
    std::vector<int> lost;
    {
      const std::lock_guard guard(box.lock);
      received = std::move(box.received);
      over.swap(box.over);
      lost.swap(box.lost);
    }
    const bool any = !received.empty() || !over.empty() || !lost.empty();
    while (message_block* b = received.pop()) take(message::adopt(b), b->from, b->number);
    for (transfer* t : over) end(*t);
    for (const int rank : lost) {
      m_lost.emplace(gone(rank));
      tell_failure(*m_lost);
    }
    return any;
  }

  void finish() override {
    {
      const std::lock_guard only(m_progress);
      m_farewells.begin_round();
    }
    for (int to = 0; to < size(); ++to)
      if (to != m_rank) post(to, detail::farewells::number, message_block::make(0));
    for (;;) {
      if (!progress()) std::this_thread::yield();
      const std::lock_guard only(m_progress);
      if (m_lost) throw *m_lost;
      if (m_farewells.are_complete() && m_hub->of(m_rank).sending.load() == 0) return;
    }
  }

 private:
  static rank_failure gone(int rank) {
    return rank_failure("rank " + std::to_string(rank) + " has gone", rank);
  }
  void post(int to, unsigned number, message_block* b) const noexcept {
    b->number = number;
    m_hub->send(m_rank, to, b);
  }
  void take(message m, int from, unsigned number) noexcept {
    if (number == detail::farewells::number)
      m_farewells.note(from);
    else
      deliver(number, from, std::move(m));
  }
  void end(transfer& t) const noexcept {
    const auto v = static_cast<loopback_hub::verdict>(t.state.status);
    if (!t.state.is_receive) m_hub->of(m_rank).sending_memory.fetch_sub(1);
    std::exception_ptr error;
    if (v == loopback_hub::verdict::wrong_size) error = wrong_size(t, t.state.received);
    if (v == loopback_hub::verdict::cancelled)
      error = std::make_exception_ptr(operation_cancelled());
    if (v == loopback_hub::verdict::peer_gone) error = std::make_exception_ptr(gone(t.peer));
    t.done(t, std::move(error));
  }

  std::shared_ptr<loopback_hub> m_hub;
  int m_rank;
  std::mutex m_progress;
  detail::farewells m_farewells;
  std::optional<rank_failure> m_lost;
};

}  // namespace

loopback_network::loopback_network(int size, const transport::options& options)
    : m_hub(std::make_shared<loopback_hub>(size, options)) {}

std::unique_ptr<transport> loopback_network::connect(int rank) {
  return std::make_unique<loopback_transport>(m_hub, rank);
}

void loopback_network::kill(int rank) { m_hub->kill(rank); }

}  // namespace starling
