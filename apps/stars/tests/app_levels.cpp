// SPDX-License-Identifier: Apache-2.0
// The kernels between levels give the same bits on every backend as plain loops on the host.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "common/tests/backends.hpp"
#include "common/upload.hpp"
#include "driver/regrid.hpp"
#include "kernel/loop.hpp"
#include "mesh/part_plan.hpp"
#include "placement/launch.hpp"
#include "problems/problems.hpp"
#include "transfer/flux_correction.hpp"
#include "transfer/prolongation.hpp"
#include "transfer/restriction.hpp"

namespace stars::test {
namespace {

/// A state on several levels, and fluxes that are different in all faces.
struct input {
  snapshot state;
  part_plan plan;
  std::vector<double> u, fluxes;

  explicit input(boundary_kind boundary) {
    const auto flow = blast_problem(3, {.boundary = boundary});
    state = initial_state(*flow, {1, 3});
    plan = plan_whole(state);
    u = state.data;
    for (std::size_t i = 0; i < u.size(); ++i) u[i] += 1e-3 * double(i % 97);
    u.resize(std::size_t(plan.slot_count) * compact.block);
    fluxes.resize(std::size_t(plan.count) * flux_block);
    for (std::size_t i = 0; i < fluxes.size(); ++i) fluxes[i] = 1.0 / double(i % 1009 + 3);
  }
};

/// The tables, in memory of the host or of a device.
struct tables {
  subgrid_view at;
  const level_link *restrictions, *prolongations;
  const fine_face* fine_faces;
  const coarse_face* coarse_faces;
};
struct arrays {
  double *u, *fluxes, *means;
};

/// Runs the kernels: `run(kernel)` runs one after the one before it.
template <class Run>
void run_all(const part_plan& plan, const tables& t, const arrays& a, int sweep, Run run) {
  const double* u = a.u;
  for (const field_set fields : {field_set::all_but_tracer, field_set::tracer})
    run(restriction{u, a.u, t.restrictions, int(plan.restrictions.size()), fields});
  for (const bool energy_only : {true, false})
    run(prolongation{u, a.u, t.at.frames, t.at.sources, t.prolongations,
                     int(plan.prolongations.size()), theta_of_ghosts, sweep, energy_only});
  run(mean_fluxes{a.fluxes, a.means, t.fine_faces, 0, int(plan.fine_faces.size())});
  run(correct_fluxes{a.fluxes, a.means, t.coarse_faces, 0, int(plan.coarse_faces.size())});
}

std::size_t means_of(const part_plan& plan) { return std::size_t(plan.face_rows) * face_row; }

struct result {
  std::vector<double> u, fluxes;
};

result on_loops(const input& in) {
  result r{in.u, in.fluxes};
  std::vector<double> means(means_of(in.plan));
  const part_plan& p = in.plan;
  run_all(p,
          {p.view(), p.restrictions.data(), p.prolongations.data(), p.fine_faces.data(),
           p.coarse_faces.data()},
          {r.u.data(), r.fluxes.data(), means.data()}, 0,
          [](const auto& kernel) { run_loop(kernel, false); });
  return r;
}

std::vector<double> contents(const starling::buffer<double>& b) {
  return std::vector<double>(b.begin(), b.end());
}

starling::task<result> on_device(starling::runtime& rt, const input& in) {
  starling::device& where = starling::devices(rt).device(0);
  starling::stream s = where.make_stream();
  const auto frames = apps::upload(where, s, in.plan.frames);
  const auto sources = apps::upload(where, s, in.plan.sources);
  const auto restrictions = apps::upload(where, s, in.plan.restrictions);
  const auto prolongations = apps::upload(where, s, in.plan.prolongations);
  const auto fine = apps::upload(where, s, in.plan.fine_faces);
  const auto coarse = apps::upload(where, s, in.plan.coarse_faces);
  auto u = apps::upload(where, s, in.u), fluxes = apps::upload(where, s, in.fluxes);
  auto means = where.allocate<double>(starling::memory_kind::device, means_of(in.plan));
  const int lanes = lanes_of(where);
  run_all(in.plan,
          {{frames.data(), sources.data()},
           restrictions.data(),
           prolongations.data(),
           fine.data(),
           coarse.data()},
          {u.data(), fluxes.data(), means.data()}, sweep_of(lanes),
          [&](const auto& kernel) { submit(s, kernel); });
  auto host_u = where.allocate<double>(starling::memory_kind::pinned, u.size());
  auto host_fluxes = where.allocate<double>(starling::memory_kind::pinned, fluxes.size());
  s.copy(host_u, u);
  s.copy(host_fluxes, fluxes);
  co_await s.completion();
  co_return result{contents(host_u), contents(host_fluxes)};
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

class level_kernels : public testing::TestWithParam<std::string> {};

TEST_P(level_kernels, give_the_bits_of_plain_loops) {
  starling::runtime_options options = starling::runtime_options::from_environment();
  options.workers = 2;
  options.extra["backend"] = GetParam();
  if (const auto reason = apps::test::reason_to_skip(options)) GTEST_SKIP() << *reason;
  for (const auto boundary :
       {boundary_kind::outflow, boundary_kind::reflecting, boundary_kind::periodic}) {
    const input in(boundary);
    ASSERT_FALSE(in.plan.restrictions.empty() || in.plan.prolongations.empty() ||
                 in.plan.coarse_faces.empty());
    const result expected = on_loops(in);
    EXPECT_FALSE(same_bits(expected.u, in.u));
    EXPECT_FALSE(same_bits(expected.fluxes, in.fluxes));
    starling::runtime rt(options);
    const result got = rt.sync_wait(on_device(rt, in));
    EXPECT_TRUE(same_bits(got.u, expected.u)) << name_of(boundary);
    EXPECT_TRUE(same_bits(got.fluxes, expected.fluxes)) << name_of(boundary);
  }
}

INSTANTIATE_TEST_SUITE_P(on, level_kernels, testing::Values("host", "cuda", "sycl", "kokkos"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace stars::test
