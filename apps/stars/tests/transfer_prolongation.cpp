// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "hydro/gas.hpp"
#include "tests/transfer_support.hpp"

namespace stars::test {
namespace {

constexpr int exact_fields[] = {field::rho,         field::egas,        field::tau,
                                field::species,     field::species + 1, field::species + 2,
                                field::species + 3, field::species + 4};

/// Returns the ghosted state of all sub-grids, [count][15][14^3].
std::vector<double> ghosts_of_level(const two_levels& t) {
  std::vector<double> u(static_cast<std::size_t>(t.coarse.grid.subgrid_count()) * ghosted.block);
  run_loop(ghosts_of_all(t.coarse, t.tables, u.data()));
  return u;
}

/// The formula as it is written, child by child in extended precision, from ghosts of ghost_fill.
/// Independent of stencils, pairs and the sources of cells.
long double formula(const double* ghosts, triple c, triple sign, double theta) {
  const auto u = [&](triple d, int times) -> long double {
    return ghosts[ghosted_at(0, 0, c.x + times * d.x, c.y + times * d.y, c.z + times * d.z)];
  };
  const auto slope = [&](int x, int y, int z) -> long double {
    const triple d{x * sign.x, y * sign.y, z * sign.z};
    const long double f = u(d, 1) - u(d, 0), b = u(d, 0) - u(d, -1);
    if (f * b <= 0.0L) return 0.0L;
    const long double size =
        std::fmin(theta * std::fmin(std::fabs(f), std::fabs(b)), 0.5L * std::fabs(f + b));
    return f > 0 ? size : -size;
  };
  return u({}, 0) + (9 * (slope(1, 0, 0) + slope(0, 1, 0) + slope(0, 0, 1)) +
                     3 * (slope(1, 1, 0) + slope(1, 0, 1) + slope(0, 1, 1)) + slope(1, 1, 1)) /
                        64.0L;
}

/// Fails if a neighbour is taken from another place, beyond any kind of boundary too, if a child is
/// stored in another corner, or for another theta.
TEST(prolongation, is_the_formula_applied_to_the_ghosts_of_the_coarse_level) {
  for (const auto kind : boundaries) {
    two_levels t(turbulent(1, kind, 11));
    const std::vector<double> ghosts = ghosts_of_level(t);
    for (const double theta : {theta_of_ghosts, theta_of_refinement}) {
      t.prolong(theta);
      for (int f = field::egas; f < field_count; ++f) {
        if (f >= field::lx && f <= field::lz) continue;
        t.for_cells([&](const level_link& link, int k) {
          const double* in =
              &ghosts[static_cast<std::size_t>(link.coarse * ghosted.block + f * ghosted.field)];
          for (int c = 0; c < octant_count; ++c) {
            const triple p = place_of(c), sign{2 * p.x - 1, 2 * p.y - 1, 2 * p.z - 1};
            const long double expected = formula(in, coarse_cell(link.octant, k), sign, theta);
            ASSERT_NEAR(t.child(link, k, c, f), static_cast<double>(expected), 1e-14)
                << name_of(kind) << " field " << f << " child " << c;
          }
        });
      }
    }
  }
}

/// Fails if one of both forms leaves out a cell, reads beyond a block or adds in another order.
TEST(prolongation, gives_the_same_bits_in_vectors_and_cell_by_cell) {
  for (const auto kind : boundaries) {
    two_levels one(wild_state(kind, 12)), other(one);
    generator random(13);
    for (std::size_t n = 0; n < one.links.size(); ++n) {
      one.links[n].cells = other.links[n].cells =
          cells_where([&](int) { return random() < double(n % 5) / 4.0; });
    }
    one.prolong(theta_of_ghosts, false);
    other.prolong(theta_of_ghosts, true);
    EXPECT_TRUE(same_bits(one.state, other.state)) << name_of(kind);
  }
}

/// Fails if a mask is shifted or ignored.
TEST(prolongation, writes_the_children_of_needed_cells_only) {
  for (const bool vectors : {false, true}) {
    two_levels t(turbulent(1, boundary_kind::outflow, 14));
    for (std::size_t n = 0; n < t.links.size(); ++n) t.links[n].cells = some_cells(n);
    const std::vector<double> before = t.state;
    t.prolong(theta_of_ghosts, vectors);
    EXPECT_TRUE(std::equal(t.coarse.data.begin(), t.coarse.data.end(), t.state.begin()));
    t.for_cells([&](const level_link& link, int k) {
      for (int f = 0; f < field_count; ++f) {
        for (int c = 0; c < octant_count; ++c) {
          ASSERT_EQ(std::isnan(t.child(link, k, c, f)), !link.cells.contains(k)) << "cell " << k;
        }
      }
    });
  }
}

/// Cells that no stencil of a needed cell contains may not exist. Fails if whole rows are read, or
/// whole octants: an address check would then find the slot that does not exist.
TEST(prolongation, reads_the_stencils_of_needed_cells_only) {
  for (const bool vectors : {false, true}) {
    two_levels t(turbulent(1, boundary_kind::periodic, 15));
    for (ghost_source& s : t.tables.sources) s.slot = 1 << 28;
    for (level_link& link : t.links) {  // the cells of an octant within its sub-grid
      const triple o = place_of(link.octant);
      link.cells = cells_where([&](int k) {
        const triple p = place_in_octant(k);
        const auto inner = [](int at, int side) {
          return side == 0 ? at > 0 : at < octant_edge - 1;
        };
        return inner(p.x, o.x) && inner(p.y, o.y) && inner(p.z, o.z);
      });
    }
    t.prolong(theta_of_ghosts, vectors);
    t.for_cells([&](const level_link& link, int k) {
      ASSERT_EQ(std::isnan(t.child(link, k, 0, field::rho)), !link.cells.contains(k));
    });
  }
}

/// Fails without pairs that are rounded together, and without limits to the deviations of fields
/// that stay positive.
TEST(prolongation, keeps_the_means_of_random_data) {
  for (const auto kind : boundaries) {
    snapshot thin = steep_state(kind, 27);  // a density that is not the sum of its species
    for_each_cell(thin, [](auto u, const auto&) { u(field::rho) *= 0.5; });
    for (const snapshot& s :
         {turbulent(1, kind, 16), wild_state(kind, 17), steep_state(kind, 26), thin}) {
      two_levels t(s);
      t.prolong();
      t.for_cells([&](const level_link& link, int k) {
        for (int f = 0; f < field_count; ++f) {
          double u[octant_count], most = 0.0;
          for (int c = 0; c < octant_count; ++c) {
            u[c] = t.child(link, k, c, f);
            most = std::fmax(most, std::fabs(u[c]));
          }
          const double mean = mean_of_children(u), expected = t.parent(link, k, f);
          ASSERT_NEAR(mean, expected, 2.0 * ulp(most)) << name_of(kind) << " field " << f;
          if (std::find(std::begin(exact_fields), std::end(exact_fields), f) !=
              std::end(exact_fields)) {
            ASSERT_EQ(mean, expected) << "field " << f;
            ASSERT_GT(*std::min_element(u, u + octant_count), 0.0) << "field " << f;
          }
        }
      });
    }
  }
}

/// Fails if rho has slopes of its own: its limiter differs from those of the species.
TEST(prolongation, gives_the_density_of_the_species_in_each_child) {
  two_levels t(turbulent(1, boundary_kind::periodic, 18));
  t.prolong();
  t.for_cells([&](const level_link& link, int k) {
    for (int c = 0; c < octant_count; ++c) {
      double sum = 0.0;
      for (int f = field::species; f < field_count; ++f) sum += t.child(link, k, c, f);
      ASSERT_NEAR(t.child(link, k, c, field::rho), sum, 8.0 * ulp(sum));
    }
  });
}

/// Fails if stencils that reach beyond a wall have the mirrored pressure without the weight of the
/// gas between: cells at walls then have no gradient.
TEST(prolongation, continues_the_pressure_of_gas_in_equilibrium_beyond_walls) {
  const double weight = 0.5;
  snapshot s = turbulent(1, boundary_kind::reflecting, 28);
  for_each_cell(s, [&](auto u, const auto& r) {
    for (int f = 0; f < field_count; ++f) u(f) = f < field::species && f > 0 ? 0.0 : 1.0;
    u(field::tau) = 1.0;
    u(field::egas) = 50.0 - weight * r[2];
  });
  for (const bool vectors : {false, true}) {
    two_levels t(s);
    prolongation kernel = t.kernel(theta_of_ghosts, vectors);
    const auto worst = [&] {
      double most = 0.0;
      run_loop(kernel, vectors);
      t.for_cells([&](const level_link& link, int k) {
        for (int c = 0; c < octant_count; ++c) {
          const double expected = 50.0 - weight * t.position(link, k, c)[2];
          most = std::fmax(most, std::fabs(t.child(link, k, c, field::egas) - expected));
        }
      });
      return most;
    };
    EXPECT_NEAR(worst(), weight * s.grid.dx() / 4.0, 1e-12) << "no gradient at the walls";
    kernel.weight = weight;
    EXPECT_LT(worst(), 1e-4);  // the upper wall is right to second order
  }
}

/// Returns the mirror image of a cell of the level n cells wide.
triple mirrored(triple c, int axis, int n) {
  return {axis == 0 ? n - 1 - c.x : c.x, axis == 1 ? n - 1 - c.y : c.y,
          axis == 2 ? n - 1 - c.z : c.z};
}
/// Momentum is a vector and angular momentum an axial one.
double parity(int f, int axis) {
  if (f >= field::sx && f <= field::sz) return f - field::sx == axis ? -1.0 : 1.0;
  if (f >= field::lx && f <= field::lz) return f - field::lx == axis ? 1.0 : -1.0;
  return 1.0;
}

/// Fails if opposite children, the pairs of the even part or the terms of a cross product are added
/// in an order that a mirror exchanges.
TEST(prolongation, of_a_mirror_image_is_the_mirror_image) {
  for (const auto kind : boundaries) {
    const snapshot s = turbulent(1, kind, 24);
    two_levels t(s);
    t.prolong();
    snapshot fine = turbulent(2, kind, 25);
    std::copy(t.state.begin() + static_cast<std::ptrdiff_t>(s.data.size()), t.state.end(),
              fine.data.begin());
    for (int axis = 0; axis < 3; ++axis) {
      snapshot image = s;
      const int n = s.grid.cells_per_edge();
      const auto for_all = [](int cells, auto visit) {
        for (int k = 0; k < cells * cells * cells; ++k) {
          visit(triple{k % cells, k / cells % cells, k / (cells * cells)});
        }
      };
      for (int f = 0; f < field_count; ++f) {
        for_all(n, [&](triple g) {
          const triple m = mirrored(g, axis, n);
          const int id = number_of({m.x / edge, m.y / edge, m.z / edge});
          image.data[image.index(id, f, {m.x % edge, m.y % edge, m.z % edge})] =
              parity(f, axis) * s.at(f, g);
        });
      }
      two_levels other(image);
      other.prolong();
      snapshot fine_image = fine;
      std::copy(other.state.begin() + static_cast<std::ptrdiff_t>(s.data.size()), other.state.end(),
                fine_image.data.begin());
      for (int f = 0; f < field_count; ++f) {
        for_all(2 * n, [&](triple g) {
          ASSERT_EQ(fine_image.at(f, mirrored(g, axis, 2 * n)), parity(f, axis) * fine.at(f, g))
              << name_of(kind) << " axis " << axis << " field " << f;
        });
      }
    }
  }
}

/// The spin of a child: l - r x s, and its rounding.
std::array<double, 3> spin_of(const two_levels& t, const level_link& link, int k, int c,
                              double& size) {
  const auto r = t.position(link, k, c);
  std::array<double, 3> s{}, spin{};
  for (std::size_t a = 0; a < 3; ++a) s[a] = t.child(link, k, c, field::sx + static_cast<int>(a));
  const auto moment = cross(r, s);
  for (std::size_t a = 0; a < 3; ++a) {
    spin[a] = t.child(link, k, c, field::lx + static_cast<int>(a)) - moment[a];
    size = std::fmax(size, 2.0 * std::fabs(r[a]) * std::hypot(s[0], s[1], s[2]));
  }
  return spin;
}

/// Fails if angular momentum is prolonged like a density, or with positions of another level.
TEST(prolongation, gives_all_children_of_a_cell_the_same_spin) {
  two_levels t(turbulent(1, boundary_kind::outflow, 19));
  t.prolong();
  t.for_cells([&](const level_link& link, int k) {
    double size = 1.0;
    const auto first = spin_of(t, link, k, 0, size);
    for (int c = 1; c < octant_count; ++c) {
      const auto spin = spin_of(t, link, k, c, size);
      for (std::size_t a = 0; a < 3; ++a) ASSERT_NEAR(spin[a], first[a], 8.0 * ulp(size));
    }
  });
}

/// The angular momentum of a rigidly rotating cell of edge h is r x s + rho omega h²/6 about its
/// axis. Children get the quarter of this spin that their smaller edges make of it. Fails if the
/// spin of the coarse cell is copied: it is then four times as large.
TEST(prolongation, gives_rigid_rotation_the_spin_of_smaller_cells) {
  snapshot s = turbulent(1, boundary_kind::outflow, 23);
  const double omega = 0.75, h = s.grid.dx();
  for_each_cell(s, [&](auto u, const auto& r) {
    const std::array<double, 3> momentum = {-omega * r[1], omega * r[0], 0.0};
    const auto l = cross(r, momentum);
    for (std::size_t a = 0; a < 3; ++a) {
      u(field::sx + static_cast<int>(a)) = momentum[a];
      u(field::lx + static_cast<int>(a)) = l[a];
    }
    u(field::lz) += omega * h * h / 6.0;
  });
  two_levels t(s);
  t.prolong();
  t.for_cells([&](const level_link& link, int k) {
    if (t.at_boundary(link, k)) return;  // outflow has no gradient there
    double size = 0.0;
    const auto spin = spin_of(t, link, k, 3, size);
    ASSERT_NEAR(spin[2], omega * (h / 2) * (h / 2) / 6.0, 1e-15);
    ASSERT_NEAR(spin[0], 0.0, 1e-15);
    ASSERT_NEAR(spin[1], 0.0, 1e-15);
  });
}

/// Fails if the position is that of another level, or if the values beyond a periodic boundary are
/// shifted in other fields than the angular momentum.
TEST(prolongation, leaves_uniform_flow_uniform) {
  for (const auto kind : {boundary_kind::outflow, boundary_kind::periodic}) {
    snapshot s = turbulent(1, kind, 20);
    const std::array<double, 3> momentum = {0.3, -0.7, 0.1};
    for_each_cell(s, [&](auto u, const auto& r) {
      const auto l = cross(r, momentum);
      for (int f = 0; f < field_count; ++f) u(f) = f >= field::species ? 0.2 : 1.0;
      for (std::size_t a = 0; a < 3; ++a) {
        u(field::sx + static_cast<int>(a)) = momentum[a];
        u(field::lx + static_cast<int>(a)) = l[a];
      }
    });
    two_levels t(s);
    t.prolong();
    t.for_cells([&](const level_link& link, int k) {
      // Outflow changes the momentum that points inwards.
      if (kind == boundary_kind::outflow && t.at_boundary(link, k)) return;
      for (int child = 0; child < octant_count; ++child) {
        for (int f = 0; f < field_count; ++f) {
          if (f >= field::lx && f <= field::lz) continue;
          ASSERT_EQ(t.child(link, k, child, f), t.parent(link, k, f)) << f;
        }
        double size = 0.0;
        for (const double spin : spin_of(t, link, k, child, size)) ASSERT_NEAR(spin, 0.0, 1e-15);
      }
    });
  }
}

/// Where the momenta vary more than the internal energy allows, a child has less total than kinetic
/// energy. The dual-energy switch then takes the tracer, which is positive. The first count shows
/// that such children exist.
TEST(prolongation, leaves_a_positive_thermal_energy_where_the_kinetic_one_exceeds_the_total) {
  snapshot s = turbulent(1, boundary_kind::periodic, 21);
  for_each_cell(s, [&](auto u, const auto&) {
    const double e = 1e-3;
    u(field::egas) = e + kinetic_energy(u(field::rho), u(field::sx), u(field::sy), u(field::sz));
    u(field::tau) = std::pow(e, 1.0 / s.gamma);
  });
  two_levels t(s);
  t.prolong();
  int exceeded = 0;
  t.for_cells([&](const level_link& link, int k) {
    for (int c = 0; c < octant_count; ++c) {
      const auto u = [&](int f) { return t.child(link, k, c, f); };
      const double internal =
          u(field::egas) - kinetic_energy(u(field::rho), u(field::sx), u(field::sy), u(field::sz));
      if (internal <= 0.0) ++exceeded;
      ASSERT_GT(u(field::egas), 0.0);
      ASSERT_GT(thermal_energy(internal, u(field::egas), u(field::tau), s.gamma), 0.0);
    }
  });
  EXPECT_GT(exceeded, 100);
}

/// Fails if a limiter takes NaN for zero, or if a wrong field or cell is read.
TEST(prolongation, passes_nan_to_the_children_whose_stencil_has_it_and_to_no_other) {
  const triple bad{3, 7, 0};
  for (const int f : {int{field::egas}, int{field::sy}, field::species + 2}) {
    snapshot s = turbulent(1, boundary_kind::reflecting, 22);
    s.data[s.index(0, f, bad)] = std::nan("");
    two_levels t(s);
    t.prolong();
    int found = 0;
    t.for_cells([&](const level_link& link, int k) {
      const triple p = place_of(link.coarse), c = coarse_cell(link.octant, k);
      const int x = p.x * edge + c.x - bad.x, y = p.y * edge + c.y - bad.y, z = p.z * edge + c.z;
      const bool near = std::abs(x) <= 1 && std::abs(y) <= 1 && z <= 1;
      for (int child = 0; child < octant_count; ++child) {
        for (int g = 0; g < field_count; ++g) {
          const bool nan = std::isnan(t.child(link, k, child, g));
          if (nan) ++found;
          const bool depends = g == f || (f >= field::species && g == field::rho) ||
                               (f == field::sy && (g == field::lx || g == field::lz));
          ASSERT_TRUE(!nan || (near && depends)) << "field " << g;
          if (x == 0 && y == 0 && z == 0 && g == f) {
            ASSERT_TRUE(nan);
          }
        }
      }
    });
    EXPECT_GE(found, 3 * 3 * 2 * 4);
  }
}

}  // namespace
}  // namespace stars::test
