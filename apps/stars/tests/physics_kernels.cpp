// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "hydro/stage.hpp"
#include "hydro/time_step.hpp"
#include "kernel/loop.hpp"
#include "tests/physics_support.hpp"

namespace stars::test {
namespace {

template <class Kernel>
void run(const Kernel& k) {
  const extent r = k.range();
  for (int z = 0; z < r.z; ++z) {
    for (int y = 0; y < r.y; ++y) {
      for (int x = 0; x < r.x; ++x) k(triple{x, y, z});
    }
  }
}

/// The arrays of one sub-grid, initially a gas at rest with density, energy and tracer 1.
struct bench {
  std::vector<double> w = std::vector<double>(ghosted.block, 0.0);
  std::vector<double> jump = std::vector<double>(jump_block, 1e30);  // no steepening
  std::vector<double> pressure = std::vector<double>(pressure_block, 1.0);
  std::vector<double> points = std::vector<double>(point_block, std::nan(""));
  std::vector<double> fluxes = std::vector<double>(flux_block, std::nan(""));
  std::vector<double> speeds = std::vector<double>(speed_block, std::nan(""));
  subgrid_frame frame = mesh{0, 1.0}.frame_of(0, boundary_kind::outflow);
  scheme options;

  bench() {
    for (const int f : {field::rho, field::egas, field::tau, field::species}) fill(f, 1.0);
  }
  void fill(int f, double v) { std::fill_n(w.begin() + f * ghosted.field, ghosted.field, v); }
  template <class F>
  void set(int f, F value) {
    for (int z = -3; z < 11; ++z) {
      for (int y = -3; y < 11; ++y) {
        for (int x = -3; x < 11; ++x) {
          w[static_cast<std::size_t>(ghosted_at(0, f, x, y, z))] = value(x, y, z);
        }
      }
    }
  }
  stage_kernels kernels() {
    return make_stage({w.data(), w.data(), pressure.data(), jump.data(), points.data(),
                       fluxes.data(), speeds.data()},
                      &frame, 1, options, 1);
  }
  /// Returns the stored value for direction v in an interior cell.
  double point_at(int k, triple v, triple c) const {
    const int nx = edge + (v.x != 0), ny = edge + (v.y != 0);
    const int at = (c.x + (v.x > 0)) + nx * ((c.y + (v.y > 0)) + ny * (c.z + (v.z > 0)));
    return points[static_cast<std::size_t>(direction_index(v) * direction_stride + k * box_size +
                                           at)];
  }
};

template <class F>
void for_cells(F f) {
  for (int k = 0; k < cells_per_subgrid; ++k) f(triple{k % edge, k / edge % edge, k / 64});
}

TEST(reconstruction, reproduces_a_parabola_in_every_direction) {
  for (int d = 0; d < direction_count; ++d) {
    const triple v = direction_vector(d);
    const double slope = v.x + 3.0 * v.y + 9.0 * v.z;
    const auto position = [](int x, int y, int z) { return 100.0 + x + 3.0 * y + 9.0 * z; };
    bench b;
    b.set(field::rho, [&](int x, int y, int z) {  // means over cells along this line
      const double s = position(x, y, z);
      return s * s + slope * slope / 12.0;
    });
    run(b.kernels().points);
    for_cells([&](triple c) {
      const double s = position(c.x, c.y, c.z) + 0.5 * slope;
      ASSERT_NEAR(b.point_at(point::rho, v, c) / (s * s), 1.0, 1e-14) << "direction " << d;
    });
  }
}

TEST(reconstruction, is_exact_for_linear_velocity_pressure_and_spin) {
  bench b;
  const auto f = [](double x, double y, double z) { return 3.0 + 0.1 * x - 0.2 * y + 0.3 * z; };
  for (const int k : {field::sx, field::sy, field::sz, field::lx, field::ly, field::lz}) {
    b.set(k, [&](int x, int y, int z) { return f(x, y, z); });
  }
  run(b.kernels().points);
  for (int d = 0; d < direction_count; ++d) {
    const triple v = direction_vector(d);
    for_cells([&](triple c) {
      const double q = f(c.x + 0.5 * v.x, c.y + 0.5 * v.y, c.z + 0.5 * v.z);
      const double y = -1.0 + (2 * c.y + 1 + v.y) / 8.0, z = -1.0 + (2 * c.z + 1 + v.z) / 8.0;
      ASSERT_NEAR(b.point_at(point::vy, v, c), q, 1e-14);
      ASSERT_NEAR(b.point_at(point::lx, v, c), q + (y * q - z * q), 1e-13);
      ASSERT_NEAR(b.point_at(point::egas, v, c), 1.0 + 1.5 * q * q, 1e-12);
    });
  }
}

TEST(reconstruction, flattens_extrema_and_never_leaves_the_neighbours_range) {
  bench b;
  generator random(3);
  b.set(field::sx, [&](int, int, int) { return random(); });
  run(b.kernels().points);
  const auto u = [&](int x, int y, int z) {
    return b.w[static_cast<std::size_t>(ghosted_at(0, field::sx, x, y, z))];
  };
  int extrema = 0;
  for (int d = 0; d < direction_count; ++d) {
    const triple v = direction_vector(d);
    for_cells([&](triple c) {
      const double m = u(c.x, c.y, c.z), p = u(c.x + v.x, c.y + v.y, c.z + v.z),
                   o = u(c.x - v.x, c.y - v.y, c.z - v.z), q = b.point_at(point::vx, v, c);
      if ((p - m) * (m - o) <= 0.0) {
        ++extrema;
        ASSERT_EQ(q, m);
      } else {
        ASSERT_GE(q, std::fmin(m, p));
        ASSERT_LE(q, std::fmax(m, p));
      }
    });
  }
  EXPECT_GT(extrema, 1000);
}

/// A smeared contact: the density is steepened only if the pressure does not jump as well.
TEST(reconstruction, steepens_a_contact_and_not_a_shock) {
  const auto contact = [](int x, int, int) {
    const double smeared[] = {1.0, 1.0, 1.02, 1.25, 1.75, 1.98, 2.0, 2.0};
    return x < 0 ? 1.0 : x > 7 ? 2.0 : smeared[x];
  };
  bench smooth, sharp;
  smooth.set(field::rho, contact);
  sharp.set(field::rho, contact);
  std::fill(sharp.jump.begin(), sharp.jump.end(), 0.0);
  run(smooth.kernels().points);
  run(sharp.kernels().points);
  const triple right{1, 0, 0}, left{-1, 0, 0};
  // In cell 3 the line climbs through the contact: steepening moves both ends outwards.
  const auto end = [](const bench& b, triple v) { return b.point_at(point::rho, v, {3, 4, 4}); };
  EXPECT_GT(end(sharp, right), end(smooth, right) + 0.01);
  EXPECT_LT(end(sharp, left), end(smooth, left) - 0.01);
  // Far from the contact nothing changes.
  EXPECT_EQ(sharp.point_at(point::rho, right, {7, 4, 4}),
            smooth.point_at(point::rho, right, {7, 4, 4}));
}

TEST(reconstruction, keeps_the_sum_of_species_equal_to_the_density) {
  bench b;
  generator random(5);
  b.set(field::rho, [&](int, int, int) { return 1.0 + random(); });
  for (int s = 0; s < species_count; ++s) {
    b.set(field::species + s, [&](int, int, int) { return 0.1 + random(); });
  }
  run(b.kernels().points);
  for (int d = 0; d < direction_count; ++d) {
    for_cells([&](triple c) {
      double sum = 0.0;
      for (int s = 0; s < species_count; ++s) {
        sum += b.point_at(point::species + s, direction_vector(d), c);
      }
      ASSERT_NEAR(sum / b.point_at(point::rho, direction_vector(d), c), 1.0, 1e-15);
    });
  }
}

TEST(discontinuity, measures_the_relative_pressure_jump_in_units_of_a_tenth_gamma) {
  bench b;
  for (int z = 0; z < 14; ++z) {
    for (int y = 0; y < 14; ++y) {
      for (int x = 0; x < 14; ++x) {
        b.pressure[static_cast<std::size_t>(x + 14 * y + 196 * z)] = 1.0 + x + 2.0 * y + 5.0 * z;
      }
    }
  }
  run(b.kernels().jump);
  for (int pair = 0; pair < pair_count; ++pair) {
    const triple v = direction_vector(pair);
    const double step = v.x + 2.0 * v.y + 5.0 * v.z, here = 1.0 + 3 + 2.0 * 4 + 5.0 * 5 + 8 * 3;
    const double least = here - std::fabs(step);
    const double d = b.jump[static_cast<std::size_t>(pair * ring_cells + 4 + 10 * 5 + 100 * 6)];
    EXPECT_NEAR(d, std::fabs(2.0 * step) / least / 0.14, 1e-13);
  }
}

TEST(discontinuity, takes_the_pressure_of_cold_gas_from_the_entropy_tracer) {
  bench b;
  b.fill(field::sx, 100.0);  // kinetic energy 5000
  b.fill(field::egas, 5001.0);
  b.fill(field::tau, 2.0);
  run(b.kernels().pressure);
  EXPECT_NEAR(b.pressure[3 * (1 + 14 + 196)], 0.4 * std::pow(2.0, 1.4), 1e-14);
  b.fill(field::egas, 5100.0);
  run(b.kernels().pressure);
  EXPECT_NEAR(b.pressure[3 * (1 + 14 + 196)], 0.4 * 100.0, 1e-10);
}

/// Equal states on both sides: the numerical flux equals the physical flux, at every face.
TEST(flux, of_equal_states_is_the_physical_flux) {
  bench b;
  const double rho = 1.3, p = 0.7, v[3] = {0.4, -0.3, 0.9}, e = 2.9, tau = 1.7, pot = -0.2;
  const double l[3] = {0.1, -0.5, 0.3};
  std::vector<double> state = {rho,
                               e,
                               tau,
                               pot,
                               v[0],
                               v[1],
                               v[2],
                               l[0],
                               l[1],
                               l[2],
                               0.1,
                               0.2,
                               0.3,
                               0.3,
                               0.4,
                               p,
                               std::sqrt(1.4 * p / rho)};
  for (int d = 0; d < direction_count; ++d) {
    for (int k = 0; k < point::count; ++k) {
      std::fill_n(b.points.begin() + d * direction_stride + k * box_size, box_size, state[k]);
    }
  }
  run(b.kernels().fluxes);
  for (int axis = 0; axis < 3; ++axis) {
    const auto at = [&](int k, int flat) {
      return b.fluxes[static_cast<std::size_t>((axis * field_count + k) * face_count + flat)];
    };
    const int row = axis == 0 ? 9 : 8, rows = axis == 1 ? 9 : 8;
    for (int flat = 0; flat < face_count; ++flat) {
      const int i[3] = {flat % row, flat / row % rows, flat / (row * rows)};
      double r[3];
      for (int a = 0; a < 3; ++a) r[a] = -1.0 + (a == axis ? 2 * i[a] : 2 * i[a] + 1) / 8.0;
      ASSERT_NEAR(at(field::rho, flat), rho * v[axis], 1e-15);
      ASSERT_NEAR(at(field::egas, flat), (e + p) * v[axis], 1e-14);
      ASSERT_NEAR(at(field::tau, flat), tau * v[axis], 1e-14);
      ASSERT_NEAR(at(field::pot, flat), pot * v[axis], 1e-14);
      for (int a = 0; a < 3; ++a) {
        ASSERT_NEAR(at(field::sx + a, flat), rho * v[a] * v[axis] + (a == axis ? p : 0.0), 1e-14);
        const int n = (a + 1) % 3, m = (a + 2) % 3;  // (r x p e_axis)_a
        const double torque = axis == m ? r[n] * p : axis == n ? -r[m] * p : 0.0;
        ASSERT_NEAR(at(field::lx + a, flat), l[a] * v[axis] + torque, 1e-14) << a << axis;
      }
      ASSERT_NEAR(at(field::species + 4, flat), 0.4 * v[axis], 1e-15);
      const double fastest = std::fabs(v[axis]) + state[point::sound];
      ASSERT_NEAR(b.speeds[static_cast<std::size_t>(axis * face_count + flat)], fastest, 1e-15);
    }
  }
}

TEST(flux, is_upwind_in_supersonic_flow_and_central_for_dust_at_rest) {
  bench b;
  const auto put = [&](int d, double rho, double v, double c) {
    double* p = &b.points[static_cast<std::size_t>(d * direction_stride)];
    for (int k = 0; k < point::count; ++k) std::fill_n(p + k * box_size, box_size, 0.0);
    std::fill_n(p + point::rho * box_size, box_size, rho);
    std::fill_n(p + point::vx * box_size, box_size, v);
    std::fill_n(p + point::sound * box_size, box_size, c);
  };
  const auto fill = [&](double v, double c) {
    for (int d = 0; d < direction_count; ++d) put(d, direction_vector(d).x > 0 ? 2.0 : 1.0, v, c);
    run(b.kernels().fluxes);
  };
  fill(3.0, 1.0);
  EXPECT_NEAR(b.fluxes[100], 6.0, 1e-14);  // the left state, density 2
  fill(-3.0, 1.0);
  EXPECT_NEAR(b.fluxes[100], -3.0, 1e-14);
  fill(0.0, 0.0);
  EXPECT_EQ(b.fluxes[100], 0.0);
  EXPECT_EQ(b.speeds[100], 0.0);
}

TEST(pre_reconstruction, separates_orbital_angular_momentum_and_kinetic_energy) {
  bench b;
  b.options.omega = 0.5;
  const double rho = 2.0, s[3] = {0.6, -0.8, 1.0};
  b.fill(field::rho, rho);
  b.fill(field::species, rho);
  b.fill(field::egas, 3.0);
  for (int a = 0; a < 3; ++a) b.fill(field::sx + a, s[a]);
  b.set(field::lz, [&](int x, int y, int) {  // spin 0.25 per mass
    const double rx = -1.0 + (2 * x + 1) / 8.0, ry = -1.0 + (2 * y + 1) / 8.0;
    return 0.25 * rho + rx * s[1] - ry * s[0];
  });
  run(b.kernels().prepare);
  for (int z = -3; z < 11; ++z) {
    for (int y = -3; y < 11; ++y) {
      for (int x = -3; x < 11; ++x) {
        const auto get = [&](int f) {
          return b.w[static_cast<std::size_t>(ghosted_at(0, f, x, y, z))];
        };
        const double rx = -1.0 + (2 * x + 1) / 8.0, ry = -1.0 + (2 * y + 1) / 8.0;
        ASSERT_NEAR(get(field::lz), 0.25, 1e-15) << x << ' ' << y << ' ' << z;
        ASSERT_NEAR(get(field::egas), 3.0 - 0.5 * (0.36 + 0.64 + 1.0) / rho, 1e-15);
        ASSERT_NEAR(get(field::sx), 0.3 + 0.5 * ry, 1e-15);
        ASSERT_NEAR(get(field::sy), -0.4 - 0.5 * rx, 1e-15);
        ASSERT_EQ(get(field::species), 1.0);
      }
    }
  }
}

TEST(reduce_max, keeps_a_nan_wherever_it_stands) {
  for (const int width : {1, 2, 16}) {           // 16: in vectors,
    for (const std::size_t size : {32u, 33u}) {  // of which the last round may not be whole
      for (std::size_t place = 0; place < size; ++place) {
        std::vector<double> in(size, 1.0), out(16), last(1);
        const auto most = [&] {
          const int n = static_cast<int>(size);
          run_loop(reduce_max{in.data(), out.data(), n, width});
          run_loop(reduce_max{out.data(), last.data(), width, 1});
          return last[0];
        };
        in[place] = 7.0;
        EXPECT_EQ(most(), 7.0);
        in[place] = std::nan("");
        EXPECT_TRUE(std::isnan(most())) << "at " << place << " of " << size << ", width " << width;
      }
    }
  }
}

TEST(time_step, is_nan_where_a_speed_is_nan) {
  const double speeds[] = {5.0, std::nan(""), 1.0};
  double clock[clock_entry::count] = {0.0, 0.0, 1.0};
  run_loop(time_step{speeds, clock, 3, 0.4, 0.1});
  EXPECT_TRUE(std::isnan(clock[clock_entry::fastest]));
  EXPECT_TRUE(std::isnan(clock[clock_entry::dt]));
}

}  // namespace
}  // namespace stars::test
