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
  template <class T>
  static constexpr void store_kept(T* to, const T& value) {
    Cx::store_kept(to, value);
  }

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
/// all others after each iteration. Rows of neighbours come by channels, are copied from other
/// devices and read where they lie on the same.
///
/// All strips go through their rows up in even steps and down in odd ones, so that a step begins
/// with what caches still hold. The last row of one and the first of the next lie at the same
/// neighbour, who turns there, too, a step earlier: so a strip turns when two rows of that
/// neighbour have come, which have had the time of a step for their way. The rows of step n that
/// neighbours have been sent are overwritten in step n + 1, for which rows are needed that they
/// sent when they had read them: what was lent is read by then, and no more than two sends of a
/// channel are ahead of the neighbour's releases. One thread tells the neighbours, and other warps
/// do not wait for it.
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
  long m_sent = -1;             // rows of this step and all before
  bool m_is_under_way = false;  // all of the step but its last row is done
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
      cx.open(m_from_south, width, m_south_came, all[index() - 1], &resident_strip::m_to_north,
              &resident_strip::m_room);
    if (has(cx, side::north))
      cx.open(m_from_north, width, m_north_came, all[index() + 1], &resident_strip::m_to_south,
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
  constexpr void begin_step(Cx& cx) {
    if (m_it == m_last) return finish(cx);
    wait_for_rows(cx, first_side(m_it), 1);
  }
  /// The only place where rows are made: it is much code. Goes on for some steps while what they
  /// need is there: what a step wrote last is in caches for a few microseconds.
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

  struct entries
      : resident::entries<&resident_strip::proceed, &resident_strip::have_met,
                          &resident_strip::judge, &resident_strip::run, &resident_strip::prepare,
                          &resident_strip::be_ready, &resident_strip::learn, &resident_strip::fill,
                          &resident_strip::spoil, &resident_strip::examine> {};

 private:
  static constexpr int steps_at_once = 16;  // others of this scheduler wait meanwhile
  static constexpr int kept_rows = 3;       // of 132 strips 13 MB at 8192 columns, of 50 in caches

  // Steps go from one side to the other.
  [[nodiscard]] static constexpr bool goes_up(long it) { return it % 2 == 0; }
  [[nodiscard]] static constexpr side first_side(long it) {
    return goes_up(it) ? side::south : side::north;
  }
  [[nodiscard]] static constexpr side last_side(long it) { return first_side(it + 1); }
  /// Whether the next step may begin at once when this one ends. Not with a single row, of which
  /// both neighbours must have their own before.
  [[nodiscard]] constexpr bool can_turn(long it) const {
    return it + 1 != m_last && !m_barriers && !is_checked(it + 1) && m_shape.n.y > 1;
  }

  /// Goes on when `wanted` rows of that neighbour have come.
  constexpr void wait_for_rows(Cx& cx, side d, std::uint32_t wanted) {
    if (!has(cx, d))
      cx.invoke(cx.array_of(*this)[index()], entry<&resident_strip::proceed>);
    else
      cx.when(arrivals(d), wanted, entry<&resident_strip::proceed>);
  }
  /// Rows of the neighbour that are needed to end a step and, if that is possible, turn.
  [[nodiscard]] constexpr std::uint32_t rows_to_end(long it) const { return can_turn(it) ? 2 : 1; }
  /// Whether they are there: a `sync`, behind which they are used.
  [[nodiscard]] constexpr bool has_rows(Cx& cx, long it) {
    const side d = last_side(it);
    if (has(cx, d)) return cx.take(arrivals(d), rows_to_end(it));
    cx.sync();
    return true;
  }
  /// The last row of a step, if there is one under way, and the next one, `it`, but for its last
  /// row. False: there is no next one yet.
  [[nodiscard]] constexpr bool do_most_of_a_step(Cx& cx, long& it) {
    const bool ends = m_is_under_way, goes_on = !ends || can_turn(m_it);
    const long now = m_it, next = ends ? now + 1 : now;  // members change
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
    const step between{m_shape, values(it), values(it + 1), {}};  // needs no neighbour
    with_group(cx, [&](auto& group) {
      sweep_rows<kept_rows>(group, between, 1, m_shape.n.y - 1, goes_up(it));
    });
    cx.prefetch_all_of(*this);
    return true;
  }
  /// Rows at side d of steps from `it` on are done: the neighbour's have been read, and get
  /// answers. `By` is the context, for all threads, or what `tell` gives one.
  template <class By>
  constexpr void answer(By& by, long it, side d, long edges) {
    for (long e = 0; e < edges; ++e) {
      by.release(from(d));
      if (it + e + 1 != m_last) by.lend(to(d), row_of(values(it + e + 1), d));
    }
  }
  /// The same for neighbours on this device or on others, and on both sides of one row alone.
  template <class By>
  constexpr void exchange(Cx& cx, By& by, long it, side d, long edges, bool are_beside) {
    if (has(cx, d) && to(d).is_beside() == are_beside) answer(by, it, d, edges);
    if (m_shape.n.y != 1) return;
    const side other = d == side::south ? side::north : side::south;
    if (has(cx, other) && to(other).is_beside() == are_beside) answer(by, it, other, edges);
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
    if (has(cx, side::south)) cx.lend(m_to_south, row_of(values(m_it), side::south));
    if (has(cx, side::north)) cx.lend(m_to_north, row_of(values(m_it), side::north));
    cx.once([&] { m_sent = m_it; });
  }
  [[nodiscard]] constexpr bool is_checked(long it) const {
    if (!(m_run.tolerance > 0)) return false;
    // Devices call something to divide longer numbers.
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
  /// With the neighbour's row at side `d`, the oldest or a `later` one, or both where there is one
  /// row alone; where there is no neighbour, the fixed boundary.
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
