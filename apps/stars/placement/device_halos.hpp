// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "common/upload.hpp"
#include "placement/launch.hpp"
#include "placement/others.hpp"
#include "transfer/flux_correction.hpp"
#include "transfer/halo.hpp"

namespace stars {

/// The exchange of halos with other parts of the domain, for a state in device memory.
class device_halos {
 public:
  /// `others` null: nothing to exchange. The arrays made here are ready for later work on `at`.
  device_halos(starling::device& where, starling::stream& at, other_parts* others)
      : m_others(others) {
    if (others == nullptr) return;
    for (const halo& h : others->mine().halos)
      m_halos.push_back({apps::upload(where, at, h.outgoing), apps::upload(where, at, h.incoming),
                         where.allocate<double>(starling::memory_kind::device,
                                                size(h.outgoing_cells, field_set::all))});
  }

  /// Sends cells of `state`, after the work already submitted to `at`.
  starling::task<> send_cells(starling::stream& at, const double* state, field_set which) {
    co_await wait_until_sent();  // the messages' memory is used again
    for (std::size_t n = 0; n < m_halos.size(); ++n) {
      const halo& h = all()[n];
      if (h.outgoing_cells == 0) continue;
      starling::buffer<double>& message = m_halos[n].message;
      submit(at, pack_halo{state, message.data(), m_halos[n].outgoing.data(),
                           int(h.outgoing.size()), which});
      m_sent.push_back(m_others->send(n, message.span().first(size(h.outgoing_cells, which)), at));
    }
  }
  /// Receives the cells that other parts have sent. Completes when later work on `at` will find
  /// them in `state`.
  starling::task<> receive_cells(starling::stream& at, double* state, field_set which) {
    const auto expected = [&, this](std::size_t n) { return size(all()[n].incoming_cells, which); };
    co_await receive(at, expected, [&, this](std::size_t n, const double* message) {
      submit(at, unpack_halo{state, message, m_halos[n].incoming.data(),
                             int(all()[n].incoming.size()), which});
    });
  }

  /// Exchanges the rows of mean fluxes that other parts need, after the work already submitted to
  /// `at`. Completes when later work on `at` will find the received rows in `means`, and may
  /// overwrite the sent ones. Also waits until sent cells have been read.
  starling::task<> exchange_fluxes(starling::stream& at, starling::buffer<double>& means) {
    const auto rows = [&](int first, int count) {
      return means.span().subspan(std::size_t(first) * face_row, std::size_t(count) * face_row);
    };
    for (std::size_t n = 0; n < m_halos.size(); ++n) {
      const halo& h = all()[n];
      if (h.outgoing_rows > 0)
        m_sent.push_back(m_others->send(n, rows(h.outgoing_row, h.outgoing_rows), at));
    }
    const auto expected = [&, this](std::size_t n) {
      return std::size_t(all()[n].incoming_rows) * face_row;
    };
    co_await receive(at, expected, [&, this](std::size_t n, const double* message) {
      const std::span<double> to = rows(all()[n].incoming_row, all()[n].incoming_rows);
      at.copy(to, std::span(message, to.size()));
    });
    co_await wait_until_sent();
  }

  /// Completes when other parts have read all messages.
  starling::task<> wait_until_sent() {
    while (!m_sent.empty()) {
      starling::channel_wait one = std::move(m_sent.back());
      m_sent.pop_back();
      co_await std::move(one);
    }
  }

 private:
  struct on_device {
    starling::buffer<halo_box> outgoing, incoming;
    starling::buffer<double> message;
  };
  static std::size_t size(int cells, field_set which) {
    return std::size_t(cells) * std::size_t(field_count_of(which));
  }

  [[nodiscard]] const std::vector<halo>& all() const { return m_others->mine().halos; }

  /// Receives the messages of all halos: `take(n, data)` submits the use of the one of halo n,
  /// which has `expected(n)` numbers. A halo without numbers has no message.
  template <class Expected, class Take>
  starling::task<> receive(starling::stream& at, Expected expected, Take take) {
    std::deque<std::pair<std::size_t, starling::borrow_wait<double>>> coming;
    for (std::size_t n = 0; n < m_halos.size(); ++n)
      if (expected(n) > 0) coming.emplace_back(n, m_others->borrow(n, expected(n), at));
    for (auto& [n, wait] : coming) {
      const starling::borrowed<double> lent = co_await std::move(wait);
      take(n, lent.data());
    }
  }

  other_parts* m_others;
  std::vector<on_device> m_halos;
  std::vector<starling::channel_wait> m_sent;  // messages that may be unread
};

}  // namespace stars
