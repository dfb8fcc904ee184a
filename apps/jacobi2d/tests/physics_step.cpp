// SPDX-License-Identifier: Apache-2.0
// Steps made of kernels, in each form, give the bits of the serial solver.
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "physics_support.hpp"

namespace jacobi2d::test {
namespace {

template <class Form>
struct stepping : testing::Test {
  Form run;

  void expect_serial_bits(extent grid, int strips, int steps) {
    const problem start(problem_kind::random, grid, 7);
    serial_solver reference(start);
    for (int i = 0; i < steps; ++i) reference.step();
    strip_grid<Form> all(start, strips, run);
    for (int i = 0; i < steps; ++i) all.step();
    EXPECT_TRUE(all.matches(reference)) << grid.x << " x " << grid.y << ", " << strips << " strips";
    EXPECT_EQ(all.checksum(), reference.checksum());
    EXPECT_EQ(all.change(), reference.change());
  }
};
/// A thread of a group that never waits for the remaining threads.
class lone_thread {
 public:
  lone_thread(int rank, int size) : m_rank(rank), m_size(size) {}
  [[nodiscard]] int size() const { return m_size; }
  [[nodiscard]] int rank() const { return m_rank; }
  template <class F>
  void for_each(int n, F&& f) const {
    for (int i = m_rank; i < n; i += m_size) f(i);
  }
  /// Reads the address: prefetched memory must exist.
  static void prefetch(const void* from) {
    static_cast<void>(*static_cast<const volatile char*>(from));
  }
  template <class T>
  static void store_kept(T* to, const T& value) {
    *to = value;
    ++kept;
  }
  static inline long kept = 0;

 private:
  int m_rank, m_size;
};

using forms = testing::Types<one_thread, many_threads, on_stream>;
TYPED_TEST_SUITE(stepping, forms);

TYPED_TEST(stepping, one_strip_has_the_bits_of_the_serial_solver) {
  for (const extent grid : {extent{1, 1}, extent{1, 6}, extent{5, 1}, extent{2, 2}, extent{33, 9},
                            extent{64, 16}, extent{1030, 70}})
    this->expect_serial_bits(grid, 1, 3);
}

TYPED_TEST(stepping, any_decomposition_has_the_serial_bits) {
  for (const int strips : {2, 3, 4, 7, 12}) this->expect_serial_bits({19, 26}, strips, 4);
}

TYPED_TEST(stepping, strips_of_one_row_have_the_serial_bits) {
  this->expect_serial_bits({40, 9}, 9, 5);
  this->expect_serial_bits({1, 4}, 4, 5);
}

TYPED_TEST(stepping, rows_that_are_no_multiple_of_a_line_have_the_serial_bits) {
  for (const int x : {3, 31, 32, 33, 62, 63, 65, 127}) this->expect_serial_bits({x, 10}, 3, 3);
}

/// A step of random cells computed by the kernel, as a reference for other ways to compute it.
class kernel_step {
 public:
  explicit kernel_step(extent grid) : m_shape(grid), m_from(m_shape), m_before(m_shape) {
    const problem start(problem_kind::random, grid, 3);
    for (aligned_array* a : {&m_from, &m_before})
      one_thread()(fill_initial{m_shape, 0, start.values(), a->data()});
    m_right = m_before;
    one_thread()(update{to(m_right), tiling::for_one(m_shape.n)});
  }
  /// Expects that `do_all(step)` gives the kernel's bits, ghosts included.
  template <class F>
  void expect_bits(const F& do_all, const std::string& how) const {
    aligned_array made = m_before;
    do_all(to(made));
    for (offset at = 0; at < m_shape.size(); ++at)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(made[at]), std::bit_cast<std::uint32_t>(m_right[at]))
          << m_shape.n.x << " x " << m_shape.n.y << ", " << how << ", at " << at;
  }

 private:
  [[nodiscard]] step to(aligned_array& made) const {
    const float* const from = m_from.data();
    return {m_shape,
            from,
            made.data(),
            {{from + m_shape.at(0, -1), from + m_shape.at(0, m_shape.n.y)}}};
  }

  strip_layout m_shape;
  aligned_array m_from, m_before, m_right{m_shape};
};

TEST(update_row, by_groups_of_any_size_is_that_of_the_kernel) {
  for (const int height : {1, 5})
    for (int width = 1; width <= 80; ++width) {
      const kernel_step right({width, height});
      for (const int threads : {2, 3, 5, 7, 32})
        right.expect_bits(
            [&](const step& what) {
              for (int y = 0; y < height; ++y)
                for (int rank = 0; rank < threads; ++rank) {
                  lone_thread t(rank, threads);
                  update_row(t, what, y);
                }
            },
            std::to_string(threads) + " threads");
    }
}

TEST(sweep_rows, of_groups_of_any_size_on_parts_of_any_height_are_those_of_the_kernel) {
  lone_thread::kept = 0;
  for (const extent grid : {extent{2, 9}, extent{77, 41}, extent{384, 8}, extent{388, 8},
                            extent{519, 9}, extent{1030, 8}}) {
    const kernel_step right(grid);
    const auto expect_them = [&](int threads, int rows, bool up) {
      right.expect_bits(
          [&](const step& what) {
            for (int y = 0; y < grid.y; y += rows)
              for (int rank = 0; rank < threads; ++rank) {
                lone_thread t(rank, threads);
                sweep_rows<3>(t, what, y, std::min(y + rows, grid.y), up);
              }
          },
          std::to_string(threads) + " threads, parts of " + std::to_string(rows) +
              (up ? ", up" : ", down"));
    };
    for (const int threads : {2, 5, 32, 200, 512})
      for (const int rows : {1, 4, 7, 41})
        for (const bool up : {true, false}) expect_them(threads, rows, up);
  }
  EXPECT_GT(lone_thread::kept, 0);
}

template <class Run>
void expect_own_cells_alone(Run run, extent n) {
  const strip_layout s(n);
  const aligned_array from(s, 1.0F);
  aligned_array to(s, -3.0F);
  const rows_beside ones{{from.data() + s.at(0, -1), from.data() + s.at(0, n.y)}};
  run(update{{s, from.data(), to.data(), ones}, Run::cut(n)});
  offset written = 0;
  for (offset at = 0; at < s.size(); ++at) written += to[at] != -3.0F;
  EXPECT_EQ(written, offset{n.x} * n.y);
  EXPECT_EQ(to[s.at(0, 0)], 1.0F);
  EXPECT_EQ(to[s.at(n.x - 1, n.y - 1)], 1.0F);
}

TEST(update, writes_its_own_cells_only) {
  for (const extent n : {extent{1, 1}, extent{21, 10}, extent{1027, 3}, extent{4, 300}}) {
    expect_own_cells_alone(one_thread(), n);
    expect_own_cells_alone(many_threads(), n);
  }
}

TEST(update, reads_the_neighbouring_rows_at_the_given_addresses) {
  const strip_layout s({6, 2});
  const aligned_array from(s, 1.0F);
  for (const bool many : {false, true}) {
    aligned_array to(s, 0.0F);
    alignas(16) std::array<float, 6> south{}, north{};
    const update k{{s, from.data(), to.data(), {{south.data(), north.data()}}},
                   many ? many_threads::cut(s.n) : one_thread::cut(s.n)};
    many ? many_threads()(k) : one_thread()(k);
    EXPECT_EQ(to[s.at(5, 0)], 0.75F);
    EXPECT_EQ(to[s.at(5, 1)], 0.75F);
  }
}

}  // namespace
}  // namespace jacobi2d::test
