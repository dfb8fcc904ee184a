// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include <starling/net.hpp>

namespace broadcast {

/// Wrapper of another transport that counts its messages and their bytes.
class counted_transport final : public starling::transport {
 public:
  explicit counted_transport(std::unique_ptr<starling::transport> inner)
      : m_inner(std::move(inner)) {
    for (unsigned n = 0; n < handler_limit; ++n) {
      m_ways[n] = {this, n};
      m_inner->set_handler(n, &on_message, &m_ways[n]);
    }
    m_inner->set_failure_handler(&on_failure, this);
  }

  struct count {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] count sent() const noexcept { return {m_messages.load(), m_bytes.load()}; }

  int rank() const noexcept override { return m_inner->rank(); }
  int size() const noexcept override { return m_inner->size(); }
  const char* name() const noexcept override { return m_inner->name(); }
  void send(int to, unsigned number, starling::message m) override {
    m_messages.fetch_add(1, std::memory_order_relaxed);
    m_bytes.fetch_add(m.size(), std::memory_order_relaxed);
    m_inner->send(to, number, std::move(m));
  }
  bool is_congested(int to) const noexcept override { return m_inner->is_congested(to); }
  void start_send(starling::transfer& t) override { m_inner->start_send(t); }
  void start_receive(starling::transfer& t) override { m_inner->start_receive(t); }
  void cancel_receive(starling::transfer& t) noexcept override { m_inner->cancel_receive(t); }
  void cancel_transfers() noexcept override { m_inner->cancel_transfers(); }
  bool progress() noexcept override { return m_inner->progress(); }
  std::size_t in_flight() const noexcept override { return m_inner->in_flight(); }
  int event_descriptor() const noexcept override { return m_inner->event_descriptor(); }
  bool arm() noexcept override { return m_inner->arm(); }
  void finish() override { m_inner->finish(); }

 private:
  struct way {
    counted_transport* self;
    unsigned number;
  };
  static void on_message(void* context, int from, starling::message m) noexcept {
    const auto& w = *static_cast<way*>(context);
    w.self->deliver(w.number, from, std::move(m));
  }
  static void on_failure(void* self, const starling::rank_failure& what) noexcept {
    static_cast<counted_transport*>(self)->tell_failure(what);
  }

  std::unique_ptr<starling::transport> m_inner;
  std::array<way, handler_limit> m_ways{};
  std::atomic<std::uint64_t> m_messages{0};
  std::atomic<std::uint64_t> m_bytes{0};
};

}  // namespace broadcast
