// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "hydro/stage.hpp"
#include "placement/launch.hpp"
#include "placement/simulation.hpp"

namespace stars {

/// Memory of one kind for a number of sub-grids, contiguous, so that transfers of adjacent
/// sub-grids can be merged.
class sub_grid_array {
 public:
  sub_grid_array(starling::device& where, starling::memory_kind kind, std::size_t count,
                 std::size_t block)
      : m_block(block), m_all(where.allocate<double>(kind, count * block)) {}
  [[nodiscard]] std::span<double> operator[](std::size_t i) noexcept {
    return m_all.span().subspan(i * m_block, m_block);
  }

 private:
  std::size_t m_block;
  starling::buffer<double> m_all;
};

/// The device and pinned memory that `count` sub-grids need.
struct work_memory {
  work_memory(starling::device& where, std::size_t count)
      : u(where, starling::memory_kind::device, count, ghosted.block),
        pressure(where, starling::memory_kind::device, count, pressure_block),
        jump(where, starling::memory_kind::device, count, jump_block),
        points(where, starling::memory_kind::device, count, point_block),
        fluxes(where, starling::memory_kind::device, count, flux_block),
        speeds(where, starling::memory_kind::device, count, speed_block),
        host_u(where, starling::memory_kind::pinned, count, ghosted.block),
        host_fluxes(where, starling::memory_kind::pinned, count, flux_block),
        host_speeds(where, starling::memory_kind::pinned, count, speed_block) {}
  sub_grid_array u, pressure, jump, points, fluxes, speeds, host_u, host_fluxes, host_speeds;
};

/// The work memory of one sub-grid. The number of workspaces limits the sub-grids in flight.
struct workspace {
  workspace(std::size_t place, starling::device& on, std::size_t device_number)
      : rate(compact.block), lanes(lanes_of(on)), where(&on), device(device_number), number(place) {
  }

  void use(work_memory& all, std::size_t place) {
    u = all.u[place];
    pressure = all.pressure[place];
    jump = all.jump[place];
    points = all.points[place];
    fluxes = all.fluxes[place];
    speeds = all.speeds[place];
    host_u = all.host_u[place];
    host_fluxes = all.host_fluxes[place];
    host_speeds = all.host_speeds[place];
  }
  /// Allocates memory for one loan.
  void allocate() { use(own.emplace(*where, 1), 0); }

  [[nodiscard]] stage_arrays arrays() const {
    return {u.data(),      u.data(),      pressure.data(), jump.data(),
            points.data(), fluxes.data(), speeds.data()};
  }

  starling::stream stream;  // empty if an aggregator has the streams
  std::span<double> u, pressure, jump, points, fluxes, speeds;
  std::span<double> host_u, host_fluxes, host_speeds;
  std::vector<double> rate;
  int lanes;
  starling::device* where;
  std::size_t device;              // number of the device
  std::size_t number;              // number on the device
  std::optional<work_memory> own;  // of this loan only
};

/// Disables the recycling of a device's allocators during its lifetime.
class recycling_pause {
 public:
  explicit recycling_pause(starling::device& where) noexcept : m_where(&where) {
    for (std::size_t i = 0; i < kinds.size(); ++i)
      m_limits[i] = where.allocator(kinds[i]).set_cache_limit(0);
  }
  recycling_pause(const recycling_pause&) = delete;
  recycling_pause& operator=(const recycling_pause&) = delete;
  ~recycling_pause() {
    for (std::size_t i = 0; i < kinds.size(); ++i)
      m_where->allocator(kinds[i]).set_cache_limit(m_limits[i]);
  }

 private:
  static constexpr std::array kinds = {starling::memory_kind::device,
                                       starling::memory_kind::pinned};
  starling::device* m_where;
  std::array<std::size_t, kinds.size()> m_limits{};
};

/// Lends workspaces of the device with the most free workspaces, the lowest number first: its
/// memory is the likeliest to be in a cache, and workspaces lent together are adjacent in memory. A
/// task waits if no workspace is free.
class workspace_pool {
 public:
  /// `on_each` is the number of workspaces of each device; each has its own stream if
  /// `with_streams`.
  workspace_pool(starling::device_set& all, std::size_t on_each, bool with_streams,
                 work_memory_kind memory)
      : m_kind(memory), m_free(all.count()) {
    for (std::size_t d = 0; d < all.count(); ++d) {
      if (m_kind == work_memory_kind::kept) m_memory.emplace_back(all.device(d), on_each);
      if (m_kind == work_memory_kind::fresh) m_pauses.emplace_back(all.device(d));
      m_free[d].reserve(on_each);  // so that give_back cannot fail
      for (std::size_t i = 0; i < on_each; ++i) {
        workspace& w = m_all.emplace_back(i, all.device(d), d);
        if (m_kind == work_memory_kind::kept) w.use(m_memory.back(), i);
        if (with_streams) w.stream = all.device(d).make_stream();
        give_back(w);
      }
    }
  }

  class loan {
   public:
    loan(workspace_pool& pool, workspace& lent) noexcept : m_pool(&pool), m_lent(&lent) {}
    loan(loan&& other) noexcept
        : m_pool(other.m_pool), m_lent(std::exchange(other.m_lent, nullptr)) {}
    loan& operator=(loan&&) = delete;
    ~loan() {
      if (m_lent != nullptr) m_pool->give_back(*m_lent);
    }
    workspace& operator*() const noexcept { return *m_lent; }

   private:
    workspace_pool* m_pool;
    workspace* m_lent;
  };

  starling::task<loan> borrow() {
    co_await m_tickets.receive();  // never closed; one ticket for each free workspace
    std::unique_lock lock(m_lock);
    std::vector<workspace*>& free =
        *std::max_element(m_free.begin(), m_free.end(),
                          [](const auto& a, const auto& b) { return a.size() < b.size(); });
    std::pop_heap(free.begin(), free.end(), comes_later);
    workspace* w = free.back();
    free.pop_back();
    loan lent(*this, *w);
    lock.unlock();
    if (m_kind != work_memory_kind::kept) w->allocate();
    co_return lent;
  }

 private:
  static bool comes_later(const workspace* a, const workspace* b) noexcept {
    return a->number > b->number;
  }
  void give_back(workspace& w) {
    w.own.reset();
    {
      const std::lock_guard lock(m_lock);
      m_free[w.device].push_back(&w);
      std::push_heap(m_free[w.device].begin(), m_free[w.device].end(), comes_later);
    }
    static_cast<void>(m_tickets.try_send({}));
  }

  struct ticket {};
  work_memory_kind m_kind;
  std::deque<recycling_pause> m_pauses;  // one for each device, if memory is fresh
  std::deque<work_memory> m_memory;      // one for each device, or none
  std::deque<workspace> m_all;
  std::mutex m_lock;
  std::vector<std::vector<workspace*>> m_free;  // a heap for each device; guarded by m_lock
  starling::channel<ticket> m_tickets;
};

inline std::size_t streams_of(starling::device& where, const staged_options& how) {
  return how.streams == 0 ? where.pool().size() : how.streams;
}

/// Returns how many sub-grids may be in flight on one device: with an aggregator a full batch on
/// each stream and one batch that is gathered, otherwise one sub-grid on each stream.
inline std::size_t workspaces_for(starling::device& where, const staged_options& how,
                                  int sub_grids) {
  const std::size_t streams = streams_of(where, how);
  if (how.aggregate <= 1) return streams;
  return std::min<std::size_t>(std::size_t(sub_grids), how.aggregate * (streams + 1));
}

}  // namespace stars
