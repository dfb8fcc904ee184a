// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <thread>

#include "hydro/fused_primitives.hpp"
#include "hydro/line_flux.hpp"
#include "hydro/slab_reconstruction.hpp"
#include "hydro/stage.hpp"
#include "hydro/time_step.hpp"
#include "kernel/loop.hpp"
#include "tests/physics_support.hpp"
#include "transfer/ghosts.hpp"

namespace stars::test {
namespace {

/// One of several threads that run a group, with the interface of a device's group. Data of `copy`
/// arrives late, at the next `sync`.
class thread_of_group {
 public:
  thread_of_group(int rank, int size, double* scratch, std::barrier<>& all)
      : m_rank(rank), m_size(size), m_scratch(scratch), m_all(&all) {}

  [[nodiscard]] int size() const { return m_size; }
  [[nodiscard]] int rank() const { return m_rank; }
  template <class T>
  [[nodiscard]] T* scratch() const {
    static_assert(std::is_same_v<T, double>);
    return m_scratch;
  }
  void sync() {
    for (const auto& [to, from] : m_late) *to = *from;
    m_late.clear();
    m_all->arrive_and_wait();
  }
  void copy(double* to, const double* from, int n) {
    for_each(n, [&](int i) { m_late.emplace_back(to + i, from + i); });
  }
  template <class F>
  void for_each(int n, F&& f) const {
    for (int i = m_rank; i < n; i += m_size) f(i);
  }

 private:
  int m_rank, m_size;
  double* m_scratch;
  std::barrier<>* m_all;
  std::vector<std::pair<double*, const double*>> m_late;
};

/// Runs all groups of the kernel's range, one after the other, with `size` threads.
template <class Kernel>
void run_groups(const Kernel& kernel, int size) {
  std::vector<double> scratch(std::size_t(Kernel::scratch_bytes) / sizeof(double), std::nan(""));
  std::barrier all(size);
  const auto run = [&](int rank) {
    const extent r = kernel.range();
    thread_of_group own(rank, size, scratch.data(), all);
    for (int z = 0; z < r.z; ++z)
      for (int y = 0; y < r.y; ++y)
        for (int x = 0; x < r.x; ++x) {
          kernel(own, loop_index{x, y, z});
          own.sync();
        }
  };
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) threads.emplace_back(run, rank);
}

struct arrays {
  explicit arrays(int n)
      : u(size(n, ghosted.block)), w(u), pressure(size(n, pressure_block)),
        jump(size(n, jump_block)), points(size(n, point_block)), fluxes(size(n, flux_block)),
        speeds(size(n, speed_block)) {}
  static std::vector<double> size(int n, int block) {
    return std::vector<double>(std::size_t(n) * std::size_t(block), -7.0);
  }
  std::vector<double> u, w, pressure, jump, points, fluxes, speeds;

  [[nodiscard]] stage_kernels kernels(const part_plan& tables, const scheme& o) {
    return make_stage({u.data(), w.data(), pressure.data(), jump.data(), points.data(),
                       fluxes.data(), speeds.data()},
                      tables.frames.data(), int(tables.frames.size()), o, 1);
  }
};

/// The reference: separate kernels, one index at a time.
arrays separate(const snapshot& s, const scheme& o) {
  arrays a(s.grid.subgrid_count());
  const part_plan tables = tables_of(s);
  const stage_kernels k = a.kernels(tables, o);
  run_loop(ghosts_of_all(s, tables, a.u.data()), false);
  run_loop(k.pressure, false);
  run_loop(k.jump, false);
  run_loop(k.prepare, false);
  run_loop(k.points, false);
  run_loop(k.fluxes, false);
  return a;
}

void expect_the_same(const snapshot& s, const scheme& o, int threads) {
  const arrays expected = separate(s, o);
  arrays a(s.grid.subgrid_count());
  const part_plan tables = tables_of(s);
  const stage_kernels k = a.kernels(tables, o);
  run_loop(fused_primitives{ghosts_of_all(s, tables, nullptr), k.pressure, k.prepare}, false);
  EXPECT_TRUE(same_bits(a.w, expected.w));
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    const auto planes = [n](const std::vector<double>& all) {  // the planes that kernel 1 writes
      const auto begin = all.begin() + n * pressure_block + ghosted.plane;
      return std::vector<double>(begin, begin + 12 * ghosted.plane);
    };
    EXPECT_TRUE(same_bits(planes(a.pressure), planes(expected.pressure))) << n;
  }
  run_groups(slab_reconstruction{k.points, k.jump}, threads);
  EXPECT_TRUE(same_bits(a.points, expected.points));
  if (o.quadrature != quadrature_kind::centre) return;
  run_groups(line_flux{k.jump, k.points, k.fluxes}, threads);
  EXPECT_TRUE(same_bits(a.fluxes, expected.fluxes));
  EXPECT_TRUE(same_bits(a.speeds, expected.speeds));
}

TEST(fused_kernels, give_the_bits_of_separate_ones) {
  const snapshot s = turbulent(1, boundary_kind::outflow, 5);
  expect_the_same(s, scheme_for(s), 3);
}

TEST(fused_kernels, give_the_bits_by_one_thread_and_across_periodic_boundaries) {
  const snapshot s = turbulent(1, boundary_kind::periodic, 6);
  expect_the_same(s, scheme_for(s), 1);
}

TEST(fused_kernels, give_the_bits_on_a_rotating_grid_between_walls) {
  snapshot s = turbulent(1, boundary_kind::reflecting, 7);
  scheme o = scheme_for(s);
  o.omega = 0.3;
  expect_the_same(s, o, 2);
}

TEST(fused_kernels, give_the_bits_with_linear_profiles_and_one_point) {
  const snapshot s = turbulent(1, boundary_kind::outflow, 8);
  scheme o = scheme_for(s);
  o.reconstruction = reconstruction_kind::minmod;
  o.quadrature = quadrature_kind::centre;
  expect_the_same(s, o, 3);
}

TEST(fused_kernels, give_the_bits_with_profiles_that_keep_extrema) {
  const snapshot s = turbulent(1, boundary_kind::outflow, 10);
  scheme o = scheme_for(s);
  o.reconstruction = reconstruction_kind::ppmx;
  expect_the_same(s, o, 3);
  o.quadrature = quadrature_kind::centre;
  expect_the_same(s, o, 2);
}

TEST(fused_kernels, give_the_bits_with_one_point_on_a_rotating_grid) {
  const snapshot s = turbulent(1, boundary_kind::outflow, 9);
  scheme o = scheme_for(s);
  o.quadrature = quadrature_kind::centre;
  o.omega = -0.2;
  expect_the_same(s, o, 5);
}

TEST(fused_kernels, give_the_bits_where_the_entropy_tracer_holds_the_energy) {
  const snapshot s = make_blast(1);
  expect_the_same(s, scheme_for(s), 3);
}

TEST(group_max, finds_the_largest_and_keeps_a_nan_whatever_the_number_of_threads) {
  for (const int threads : {1, 2, 3, 7}) {
    for (const int n : {1, 2, 5, 64, 1001}) {
      std::vector<double> in(std::size_t(n), 0.5);
      in[std::size_t(n / 2)] = 3.0;
      double most = -1.0;
      run_groups(group_max{in.data(), &most, n}, threads);
      EXPECT_EQ(most, 3.0) << threads << " threads, " << n << " values";
      in[std::size_t(n - 1)] = std::nan("");
      run_groups(group_max{in.data(), &most, n}, threads);
      EXPECT_TRUE(std::isnan(most)) << threads << " threads, " << n << " values";
    }
  }
}

}  // namespace
}  // namespace stars::test
