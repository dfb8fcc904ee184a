// SPDX-License-Identifier: Apache-2.0
/// \file
/// Common code of the physics tests: a grid of strips, stepped by kernels.
#pragma once

#include <bit>
#include <vector>

#include "common/tests/kernel_runs.hpp"
#include "physics/decomposition.hpp"
#include "physics/initial.hpp"
#include "physics/reduction.hpp"
#include "physics/serial.hpp"
#include "physics/update.hpp"

namespace jacobi2d::test {

using apps::test::run_with_threads;

struct one_thread : apps::test::one_thread {
  static tiling cut(extent n) { return tiling::for_one(n); }
};
struct many_threads : apps::test::many_threads {
  static tiling cut(extent n) { return tiling::for_many(n); }
};
struct on_stream : apps::test::on_stream {
  static tiling cut(extent n) { return tiling::for_one(n); }
};

/// A strip's array in which cell 0 of each row begins a line, as on a device.
class aligned_array {
 public:
  explicit aligned_array(const strip_layout& s, float value = -2.0F)
      : m_lines(std::size_t(s.size() + strip_layout::line - 1) / strip_layout::line) {
    for (line& l : m_lines)
      for (float& v : l.of) v = value;
  }
  [[nodiscard]] float* data() { return m_lines.data()->of; }
  [[nodiscard]] const float* data() const { return m_lines.data()->of; }
  float& operator[](offset at) {
    return m_lines[std::size_t(at / strip_layout::line)].of[at % strip_layout::line];
  }
  float operator[](offset at) const {
    return m_lines[std::size_t(at / strip_layout::line)].of[at % strip_layout::line];
  }
  void swap(aligned_array& other) { m_lines.swap(other.m_lines); }

 private:
  struct alignas(128) line {
    float of[strip_layout::line];
  };
  std::vector<line> m_lines;
};

/// A decomposed grid, stepped by kernels that `Run` runs. Strips read their neighbours' rows in
/// place.
template <class Run>
class strip_grid {
 public:
  struct strip {
    strip(strip_layout s, int first) : shape(s), origin(first), now(s), next(s) {}
    strip_layout shape;
    int origin;
    aligned_array now, next;
  };

  strip_grid(const problem& start, int strips, Run run = {})
      : m_cut(decompose(start.grid(), strips)), m_run(std::move(run)) {
    for (int i = 0; i < strips; ++i) {
      m_strips.emplace_back(strip_layout(m_cut.cells(i)), m_cut.origin(i));
      strip& s = m_strips.back();
      for (aligned_array* a : {&s.now, &s.next})
        m_run(fill_initial{s.shape, s.origin, start.values(), a->data()});
    }
  }

  void step() {
    for (int i = 0; i < m_cut.strips; ++i) {
      strip& s = at(i);
      m_run(update{{s.shape, s.now.data(), s.next.data(), beside(i)}, Run::cut(s.shape.n)});
    }
    for (strip& s : m_strips) s.now.swap(s.next);
  }

  [[nodiscard]] std::uint64_t checksum() const {
    return reduced<apps::sum>([&](const strip& s) {
      return checksum_of_cell{s.now.data(), m_cut.grid, s.origin};
    });
  }
  [[nodiscard]] double change() const {
    return apps::norm_of(reduced<apps::largest>([](const strip& s) {
      return change_of_cell{s.next.data(), s.now.data()};
    }));
  }
  [[nodiscard]] double error(const problem& start, long steps) const {
    return apps::norm_of(reduced<apps::largest>([&](const strip& s) {
      return error_of_cell{s.now.data(), start.values(), s.origin, start.amplitude(steps)};
    }));
  }
  /// Returns whether every cell equals the serial solver's cell bit by bit.
  [[nodiscard]] bool matches(const serial_solver& reference) const {
    for (const strip& s : m_strips)
      for (int y = 0; y < s.shape.n.y; ++y)
        for (int x = 0; x < s.shape.n.x; ++x)
          if (std::bit_cast<std::uint32_t>(s.now[s.shape.at(x, y)]) !=
              std::bit_cast<std::uint32_t>(reference.at(x, s.origin + y)))
            return false;
    return true;
  }

  [[nodiscard]] strip& at(int number) { return m_strips[std::size_t(number)]; }
  /// Makes a strip read its own ghosts at side `d` from now on.
  void lose(int number, side d) { m_lost = {number, d}; }

 private:
  [[nodiscard]] rows_beside beside(int i) {
    rows_beside rows;
    for (const side d : sides) {
      const auto n = m_cut.neighbour(i, d);
      const bool own = !n || (i == m_lost.strip && d == m_lost.which);
      const side back = d == side::south ? side::north : side::south;
      strip& from = at(own ? i : *n);
      const int y = own ? from.shape.ghost_row(d) : from.shape.own_row(back);
      rows[d] = from.now.data() + from.shape.at(0, y);
    }
    return rows;
  }
  template <class Combine, class MakeCell>
  [[nodiscard]] pattern reduced(MakeCell make_cell) const {
    pattern all = 0;
    for (const strip& s : m_strips) {
      using reduction = reduce_strip<decltype(make_cell(s))>;
      std::vector<pattern> partial(std::size_t(reduction::groups(s.shape)), ~pattern{0});
      pattern result = ~pattern{0};
      m_run_one(reduction{s.shape, make_cell(s), partial.data()});
      m_run_one(apps::reduce_partials<Combine>{partial.data(), int(partial.size()), &result});
      all = Combine{}(all, result);
    }
    return all;
  }

  struct {
    int strip = -1;
    side which = side::south;
  } m_lost;
  decomposition m_cut;
  Run m_run;
  one_thread m_run_one;  // reductions call `sync`
  std::vector<strip> m_strips;
};

}  // namespace jacobi2d::test
