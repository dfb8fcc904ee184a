// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "hydro/time_step.hpp"
#include "hydro/update.hpp"
#include "tests/physics_support.hpp"
#include "transfer/ghosts.hpp"

namespace stars::test {
namespace {

/// Moving gas in which the internal energy is lost in rounding, so that the tracer must be used.
snapshot cold(int level) {
  snapshot s = turbulent(level, boundary_kind::periodic, 11);
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    for (int k = 0; k < cells_per_subgrid; ++k) {
      const triple c{k % edge, k / edge % edge, k / 64};
      const auto value = [&](int f) -> double& { return s.data[s.index(n, f, c)]; };
      value(field::sx) += 50.0 * value(field::rho);
      value(field::egas) =
          0.5 + 0.5 *
                    (value(field::sx) * value(field::sx) + value(field::sy) * value(field::sy) +
                     value(field::sz) * value(field::sz)) /
                    value(field::rho);
      value(field::tau) = std::pow(0.5, 1.0 / s.gamma);
    }
  }
  return s;
}

TEST(driver, gives_the_same_bits_with_and_without_vectors) {
  for (const snapshot& s : {turbulent(1, boundary_kind::outflow, 1), make_blast(1), make_sod(1),
                            cold(1), turbulent(0, boundary_kind::reflecting, 2)}) {
    const scheme o = scheme_for(s);
    const snapshot a = run_steps(s, o, 2, loop_kind::vectors);
    const snapshot b = run_steps(s, o, 2, loop_kind::single);
    EXPECT_TRUE(same_bits(a.data, b.data)) << s.problem;
    EXPECT_EQ(a.time, b.time);
    EXPECT_EQ(a.outflow, b.outflow);
  }
}

TEST(driver, computes_shared_faces_alike_on_both_sides) {
  const snapshot s = turbulent(1, boundary_kind::periodic, 3);
  serial_driver driver(s, scheme_for(s));
  for (int axis = 0; axis < 3; ++axis) {
    const int other = 1 << axis;  // the upper neighbour of sub-grid 0 along this axis
    const auto lower = driver.fluxes_of(0), upper = driver.fluxes_of(other);
    const int row = axis == 0 ? 9 : 8, rows = axis == 1 ? 9 : 8;
    for (int f = 0; f < field_count; ++f) {
      for (int k = 0; k < edge * edge; ++k) {
        int i[3];
        i[(axis + 1) % 3] = k % edge;
        i[(axis + 2) % 3] = k / edge;
        const auto at = [&](int along) {
          i[axis] = along;
          return static_cast<std::size_t>((axis * field_count + f) * face_count + i[0] +
                                          row * (i[1] + rows * i[2]));
        };
        ASSERT_EQ(lower[at(edge)], upper[at(0)]) << "axis " << axis << " field " << f;
      }
    }
  }
}

/// The second way: all sub-grids in one array with ghosts, and each kernel once for all sub-grids.
TEST(driver, agrees_bitwise_with_whole_array_kernels) {
  for (const auto kind : {boundary_kind::outflow, boundary_kind::periodic}) {
    const snapshot s = turbulent(1, kind, 4);
    const scheme o = scheme_for(s);
    const mesh& g = s.grid;
    const int n = g.subgrid_count();
    const part_plan tables = tables_of(s);
    const auto array = [n](int block) {
      return std::vector<double>(static_cast<std::size_t>(n) * static_cast<std::size_t>(block));
    };
    auto state = s.data, u = array(ghosted.block), pressure = array(pressure_block),
         jump = array(jump_block), points = array(point_block), fluxes = array(flux_block),
         speeds = array(speed_block), rate = array(compact.block), leaving = array(field_count),
         amount = leaving, total = std::vector<double>(field_count);
    double clock[clock_entry::count] = {s.time, 0.0, 1e300};
    double most[64];
    const auto run = [](const auto& k) {
      const extent r = k.range();
      for (int z = 0; z < r.z; ++z) {
        for (int y = 0; y < r.y; ++y) {
          for (int x = 0; x < r.x; ++x) k(triple{x, y, z});
        }
      }
    };
    const stage_kernels k = make_stage({u.data(), u.data(), pressure.data(), jump.data(),
                                        points.data(), fluxes.data(), speeds.data()},
                                       tables.frames.data(), n, o, 1);
    ghost_fill ghosts = ghosts_of_all(s, tables, u.data());
    ghosts.from = state.data();
    for (int stage = 0; stage < stage_count; ++stage) {
      run(ghosts);
      run(k.pressure);
      run(k.jump);
      run(k.prepare);
      run(k.points);
      run(k.fluxes);
      if (stage == 0) {
        run(reduce_max{speeds.data(), most, n * speed_block, 64});
        run(time_step{most, clock, 64, o.cfl, g.dx()});
      }
      run(divergence{fluxes.data(), state.data(), rate.data(), tables.frames.data(), n, o.omega,
                     o.gravity});
      run(outflow_rate{fluxes.data(), leaving.data(), tables.frames.data(), 0, n, o.gravity});
      run(outflow_update{amount.data(), leaving.data(), clock, n, stage});
      run(update{state.data(), state.data(), s.data.data(), rate.data(), clock, n, stage});
    }
    ghosts.energy_only = true;
    run(ghosts);
    run(synchronize_tau{state.data(), u.data(), n, o.gamma});
    run(end_step{amount.data(), total.data(), clock, n});

    const snapshot expected = run_steps(s, o, 1);
    EXPECT_TRUE(same_bits(state, expected.data));
    EXPECT_EQ(clock[clock_entry::time], expected.time);
    for (std::size_t f = 0; f < field_count; ++f) EXPECT_EQ(total[f], expected.outflow[f]);
  }
}

TEST(driver, leaves_a_uniform_flow_alone) {
  snapshot s = make_linear_wave(1, {.amplitude = 0.0});
  for (int n = 0; n < s.grid.subgrid_count(); ++n) {
    for (int k = 0; k < cells_per_subgrid; ++k) {
      const triple c{k % edge, k / edge % edge, k / 64}, p = s.grid.tree().key(n).place;
      const double x = s.grid.centre(p.x * 8 + c.x), y = s.grid.centre(p.y * 8 + c.y),
                   z = s.grid.centre(p.z * 8 + c.z);
      const double v[3] = {0.5, 0.25, -0.75};
      for (int a = 0; a < 3; ++a) s.data[s.index(n, field::sx + a, c)] = v[a];
      s.data[s.index(n, field::lx, c)] = y * v[2] - z * v[1];
      s.data[s.index(n, field::ly, c)] = z * v[0] - x * v[2];
      s.data[s.index(n, field::lz, c)] = x * v[1] - y * v[0];
      s.data[s.index(n, field::egas, c)] += 0.5 * (0.25 + 0.0625 + 0.5625);
    }
  }
  const snapshot after = run_steps(s, scheme_for(s), 3);
  for (std::size_t k = 0; k < s.data.size(); ++k) ASSERT_NEAR(after.data[k], s.data[k], 4e-15);
}

TEST(driver, conserves_everything_in_a_periodic_box) {
  const snapshot s = turbulent(1, boundary_kind::periodic, 5);
  const snapshot after = run_steps(s, scheme_for(s), 5);
  EXPECT_FALSE(same_bits(s.data, after.data));
  for (const int f : {0, 1, 10, 11, 12, 13, 14}) {
    EXPECT_LT(relative_drift(s, after, f), 5e-15) << field_names[static_cast<std::size_t>(f)];
  }
  for (const int f : {4, 5, 6}) {
    const auto change = static_cast<double>(total(after, f) - total(s, f));
    EXPECT_NEAR(change, 0.0, 1e-14) << field_names[static_cast<std::size_t>(f)];
  }
}

TEST(driver, accounts_for_the_outflow) {
  const snapshot s = turbulent(1, boundary_kind::outflow, 6);
  const snapshot after = run_steps(s, scheme_for(s), 5);
  EXPECT_GT(std::fabs(after.outflow[field::rho]), 1e-3);
  for (int f = 0; f < field_count; ++f) {
    if (f == field::tau) continue;  // re-synchronized, hence not conserved
    const long double scale = total(s, field::rho);
    const long double change =
        total(after, f) + after.outflow[static_cast<std::size_t>(f)] - total(s, f);
    EXPECT_LT(std::fabs(static_cast<double>(change / scale)), 5e-15)
        << field_names[static_cast<std::size_t>(f)];
  }
}

TEST(driver, keeps_mass_and_energy_between_walls) {
  snapshot s = turbulent(1, boundary_kind::reflecting, 8);
  const snapshot after = run_steps(s, scheme_for(s), 5);
  EXPECT_NEAR(after.outflow[field::rho], 0.0, 1e-15);
  EXPECT_LT(relative_drift(s, after, field::rho), 5e-15);
  EXPECT_LT(relative_drift(s, after, field::egas), 5e-15);
}

TEST(driver, stops_exactly_at_the_stop_time) {
  const snapshot s = make_sod(0);
  serial_driver d(s, scheme_for(s));
  while (d.state().time < 0.25) d.advance(0.25);
  EXPECT_EQ(d.state().time, 0.25);
  EXPECT_GT(d.state().step, 1);
}

TEST(driver, can_be_restarted_from_a_snapshot_bitwise) {
  const snapshot s = turbulent(1, boundary_kind::outflow, 9);
  const scheme o = scheme_for(s);
  const snapshot whole = run_steps(s, o, 4), resumed = run_steps(run_steps(s, o, 2), o, 2);
  EXPECT_TRUE(same_bits(whole.data, resumed.data));
  EXPECT_EQ(whole.outflow, resumed.outflow);
  EXPECT_EQ(whole.step, resumed.step);
}

TEST(driver, names_the_cell_of_a_negative_density) {
  snapshot s = make_blast(1);
  s.data[s.index(5, field::rho, {1, 2, 3})] = -0.25;
  s.data[s.index(5, field::species, {1, 2, 3})] = -0.25;
  serial_driver d(s, scheme_for(s));
  try {
    d.advance();
    FAIL() << "no error";
  } catch (const unphysical_state& e) {
    EXPECT_EQ(e.step, 0);
    EXPECT_NE(std::string(e.what()).find("in cell ("), std::string::npos) << e.what();
  }
  const part_plan tables = tables_of(s);
  const find_fault clean{make_blast(1).data.data(), nullptr, tables.frames.data(),
                         s.grid.cell_count(), 8};
  EXPECT_EQ(find_fault::cell_of(s.grid.cell_count(), static_cast<double>(s.grid.cell_count())), 0);
  std::vector<double> faults(8 * 64);
  const find_fault search{s.data.data(), faults.data(), tables.frames.data(), s.grid.cell_count(),
                          8};
  double code = 0.0;
  for (int z = 0; z < clean.range().z; ++z) {
    for (int x = 0; x < search.range().x; ++x) {
      search(triple{x, 0, z});
      code = std::fmax(code, faults[static_cast<std::size_t>(z * 64 + x)]);
    }
  }
  EXPECT_EQ(find_fault::cell_of(s.grid.cell_count(), code), 5 * 512 + 1 + 8 * (2 + 8 * 3));
}

TEST(driver, floors_repair_states_that_would_be_errors) {
  snapshot s = make_blast(1);
  s.data[s.index(5, field::rho, {7, 7, 7})] = -1e-3;
  s.data[s.index(5, field::species, {7, 7, 7})] = -1e-3;
  std::vector<double>& data = s.data;
  floor_values floors{true, 1e-6, 1e-12};
  const apply_floors repair{data.data(), 8, s.gamma, floors};
  for (int z = 0; z < 8; ++z) {
    for (int x = 0; x < repair.range().x; ++x) repair(triple{x, 0, z});
  }
  EXPECT_EQ(s.data[s.index(5, field::rho, {7, 7, 7})], 1e-6);
  EXPECT_EQ(s.data[s.index(5, field::species, {7, 7, 7})], 1e-6);
  scheme o = scheme_for(s);
  o.floors = floors;
  EXPECT_NO_THROW(run_steps(s, o, 3));
}

TEST(driver, re_sets_the_tracer_only_in_hot_gas) {
  snapshot s = make_linear_wave(0, {.amplitude = 0.0});
  const triple hot{2, 2, 2}, chilled{5, 5, 5};
  s.data[s.index(0, field::tau, hot)] *= 0.5;
  s.data[s.index(0, field::egas, {6, 6, 6})] *= 1000.0;  // a neighbour of `chilled` only
  s.data[s.index(0, field::tau, chilled)] *= 0.5;
  const double before = s.data[s.index(0, field::tau, chilled)];
  std::vector<double> egas(ghosted.field);
  for (int k = 0; k < cells_per_subgrid; ++k) {
    const triple c{k % edge, k / edge % edge, k / 64};
    egas[static_cast<std::size_t>(ghosted_at(0, 0, c.x, c.y, c.z))] =
        s.data[s.index(0, field::egas, c)];
  }
  const synchronize_tau sync{s.data.data(), egas.data(), 1, s.gamma};
  for (int x = 0; x < sync.range().x; ++x) sync(triple{x, 0, 0});
  const double e = s.data[s.index(0, field::egas, hot)];
  EXPECT_NEAR(s.data[s.index(0, field::tau, hot)], std::pow(e, 1.0 / s.gamma), 1e-15);
  EXPECT_EQ(s.data[s.index(0, field::tau, chilled)], before);
}

TEST(driver, keeps_a_rotating_grid_consistent_with_a_resting_one) {
  const snapshot s = make_blast(1);
  scheme still = scheme_for(s), turning = still;
  turning.omega = 0.3;
  const snapshot a = run_steps(s, still, 3), b = run_steps(s, turning, 3);
  EXPECT_FALSE(same_bits(a.data, b.data));
  EXPECT_LT(relative_drift(s, b, field::rho), 5e-15);
  // Seen in the rotating frame only the grid of the blast differs: the densest cells agree.
  const auto densest = [](const snapshot& q) {
    double m = 0.0;
    for (int k = 0; k < 16; ++k) m = std::fmax(m, q.at(field::rho, {k, 8, 8}));
    return m;
  };
  EXPECT_NEAR(densest(b) / densest(a), 1.0, 0.02);
}

}  // namespace
}  // namespace stars::test
