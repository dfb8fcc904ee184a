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

  /// Exchanges cells of `state` after the work already submitted to `at`. Completes when later work
  /// on `at` will find the received cells in `state`.
  starling::task<> exchange_cells(starling::stream& at, double* state, field_set which) {
    const auto send = [&, this](std::size_t n) -> std::span<const double> {
      const halo& h = all()[n];
      starling::buffer<double>& message = m_halos[n].message;
      if (h.outgoing_cells > 0)
        submit(at, pack_halo{state, message.data(), m_halos[n].outgoing.data(),
                             int(h.outgoing.size()), which});
      return message.span().first(size(h.outgoing_cells, which));
    };
    const auto take = [&, this](std::size_t n, const double* message) {
      submit(at, unpack_halo{state, message, m_halos[n].incoming.data(),
                             int(all()[n].incoming.size()), which});
    };
    const auto expected = [&, this](std::size_t n) { return size(all()[n].incoming_cells, which); };
    co_await exchange(at, send, expected, take);
  }

  /// Does the same with the rows of mean fluxes that other parts need.
  starling::task<> exchange_fluxes(starling::stream& at, starling::buffer<double>& means) {
    const auto rows = [&](int first, int count) {
      return means.span().subspan(std::size_t(first) * face_row, std::size_t(count) * face_row);
    };
    const auto send = [&, this](std::size_t n) -> std::span<const double> {
      return rows(all()[n].outgoing_row, all()[n].outgoing_rows);
    };
    const auto take = [&, this](std::size_t n, const double* message) {
      const std::span<double> to = rows(all()[n].incoming_row, all()[n].incoming_rows);
      at.copy(to, std::span(message, to.size()));
    };
    const auto expected = [&, this](std::size_t n) {
      return std::size_t(all()[n].incoming_rows) * face_row;
    };
    co_await exchange(at, send, expected, take);
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

  /// Exchanges messages: `send(n)` returns the one for halo n, `take(n, data)` submits the use of
  /// the one from it, which has `expected(n)` numbers. Nobody sends an empty message.
  template <class Send, class Expected, class Take>
  starling::task<> exchange(starling::stream& at, Send send, Expected expected, Take take) {
    std::vector<starling::channel_wait> sent;
    std::deque<std::pair<std::size_t, starling::borrow_wait<double>>> coming;
    for (std::size_t n = 0; n < m_halos.size(); ++n) {
      const std::span<const double> message = send(n);
      if (!message.empty()) sent.push_back(m_others->send(n, message, at));
      if (expected(n) > 0) coming.emplace_back(n, m_others->borrow(n, expected(n), at));
    }
    for (auto& [n, wait] : coming) {
      const starling::borrowed<double> lent = co_await std::move(wait);
      take(n, lent.data());
    }
    for (starling::channel_wait& s : sent) co_await std::move(s);
  }

  other_parts* m_others;
  std::vector<on_device> m_halos;
};

}  // namespace stars
