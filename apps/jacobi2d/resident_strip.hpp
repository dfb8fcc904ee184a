// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include <starling/resident/context.hpp>

#include "physics/decomposition.hpp"
#include "physics/reduction.hpp"
#include "physics/update.hpp"

namespace jacobi2d {

namespace resident = starling::resident;
using resident::entry;

/// The threads that run an entry method, as kernels know groups.
template <class Cx>
class group_of_threads {
 public:
  explicit constexpr group_of_threads(const Cx& cx) noexcept : m_cx(&cx) {}
  [[nodiscard]] constexpr int size() const noexcept { return m_cx->size(); }
  template <class F>
  constexpr void for_each(int n, F&& f) const {
    m_cx->for_each(std::uint32_t(n), [&](std::uint32_t i) { f(int(i)); });
  }
  static constexpr void prefetch(const void* from) { Cx::prefetch(from); }

 private:
  const Cx* m_cx;
};

/// A thread of the host that has nobody beside it: the form for caches.
struct one_thread {
  static constexpr int size() noexcept { return 1; }
};

/// Where the host is told of all strips together.
struct strip_mailboxes {
  resident::mailbox<int> ready;
  resident::mailbox<std::uint64_t> iterations;
  resident::mailbox<pattern> change;    ///< of a cell in the last iteration that was checked
  resident::mailbox<pattern> checksum;  ///< and the largest error
  resident::mailbox<pattern> error;
};

/// Some numbers of a problem's tables, as they are sent.
struct table_piece {
  static constexpr std::uint32_t most = 10;
  std::uint32_t at;
  std::uint32_t count;
  double values[most];
};

/// How long strips run.
struct strip_run {
  int count;
  int check_every;
  double tolerance;  ///< 0: to the end
};

/// A strip of rows that lives on a device and knows nobody but its neighbours, and with `barriers`
/// all others after each iteration. Rows of neighbours come by channels and are read in their
/// buffers.
///
/// A step does its first and last row first, sends them for the next step, and does the others
/// while they travel. Two sends of a channel are never ahead of the neighbour's releases: row n + 1
/// is sent when the neighbour's row n has come, which it sent after it released row n - 1.
template <class Cx>
struct resident_strip : resident::chare {
  strip_mailboxes m_to;
  bool m_barriers = false;
  strip_layout m_shape;
  extent m_grid;
  int m_origin = 0;
  float* m_values[2] = {};
  double* m_tables = nullptr;
  resident::channel_in<float> m_from_south, m_from_north;
  resident::channel_out<float> m_to_south, m_to_north;
  resident::counter m_arrived, m_room;
  strip_run m_run = {};
  long m_it = 0, m_last = 0;
  long m_sent = -1;           // rows of this step and all before
  std::uint32_t m_ahead = 0;  // rows of the next step that were counted in this one
  pattern m_change = 0;

  // --- once

  constexpr void prepare(Cx& cx, extent grid, std::uint32_t tables, bool barriers,
                         strip_mailboxes to) {
    const decomposition cut{grid, int(cx.array_of(*this).size())};
    const strip_layout shape(cut.cells(int(index())));
    const auto even = cx.template allocate<float>(std::uint32_t(shape.size()));
    const auto odd = cx.template allocate<float>(std::uint32_t(shape.size()));
    const auto numbers = cx.template allocate<double>(tables);
    cx.once([&] {
      m_to = to;
      m_barriers = barriers;
      m_shape = shape;
      m_grid = grid;
      m_origin = cut.origin(int(index()));
      m_values[0] = even.data();
      m_values[1] = odd.data();
      m_tables = numbers.data();
    });
    const auto all = cx.array_of(*this);
    const auto width = std::uint32_t(grid.x);
    if (has(cx, side::south))
      cx.open(m_from_south, width, m_arrived, all[index() - 1], &resident_strip::m_to_north,
              &resident_strip::m_room);
    if (has(cx, side::north))
      cx.open(m_from_north, width, m_arrived, all[index() + 1], &resident_strip::m_to_south,
              &resident_strip::m_room);
    const std::uint32_t room = 2 * neighbours(cx);
    if (room == 0) return be_ready(cx);
    cx.when(m_room, room, entry<&resident_strip::be_ready>);
  }
  constexpr void be_ready(Cx& cx) { cx.contribute(1, resident::reduction::sum, m_to.ready); }

