// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <utility>

#include <starling/net.hpp>

namespace starling_test {

/// Wraps a transport: `change` replaces each message before its handler runs; `sent` observes sent
/// messages and `received` observes memory transfers to be received.
class tapped_transport : public starling::transport {
 public:
  using tap = std::function<starling::message(starling::message)>;
  using look = std::function<void(const starling::message&)>;
  using look_at_receive = std::function<void(const starling::transfer&)>;

  tapped_transport(
      std::unique_ptr<starling::transport> inner, tap change,
      look sent = [](const starling::message&) {},
      look_at_receive received = [](const starling::transfer&) {})
      : m_inner(std::move(inner)), m_change(std::move(change)), m_sent(std::move(sent)),
        m_received(std::move(received)) {
    for (unsigned n = 0; n < handler_limit; ++n) {
      m_ways[n] = {this, n};
      m_inner->set_handler(n, &on_message, &m_ways[n]);
    }
    m_inner->set_failure_handler(&on_failure, this);
  }

  int rank() const noexcept override { return m_inner->rank(); }
  int size() const noexcept override { return m_inner->size(); }
  const char* name() const noexcept override { return m_inner->name(); }
  void send(int to, unsigned number, starling::message m) override {
    m_sent(m);
    m_inner->send(to, number, std::move(m));
  }
  bool is_congested(int to) const noexcept override { return m_inner->is_congested(to); }
  void start_send(starling::transfer& t) override { m_inner->start_send(t); }
  void start_receive(starling::transfer& t) override {
    m_received(t);
    m_inner->start_receive(t);
  }
  void cancel_receive(starling::transfer& t) noexcept override { m_inner->cancel_receive(t); }
  void cancel_transfers() noexcept override { m_inner->cancel_transfers(); }
  bool progress() noexcept override { return m_inner->progress(); }
  std::size_t in_flight() const noexcept override { return m_inner->in_flight(); }
  int event_descriptor() const noexcept override { return m_inner->event_descriptor(); }
  bool arm() noexcept override { return m_inner->arm(); }
  void finish() override { m_inner->finish(); }

 private:
  struct way {
    tapped_transport* self;
    unsigned number;
  };
  static void on_message(void* context, int from, starling::message m) noexcept {
    const auto& w = *static_cast<way*>(context);
    w.self->deliver(w.number, from, w.self->m_change(std::move(m)));
  }
  static void on_failure(void* self, const starling::rank_failure& what) noexcept {
    static_cast<tapped_transport*>(self)->tell_failure(what);
  }

  std::unique_ptr<starling::transport> m_inner;
  tap m_change;
  look m_sent;
  look_at_receive m_received;
  std::array<way, handler_limit> m_ways{};
};

}  // namespace starling_test
