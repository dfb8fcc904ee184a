// SPDX-License-Identifier: Apache-2.0
// A stencil on devices whose work is uneven: a quarter of the pieces of a ring computes eight times
// as long for each cell. Only the time of the kernels shows it. The array measures its device time
// and moves pieces, with their device memory, to workers with other devices. Integers are mixed
// instead of heat, so that the result is compared exactly. On one device nothing has to move:
//
//     starling launch -n 2 ./example_19_uneven_stencil --starling-balance-report yes
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "19_uneven_stencil.hpp"

using namespace starling;
using cell_values = std::vector<std::uint64_t>;

constexpr int pieces = 16, cells = 2048, steps = 40, steps_between_balancings = 5;

int work_of(int piece) { return piece < pieces / 4 ? 320 : 40; }
std::uint64_t first_value(int piece, int cell) {
  return std::uint64_t(piece * cells + cell) * 2654435761u;
}

struct piece : chare<piece> {
  piece() = default;  // also for a piece that arrives from another rank
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_step, m_migrations, m_now, m_end);
    if constexpr (Archive::is_reading) m_now.release_on(m_at);
  }

  awaited from_left(int step, std::uint64_t value);
  awaited from_right(int step, std::uint64_t value);

  task<> begin(callback<int> end) {
    m_end = std::move(end);
    cell_values start(std::size_t(cells) + 2);
    for (int c = 0; c < cells; ++c) start[std::size_t(c) + 1] = first_value(this_index(), c);
    m_now = allocate(memory_kind::device, start.size());
    m_at.copy(m_now, start);
    co_await m_at.completion();
    this_element().template invoke<&piece::run>();
  }
  task<> run() {
    auto ends = allocate(memory_kind::pinned, 2);
    const auto left = this_array()[(this_index() + pieces - 1) % pieces];
    const auto right = this_array()[(this_index() + 1) % pieces];
    while (m_step < steps) {
      if (m_next.empty()) m_next = allocate(memory_kind::device, m_now.size());
      m_at.copy(ends.span().first(1), std::as_const(m_now).span().subspan(1, 1));
      m_at.copy(ends.span().last(1), std::as_const(m_now).span().subspan(cells, 1));
      co_await m_at.completion();
      left.invoke<&piece::from_right>(m_step, ends.span().front());
      right.invoke<&piece::from_left>(m_step, ends.span().back());
      ends.span().front() = co_await when<&piece::from_left>(m_step);
      ends.span().back() = co_await when<&piece::from_right>(m_step);
      m_at.copy(m_now.span().first(1), std::as_const(ends).span().first(1));
      m_at.copy(m_now.span().last(1), std::as_const(ends).span().last(1));
      m_at.submit(range{cells}, update{m_now.data(), m_next.data(), work_of(this_index())});
      co_await m_at.completion();
      m_now.swap(m_next);
      ++m_step;  // before the wait, as resumed() continues with the members as they are now
      if (m_step % steps_between_balancings == 0 && m_step < steps) co_await load_balance();
    }
    contribute(m_migrations, reduction::sum(), m_end);
  }
  /// Continues on another rank, where the coroutine could not go.
  task<> resumed() { return run(); }
  /// Takes the device memory along to the device of another worker.
  void after_migration() {
    ++m_migrations;
    if (&m_at.device() == &here()) return;
    stream at = here().make_stream();
    move_buffer(m_now, m_at, at);
    m_next = {};  // is allocated on the new device
    m_at = std::move(at);
  }
  task<cell_values> contents() {
    cell_values all(m_now.size());
    m_at.copy(all, std::as_const(m_now).span());
    co_await m_at.completion();
    co_return cell_values(all.begin() + 1, all.end() - 1);
  }

 private:
  static device& here() { return devices(*runtime::current()).here(); }
  buffer<std::uint64_t> allocate(memory_kind kind, std::size_t count) {
    return m_at.device().allocate<std::uint64_t>(kind, count, m_at);
  }
  int m_step = 0;
  int m_migrations = 0;
  stream m_at = here().make_stream();
  buffer<std::uint64_t> m_now;   // with the end cells of both neighbours
  buffer<std::uint64_t> m_next;  // of the same size, or empty
  callback<int> m_end;
};

/// Computes the same without chares.
cell_values expected() {
  cell_values now(std::size_t(pieces) * cells), next(now.size());
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = first_value(int(i) / cells, int(i) % cells);
  for (int s = 0; s < steps; ++s, now.swap(next))
    for (std::size_t i = 0; i < now.size(); ++i)
      next[i] = mixed(now[(i + now.size() - 1) % now.size()], now[i], now[(i + 1) % now.size()],
                      work_of(int(i) / cells));
  return now;
}

task<int> mix(runtime& rt) {
  const auto ring = create_array<piece>(rt, pieces, placement::block);
  ring.measure_loads(true);
  auto [end, migrations] = make_reply<int>();
  ring.invoke<&piece::begin>(end);
  const int moved = co_await std::move(migrations);
  cell_values found;
  for (int i = 0; i < pieces; ++i) {
    const cell_values of_piece = co_await ring[i].call<&piece::contents>();
    found.insert(found.end(), of_piece.begin(), of_piece.end());
  }
  const bool is_right = found == expected();
  std::printf("%d pieces, %d steps, %d migrations: %s\n", pieces, steps, moved,
              is_right ? "right" : "WRONG");
  co_return is_right ? 0 : 1;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  return run(rt, mix(rt));
}