  constexpr void learn(Cx& cx, table_piece some) {
    cx.once([&] {  // numbers that the compiler knows, or the piece would not be in registers
      for (std::uint32_t i = 0; i < table_piece::most; ++i)
        if (i < some.count) m_tables[some.at + i] = some.values[i];
    });
  }
  /// When all is learnt.
  constexpr void fill(Cx& cx, initial_values initial) {
    take_tables(initial);
    for (int y = -1; y <= m_shape.n.y; ++y)
      cx.for_each(std::uint32_t(m_shape.n.x + 2), [&](std::uint32_t k) {
        const int x = int(k) - 1;
        const float value = initial(x, m_origin + y);
        m_values[0][m_shape.at(x, y)] = value;
        m_values[1][m_shape.at(x, y)] = value;
      });
    cx.sync();
    be_ready(cx);
  }
  /// For tests of the checks.
  constexpr void spoil(Cx& cx) {
    cx.once([&] { m_values[0][m_shape.at(m_shape.n.x / 2, m_shape.n.y / 2)] = 64.0F; });
  }

  // --- iterations

  constexpr void run(Cx& cx, strip_run how) {
    cx.once([&] {
      m_run = how;
      m_last = m_it + how.count;
    });
    const bool are_due = m_sent != m_it;  // one that converged had sent them
    cx.sync();
    if (are_due) send_rows(cx);
    begin_step(cx);
  }
  constexpr void begin_step(Cx& cx) { m_it == m_last ? finish(cx) : wait_for_rows(cx); }
  /// Arrivals tell how many rows there are; from which neighbour, the channels: one neighbour may
  /// be a row ahead of the other one.
  constexpr void wait_for_rows(Cx& cx) {
    const std::uint32_t wanted = neighbours(cx) - m_ahead;
    cx.sync();
    cx.once([&] { m_ahead = 0; });
    if (wanted == 0)
      cx.invoke(cx.array_of(*this)[index()], entry<&resident_strip::look_for_rows>);
    else
      cx.when(m_arrived, wanted, entry<&resident_strip::look_for_rows>);
  }
  constexpr void look_for_rows(Cx& cx) {
    if (has_rows(cx)) return advance(cx);  // the only place: it is much code
    cx.once([&] { ++m_ahead; });
    cx.when(m_arrived, 1, entry<&resident_strip::look_for_rows>);
  }
  constexpr void have_met(Cx& cx) { begin_step(cx); }
  constexpr void judge(Cx& cx, pattern change) {
    cx.once([&] {
      m_change = change;
      if (apps::norm_of(change) <= m_run.tolerance) m_last = m_it;
    });
    begin_step(cx);
  }

  // --- about the whole strip

  constexpr void examine(Cx& cx, initial_values initial, double amplitude) {
    take_tables(initial);
    const float* const now = values(m_it);
    const pattern sum = over_cells<apps::sum>(cx, checksum_of_cell{now, m_grid, m_origin});
    cx.contribute(sum, resident::reduction::sum, m_to.checksum);
    if (initial.kind != problem_kind::mode) return;
    const pattern worst =
        over_cells<apps::largest>(cx, error_of_cell{now, initial, m_origin, amplitude});
    cx.contribute(worst, resident::reduction::max, m_to.error);
  }

  using entries =
      resident::entries<&resident_strip::look_for_rows, &resident_strip::have_met,
                        &resident_strip::judge, &resident_strip::run, &resident_strip::prepare,
                        &resident_strip::be_ready, &resident_strip::learn, &resident_strip::fill,
                        &resident_strip::spoil, &resident_strip::examine>;

 private:
  static constexpr int rows_at_once = 4;  // a scheduler's threads do not fill a multiprocessor

