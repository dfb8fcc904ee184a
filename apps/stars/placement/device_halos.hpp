// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "common/upload.hpp"
#include "placement/launch.hpp"
#include "placement/others.hpp"
#include "transfer/halo.hpp"

namespace stars {

/// The exchange of halos with other parts of the domain, for a state in device memory.
class device_halos {
 public:
  /// `others` null: nothing to exchange. The arrays made here are ready for later work on `at`.
  device_halos(starling::device& where, starling::stream& at, other_parts* others)
      : m_others(others) {
    if (others == nullptr) return;
    for (const halo& h : others->mine().halos())
      m_halos.push_back({apps::upload(where, at, h.outgoing), apps::upload(where, at, h.incoming),
                         where.allocate<double>(starling::memory_kind::device,
                                                size(h.outgoing_cells, halo_fields::all))});
  }

  /// Exchanges halos of `state` after the work already submitted to `at`. Completes when later work
  /// on `at` will find the received cells in `state`.
  starling::task<> exchange(starling::stream& at, double* state, halo_fields which) {
    std::vector<starling::channel_wait> sent;
    std::deque<starling::borrow_wait<double>> coming;
    for (std::size_t n = 0; n < m_halos.size(); ++n) {
      const halo& h = m_others->mine().halos()[n];
      starling::buffer<double>& message = m_halos[n].message;
      submit(at, pack_halo{state, message.data(), m_halos[n].outgoing.data(),
                           int(h.outgoing.size()), which});
      sent.push_back(m_others->send(n, message.span().first(size(h.outgoing_cells, which)), at));
      coming.push_back(m_others->borrow(n, size(h.incoming_cells, which), at));
    }
    for (std::size_t n = 0; n < m_halos.size(); ++n) {
      const starling::borrowed<double> lent = co_await std::move(coming[n]);
      submit(at, unpack_halo{state, lent.data(), m_halos[n].incoming.data(),
                             int(m_others->mine().halos()[n].incoming.size()), which});
    }
    for (starling::channel_wait& s : sent) co_await std::move(s);
  }

 private:
  struct on_device {
    starling::buffer<halo_box> outgoing, incoming;
    starling::buffer<double> message;
  };
  static std::size_t size(int cells, halo_fields which) {
    return std::size_t(cells) * std::size_t(field_count_of(which));
  }

  other_parts* m_others;
  std::vector<on_device> m_halos;
};

}  // namespace stars
