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
#include "transfer/flux_correction.hpp"
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

/// The exchange with other parts of the domain, for arrays in host memory. A halo
/// without numbers has no message.
class host_halos {
 public:
  /// `others` null: nothing to exchange.
  explicit host_halos(other_parts* others) : m_others(others) {
    for (const halo& h : all())
      m_messages.push_back({std::vector<double>(size(h.outgoing_cells, field_set::all)),
                            std::vector<double>(size(h.incoming_cells, field_set::all))});
  }

  [[nodiscard]] std::span<const halo> all() const {
    if (m_others == nullptr) return {};
    return m_others->mine().halos;
  }

  /// Sends the cells of `state` for halo n when the tasks `writers` are over, failed or not: the
  /// receiver must not wait forever, and is notified of a fault when the parts agree on the next
  /// time step.
  starling::task<> send_cells(std::size_t n, const double* state, field_set which,
                              std::vector<signal> writers) {
    static_cast<void>(co_await all_over(std::move(writers)));
    const halo& h = all()[n];
    if (h.outgoing_cells == 0) co_return;
    std::vector<double>& message = m_messages[n].outgoing;
    run_loop(pack_halo{state, message.data(), h.outgoing.data(), int(h.outgoing.size()), which});
    co_await m_others->send(n, std::span(message).first(size(h.outgoing_cells, which)));
  }
  /// Receives cells when the tasks `readers` of the cells before are over, failed or not.
  starling::task<> receive_cells(std::size_t n, double* state, field_set which,
                                 std::vector<signal> readers) {
    static_cast<void>(co_await all_over(std::move(readers)));
    const halo& h = all()[n];
    if (h.incoming_cells == 0) co_return;
    std::vector<double>& message = m_messages[n].incoming;
    co_await m_others->receive(n, std::span(message).first(size(h.incoming_cells, which)));
    run_loop(unpack_halo{state, message.data(), h.incoming.data(), int(h.incoming.size()), which});
  }

  /// Do the same with the rows of mean fluxes.
  starling::task<> send_fluxes(std::size_t n, const double* means, std::vector<signal> writers) {
    static_cast<void>(co_await all_over(std::move(writers)));
    const halo& h = all()[n];
    if (h.outgoing_rows == 0) co_return;
    co_await m_others->send(
        n, {means + index_type{h.outgoing_row} * face_row, rows_size(h.outgoing_rows)});
  }
  starling::task<> receive_fluxes(std::size_t n, double* means, std::vector<signal> readers) {
    static_cast<void>(co_await all_over(std::move(readers)));
    const halo& h = all()[n];
    if (h.incoming_rows == 0) co_return;
    co_await m_others->receive(
        n, {means + index_type{h.incoming_row} * face_row, rows_size(h.incoming_rows)});
  }

 private:
  struct messages {
    std::vector<double> outgoing, incoming;
  };
  static std::size_t size(int cells, field_set which) {
    return std::size_t(cells) * std::size_t(field_count_of(which));
  }
  static std::size_t rows_size(int rows) { return std::size_t(rows) * std::size_t(face_row); }

  other_parts* m_others;
  std::vector<messages> m_messages;
};

}  // namespace stars
