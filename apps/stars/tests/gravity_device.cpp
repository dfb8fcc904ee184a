// SPDX-License-Identifier: Apache-2.0
// Devices give the bits of the serial solver.
#include <gtest/gtest.h>

#include <string>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "common/tests/backends.hpp"
#include "common/upload.hpp"
#include "placement/gravity/device_gravity.hpp"
#include "tests/gravity_support.hpp"

namespace stars::test {
namespace {

struct two_solves {
  std::vector<double> first, again;
};

two_solves on_host(const octree& tree, const std::vector<double>& density,
                   const std::vector<double>& rate, const gravity_options& options) {
  std::vector<double> first = results_for(tree), again = first;
  serial_gravity solver(tree, 1.0, options);
  solver.solve({density.data(), cells_per_subgrid}, first);
  solver.solve_again({rate.data(), cells_per_subgrid}, again);
  return {first, again};
}

starling::task<two_solves> on_device(starling::runtime& rt, const octree& tree,
                                     const std::vector<double>& density,
                                     const std::vector<double>& rate,
                                     const gravity_options& options) {
  starling::device& where = starling::devices(rt).device(0);
  starling::stream queue = where.make_stream();
  device_gravity solver(where, queue, tree, 1.0, options);
  const auto allocate = [&](starling::memory_kind kind) {
    return where.allocate<double>(kind, result_count * cell_count(tree));
  };
  auto results = allocate(starling::memory_kind::device);
  auto first = allocate(starling::memory_kind::pinned);
  auto again = allocate(starling::memory_kind::pinned);
  const auto solve = [&](const std::vector<double>& of, centres_kind centres,
                         starling::buffer<double>& to) {
    const auto values = apps::upload(where, queue, of);
    solver.solve(queue, {values.data(), cells_per_subgrid}, centres, results.data());
    queue.copy(to, results);
  };
  solve(density, centres_kind::found, first);
  solve(rate, centres_kind::kept, again);
  co_await queue.completion();
  co_return two_solves{{first.begin(), first.end()}, {again.begin(), again.end()}};
}

class gravity_kernels : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    m_options = starling::runtime_options::from_environment();
    m_options.workers = 2;
    m_options.extra["backend"] = GetParam();
    if (const auto reason = apps::test::reason_to_skip(m_options)) GTEST_SKIP() << *reason;
  }
  starling::runtime_options m_options;
};

TEST_P(gravity_kernels, give_the_bits_of_the_serial_solver) {
  for (const std::uint64_t seed : {3, 7}) {
    const octree tree = random_tree(seed, boundary_kind::outflow, 2);
    const std::vector<double> density = random_density(tree, seed);
    const std::vector<double> rate = random_density(tree, seed + 100);
    for (const gravity_options o :
         {gravity_options{0.5, true}, gravity_options{0.34, false}, gravity_options{0.26, true}}) {
      const two_solves expected = on_host(tree, density, rate, o);
      starling::runtime rt(m_options);
      const two_solves got = rt.sync_wait(on_device(rt, tree, density, rate, o));
      EXPECT_TRUE(same_bits(got.first, expected.first)) << seed << ' ' << o.theta;
      EXPECT_TRUE(same_bits(got.again, expected.again)) << seed << ' ' << o.theta;
    }
  }
}

TEST_P(gravity_kernels, cannot_keep_centres_before_they_are_found) {
  starling::runtime rt(m_options);
  starling::device& where = starling::devices(rt).device(0);
  starling::stream queue = where.make_stream();
  device_gravity solver(where, queue, octree::uniform(1), 1.0, {});
  EXPECT_THROW(solver.solve(queue, {nullptr, 0}, centres_kind::kept, nullptr),
               starling::usage_error);
}

INSTANTIATE_TEST_SUITE_P(on, gravity_kernels, testing::Values("host", "cuda", "sycl", "kokkos"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace stars::test
