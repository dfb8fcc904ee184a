// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include <starling/core.hpp>

#include "kernel/loop.hpp"
#include "placement/others.hpp"
#include "transfer/halo.hpp"

namespace stars {

using signal = starling::shared_future<>;

/// Waits for all tasks. Returns the exception of the first failed task in the order of the list.
inline starling::task<std::exception_ptr> all_over(std::vector<signal> tasks) {
  std::exception_ptr failure;
  for (const signal& s : tasks) {
    try {
      co_await s;
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  co_return failure;
}

/// The exchange of halos with other parts of the domain, for a state in host memory.
class host_halos {
 public:
  /// `others` null: nothing to exchange.
  explicit host_halos(other_parts* others) : m_others(others) {
    for (const halo& h : all())
      m_messages.push_back({std::vector<double>(size(h.outgoing_cells, halo_fields::all)),
                            std::vector<double>(size(h.incoming_cells, halo_fields::all))});
  }

  [[nodiscard]] std::span<const halo> all() const {
    if (m_others == nullptr) return {};
    return m_others->mine().halos();
  }

  /// Sends the cells of `state` for halo n when the tasks `writers` are over, failed or not: the
  /// receiver must not wait forever, and is notified of a fault when the parts agree on the next
  /// time step.
  starling::task<> send(std::size_t n, const double* state, halo_fields which,
                        std::vector<signal> writers, signal sent_before) {
    static_cast<void>(co_await all_over(std::move(writers)));
    co_await sent_before;
    const halo& h = all()[n];
    std::vector<double>& message = m_messages[n].outgoing;
    run_loop(pack_halo{state, message.data(), h.outgoing.data(), int(h.outgoing.size()), which});
    co_await m_others->send(n, std::span(message).first(size(h.outgoing_cells, which)));
  }

  starling::task<> receive(std::size_t n, double* state, halo_fields which,
                           signal received_before) {
    co_await received_before;
    const halo& h = all()[n];
    std::vector<double>& message = m_messages[n].incoming;
    co_await m_others->receive(n, std::span(message).first(size(h.incoming_cells, which)));
    run_loop(unpack_halo{state, message.data(), h.incoming.data(), int(h.incoming.size()), which});
  }

 private:
  struct messages {
    std::vector<double> outgoing, incoming;
  };
  static std::size_t size(int cells, halo_fields which) {
    return std::size_t(cells) * std::size_t(field_count_of(which));
  }

  other_parts* m_others;
  std::vector<messages> m_messages;
};

}  // namespace stars