  constexpr void advance(Cx& cx) {
    const step now{m_shape, values(m_it), values(m_it + 1), rows_beside_it(cx)};
    with_group(cx, [&](auto& group) { update_edges(group, now); });
    cx.sync();
    if (has(cx, side::south)) cx.release(m_from_south);
    if (has(cx, side::north)) cx.release(m_from_north);
    cx.once([&] { ++m_it; });
    if (m_it != m_last) send_rows(cx);
    const bool up = m_it % 2 == 0;
    with_group(cx,
               [&](auto& group) { update_rows<rows_at_once>(group, now, 1, m_shape.n.y - 1, up); });
    cx.sync();
    go_on(cx);
  }
  /// f(the threads, as kernels know groups).
  template <class F>
  static constexpr void with_group(Cx& cx, const F& f) {
    if constexpr (!Cx::is_device()) {
      one_thread alone;
      if (cx.size() == 1) return f(alone);
    }
    group_of_threads<Cx> group(cx);
    f(group);
  }
  /// Those of this strip: the host's lie where not all devices reach.
  constexpr void take_tables(initial_values& initial) const {
    if (initial.kind != problem_kind::mode) return;
    initial.sine_x = m_tables;
    initial.sine_y = m_tables + m_grid.x + 2;
  }
  constexpr void send_rows(Cx& cx) {
    if (has(cx, side::south)) cx.send(m_to_south, own_row(side::south));
    if (has(cx, side::north)) cx.send(m_to_north, own_row(side::north));
    cx.once([&] { m_sent = m_it; });
  }
  constexpr void go_on(Cx& cx) {
    const auto all = cx.array_of(*this);
    const bool checks = m_run.tolerance > 0 && (m_it % m_run.check_every == 0 || m_it == m_last);
    if (checks) {
      const pattern mine =
          over_cells<apps::largest>(cx, change_of_cell{values(m_it - 1), values(m_it)});
      cx.contribute(mine, resident::reduction::max, all, entry<&resident_strip::judge>);
    } else if (m_barriers) {
      cx.contribute(all, entry<&resident_strip::have_met>);
    } else {
      begin_step(cx);
    }
  }
  constexpr void finish(Cx& cx) {
    cx.contribute(std::uint64_t(m_it), resident::reduction::max, m_to.iterations);
    cx.contribute(m_change, resident::reduction::max, m_to.change);
  }

  [[nodiscard]] constexpr bool has(Cx& cx, side d) const {
    return d == side::south ? index() != 0 : index() + 1 != cx.array_of(*this).size();
  }
  [[nodiscard]] constexpr std::uint32_t neighbours(Cx& cx) const {
    return std::uint32_t(has(cx, side::south)) + std::uint32_t(has(cx, side::north));
  }
  [[nodiscard]] constexpr bool has_rows(Cx& cx) {
    return (!has(cx, side::south) || cx.has_come(m_from_south)) &&
           (!has(cx, side::north) || cx.has_come(m_from_north));
  }
  /// Of neighbours; where there is none, the fixed boundary.
  [[nodiscard]] constexpr rows_beside rows_beside_it(Cx& cx) {
    const float* const now = values(m_it);
    return {{has(cx, side::south) ? cx.received(m_from_south).data() : now + m_shape.at(0, -1),
             has(cx, side::north) ? cx.received(m_from_north).data()
                                  : now + m_shape.at(0, m_shape.n.y)}};
  }
  [[nodiscard]] constexpr float* values(long it) const { return m_values[it & 1]; }
  [[nodiscard]] constexpr std::span<const float> own_row(side d) const {
    return {values(m_it) + m_shape.at(0, m_shape.own_row(d)), std::size_t(m_shape.n.x)};
  }
  /// The cells' numbers together, for all threads.
  template <class Combine, class Cell>
  [[nodiscard]] constexpr pattern over_cells(Cx& cx, const Cell& cell) const {
    pattern own = 0;
    for (int y = 0; y < m_shape.n.y; ++y)
      cx.for_each(std::uint32_t(m_shape.n.x), [&](std::uint32_t x) {
        own = Combine{}(own, cell(m_shape.at(int(x), y), int(x), y));
      });
    return cx.reduce(own, Combine{});
  }
};

using strip_program = resident::program<resident_strip>;

}  // namespace jacobi2d
