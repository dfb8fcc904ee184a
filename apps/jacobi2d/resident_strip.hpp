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

/// The threads that run an entry method, with the interface that kernels expect of a group.
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
  template <class T>
  static constexpr void store_kept(T* to, const T& value) {
    Cx::store_kept(to, value);
  }

 private:
  const Cx* m_cx;
};

/// A host thread without further threads in its group: the form of kernels for caches.
struct one_thread {
  static constexpr int size() noexcept { return 1; }
};

/// The host's mailboxes for the combined results of all strips.
struct strip_mailboxes {
  resident::host_mailbox<int> ready;
  resident::host_mailbox<std::uint64_t> iterations;
  resident::host_mailbox<pattern> change;    ///< largest change of a cell in the last check
  resident::host_mailbox<pattern> checksum;  ///< checksum of the grid
  resident::host_mailbox<pattern> error;
};

/// A piece of a problem's tables, as the host sends it.
struct table_piece {
  static constexpr std::uint32_t most = 10;
  std::uint32_t at;
  std::uint32_t count;
  double values[most];
};

/// The parameters of a run.
struct strip_run {
  int count;
  int check_every;
  double tolerance;  ///< 0: run all iterations
};

/// A strip of rows that stays on a device. It is synchronised with its neighbours only, and with
/// `barriers` with all strips after each iteration. Rows of neighbours arrive through channels:
/// they are copied from other devices and read in place on the same device.
///
/// All strips process their rows upwards in even steps and downwards in odd steps, so that a step
/// begins with rows that are still in caches. The last row of a step and the first row of the next
/// step are beside the same neighbour, which turned at this side one step earlier. Hence a strip
/// turns when two rows of that neighbour have arrived; they have had the time of a step to arrive.
/// Step n + 1 overwrites the rows of step n that were lent to the neighbours. It needs rows that
/// the neighbours sent after they had read the lent rows; hence these have been read, and no
/// channel has more than two sends that the neighbour has not released. One thread notifies the
/// neighbours; the remaining warps do not wait for it.
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
  resident::counter m_south_came, m_north_came, m_room;
  strip_run m_run = {};
  long m_it = 0, m_last = 0;
  long m_sent = -1;             // rows of all steps up to this one are sent
  bool m_is_under_way = false;  // all rows of the step except the last one are computed
  pattern m_change = 0;

  // --- preparation

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
      cx.open(m_from_south, width, m_south_came, all[index() - 1], &resident_strip::m_to_north,
              &resident_strip::m_room);
    if (has(cx, side::north))
      cx.open(m_from_north, width, m_north_came, all[index() + 1], &resident_strip::m_to_south,
              &resident_strip::m_room);
    const std::uint32_t room = 2 * neighbours(cx);
    if (room == 0) return be_ready(cx);
    cx.when_counted(m_room, room, entry<&resident_strip::be_ready>);
  }
  constexpr void be_ready(Cx& cx) { cx.contribute(1, resident::reduction::sum, m_to.ready); }

  constexpr void learn(Cx& cx, table_piece some) {
    cx.once([&] {  // constant count and indices, so that the piece is kept in registers
      for (std::uint32_t i = 0; i < table_piece::most; ++i)
        if (i < some.count) m_tables[some.at + i] = some.values[i];
    });
  }
  /// Fills both arrays. Called after all pieces of the tables have arrived.
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
  /// Makes one cell wrong, to test the checks.
  constexpr void spoil(Cx& cx) {
    cx.once([&] { m_values[0][m_shape.at(m_shape.n.x / 2, m_shape.n.y / 2)] = 64.0F; });
  }

  // --- iterations

  constexpr void run(Cx& cx, strip_run how) {
    cx.once([&] {
      m_run = how;
      m_last = m_it + how.count;
    });
    const bool are_due = m_sent != m_it;  // not after a run that converged: it has sent them
    cx.sync();
    if (are_due) send_rows(cx);
    begin_step(cx);
  }
  constexpr void begin_step(Cx& cx) {
    if (m_it == m_last) return finish(cx);
    wait_for_rows(cx, first_side(m_it), 1);
  }
  /// Computes rows. The only entry method that does, since the code is large. Computes several
  /// steps in a row while the needed rows have arrived: the rows that a step wrote last stay in
  /// caches for a few microseconds only.
  constexpr void proceed(Cx& cx) {
    long it = 0;
    for (int steps = 1; do_most_of_a_step(cx, it); ++steps)
      if (steps == steps_at_once || !has_rows(cx, it))
        return wait_for_rows(cx, last_side(it), rows_to_end(it));
    go_on(cx);
  }
  constexpr void have_met(Cx& cx) { begin_step(cx); }
  constexpr void judge(Cx& cx, pattern change) {
    cx.once([&] {
      m_change = change;
      if (apps::norm_of(change) <= m_run.tolerance) m_last = m_it;
    });
    begin_step(cx);
  }

  // --- the whole strip

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

  struct entries
      : resident::entries<&resident_strip::proceed, &resident_strip::have_met,
                          &resident_strip::judge, &resident_strip::run, &resident_strip::prepare,
                          &resident_strip::be_ready, &resident_strip::learn, &resident_strip::fill,
                          &resident_strip::spoil, &resident_strip::examine> {};

 private:
  static constexpr int steps_at_once = 16;  // other strips of the scheduler wait meanwhile
  static constexpr int kept_rows = 3;  // 13 MB of a cache of 50 MB, for 132 strips of 8192 columns

  // Steps alternate in direction.
  [[nodiscard]] static constexpr bool goes_up(long it) { return it % 2 == 0; }
  [[nodiscard]] static constexpr side first_side(long it) {
    return goes_up(it) ? side::south : side::north;
  }
  [[nodiscard]] static constexpr side last_side(long it) { return first_side(it + 1); }
  /// Returns whether the next step may begin as soon as step `it` ends. False for a strip of a
  /// single row, whose next step needs the rows of both neighbours.
  [[nodiscard]] constexpr bool can_turn(long it) const {
    return it + 1 != m_last && !m_barriers && !is_checked(it + 1) && m_shape.n.y > 1;
  }

  /// Runs `proceed` when `wanted` rows of the neighbour at side `d` have arrived.
  constexpr void wait_for_rows(Cx& cx, side d, std::uint32_t wanted) {
    if (!has(cx, d))
      cx.invoke(cx.array_of(*this)[index()], entry<&resident_strip::proceed>);
    else
      cx.when_counted(arrivals(d), wanted, entry<&resident_strip::proceed>);
  }
  /// Returns the number of the neighbour's rows needed to end a step and, if possible, to turn.
  [[nodiscard]] constexpr std::uint32_t rows_to_end(long it) const { return can_turn(it) ? 2 : 1; }
  /// Returns whether these rows have arrived. Acts as a `sync`, after which the rows may be used.
  [[nodiscard]] constexpr bool has_rows(Cx& cx, long it) {
    const side d = last_side(it);
    if (has(cx, d)) return cx.take(arrivals(d), rows_to_end(it));
    cx.sync();
    return true;
  }
  /// Computes the last row of the step in progress, if any, and all rows of the next step except
  /// its last one. Stores the number of the next step in `it`. Returns false if the next step
  /// cannot begin yet.
  [[nodiscard]] constexpr bool do_most_of_a_step(Cx& cx, long& it) {
    const bool ends = m_is_under_way, goes_on = !ends || can_turn(m_it);
    const long now = m_it, next = ends ? now + 1 : now;  // copies: members change below
    const side d = ends ? last_side(now) : first_side(now);
    const long edges = (ends ? 1 : 0) + (goes_on && m_shape.n.y > 1 ? 1 : 0);
    for (long e = 0; e < edges; ++e) {
      if (e != 0) cx.sync();
      const step row = this_step(cx, now + e, d, std::uint32_t(e));
      with_group(cx, [&](auto& group) { update_row(group, row, m_shape.own_row(d)); });
    }
    exchange(cx, cx, now, d, edges, false);
    cx.tell([&](auto alone) {
      exchange(cx, alone, now, d, edges, true);
      m_it = next;
      m_is_under_way = goes_on;
      if (ends && next != m_last) m_sent = next;
    });
    if (!goes_on) {
      cx.sync();
      return false;
    }
    it = next;
    const step between{m_shape, values(it), values(it + 1), {}};  // needs no neighbour's rows
    with_group(cx, [&](auto& group) {
      sweep_rows<kept_rows>(group, between, 1, m_shape.n.y - 1, goes_up(it));
    });
    cx.prefetch_all_of(*this);
    return true;
  }
  /// Releases the neighbour's rows that were read, and lends it this strip's new rows. Called when
  /// the rows at side `d` of `edges` steps from `it` on are computed. `By` is the context, for
  /// calls by all threads, or the argument of the function in `tell`, for calls by one thread.
  template <class By>
  constexpr void answer(By& by, long it, side d, long edges) {
    for (long e = 0; e < edges; ++e) {
      by.release(from(d));
      if (it + e + 1 != m_last) by.lend(to(d), row_of(values(it + e + 1), d));
    }
  }
  /// Calls `answer` for side `d`, and for the opposite side if the strip has a single row; only for
  /// neighbours on this device (`are_beside`) or only for neighbours on other devices.
  template <class By>
  constexpr void exchange(Cx& cx, By& by, long it, side d, long edges, bool are_beside) {
    if (has(cx, d) && to(d).is_beside() == are_beside) answer(by, it, d, edges);
    if (m_shape.n.y != 1) return;
    const side other = d == side::south ? side::north : side::south;
    if (has(cx, other) && to(other).is_beside() == are_beside) answer(by, it, other, edges);
  }
  /// Calls f(group), where `group` has the interface that kernels expect.
  template <class F>
  static constexpr void with_group(Cx& cx, const F& f) {
    if constexpr (!Cx::is_device()) {
      one_thread alone;
      if (cx.size() == 1) return f(alone);
    }
    group_of_threads<Cx> group(cx);
    f(group);
  }
  /// Sets the tables to this strip's copies: not all devices can access the host's tables.
  constexpr void take_tables(initial_values& initial) const {
    if (initial.kind != problem_kind::mode) return;
    initial.sine_x = m_tables;
    initial.sine_y = m_tables + m_grid.x + 2;
  }
  constexpr void send_rows(Cx& cx) {
    if (has(cx, side::south)) cx.lend(m_to_south, row_of(values(m_it), side::south));
    if (has(cx, side::north)) cx.lend(m_to_north, row_of(values(m_it), side::north));
    cx.once([&] { m_sent = m_it; });
  }
  [[nodiscard]] constexpr bool is_checked(long it) const {
    if (!(m_run.tolerance > 0)) return false;
    // 32 bits: devices divide longer integers by a function call.
    return std::uint32_t(it) % std::uint32_t(m_run.check_every) == 0 || it == m_last;
  }
  constexpr void go_on(Cx& cx) {
    const auto all = cx.array_of(*this);
    if (is_checked(m_it)) {
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
  [[nodiscard]] constexpr resident::counter& arrivals(side d) {
    return d == side::south ? m_south_came : m_north_came;
  }
  [[nodiscard]] constexpr resident::channel_in<float>& from(side d) {
    return d == side::south ? m_from_south : m_from_north;
  }
  [[nodiscard]] constexpr resident::channel_out<float>& to(side d) {
    return d == side::south ? m_to_south : m_to_north;
  }
  /// Returns step `it` with the neighbour's row at side `d`: the oldest row, or the row `later`
  /// sends after it. A strip of a single row gets both neighbours' rows. Without a neighbour the
  /// row is the fixed boundary.
  [[nodiscard]] constexpr step this_step(Cx& cx, long it, side d, std::uint32_t later) {
    const float* const now = values(it);
    const bool both = m_shape.n.y == 1;
    const bool south = has(cx, side::south) && (both || d == side::south);
    const bool north = has(cx, side::north) && (both || d == side::north);
    return {m_shape,
            now,
            values(it + 1),
            {{south ? cx.received(m_from_south, later).data() : now + m_shape.at(0, -1),
              north ? cx.received(m_from_north, later).data() : now + m_shape.at(0, m_shape.n.y)}}};
  }
  [[nodiscard]] constexpr float* values(long it) const { return m_values[it & 1]; }
  [[nodiscard]] constexpr std::span<const float> row_of(const float* values, side d) const {
    return {values + m_shape.at(0, m_shape.own_row(d)), std::size_t(m_shape.n.x)};
  }
  /// Returns the combined value of all own cells to all threads.
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
