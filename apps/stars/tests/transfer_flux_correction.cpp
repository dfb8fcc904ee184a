// SPDX-License-Identifier: Apache-2.0
#include "transfer/flux_correction.hpp"

#include <gtest/gtest.h>

#include "tests/transfer_support.hpp"

namespace stars::test {
namespace {

/// Returns the offset of a flux of a sub-grid's axis: `at` counts faces along the axis, u and v
/// cells along the other two.
std::size_t place_of_flux(int slot, int axis, int f, int at, int u, int v) {
  const int edges[3] = {axis == 0 ? 9 : 8, axis == 1 ? 9 : 8, 8};
  const int x = axis == 0 ? at : u, y = axis == 1 ? at : axis == 0 ? u : v, z = axis == 2 ? at : v;
  return static_cast<std::size_t>(slot * flux_block + (axis * field_count + f) * face_count + x +
                                  edges[0] * (y + edges[1] * z));
}

/// One coarse sub-grid of level 1 in slot 0, with the fine ones on one of its sides in slots 1 … 4.
struct seam {
  face_link link;
  std::vector<subgrid_frame> frames;
  std::vector<double> fluxes = std::vector<double>(5 * flux_block);

  /// The face is at x = 0, or, with `beyond`, at the boundary of the periodic domain.
  seam(int axis, int side, bool beyond) : link{0, axis, side, {1, 2, 3, 4}} {
    const mesh coarse{1}, fine{2};
    const int at = beyond ? side : 1 - side;  // place of the coarse sub-grid along the axis
    const int fine_at = (2 * at + (side == 1 ? 2 : -1) + 4) % 4;
    frames.push_back(coarse.frame_of(number_of(placed(at, 0, 0)), boundary_kind::periodic));
    for (int q = 0; q < 4; ++q) {
      frames.push_back(
          fine.frame_of(number_of(placed(fine_at, q % 2, q / 2)), boundary_kind::periodic));
    }
    generator random(41);
    for (double& f : fluxes) f = random() - 0.5;
  }
  triple placed(int along, int u, int v) const {
    return link.axis == 0   ? triple{along, u, v}
           : link.axis == 1 ? triple{u, along, v}
                            : triple{u, v, along};
  }
  /// Returns the coordinate of a sub-grid's lower or upper face.
  [[nodiscard]] double plane(int slot, int at) const {
    const subgrid_frame& in = frames[static_cast<std::size_t>(slot)];
    return (2.0 * edge * at + in.lower[link.axis]) * in.half_dx;
  }
  void correct() {
    std::vector<fine_face> fine;
    for (int q = 0; q < 4; ++q) {
      const int slot = link.fine[q];
      fine.push_back({slot, link.axis, 1 - link.side, q,
                      plane(link.coarse, link.side) - plane(slot, 1 - link.side)});
    }
    const coarse_face coarse{link.coarse, link.axis, link.side, {0, 1, 2, 3}};
    std::vector<double> means(4 * face_row);
    run_loop(mean_fluxes{fluxes.data(), means.data(), fine.data(), 0, 4});
    run_loop(correct_fluxes{fluxes.data(), means.data(), &coarse, 0, 1});
  }
};

/// Fails if fluxes are taken from the other side of a fine sub-grid, from another quadrant or axis,
/// or if another flux is written.
TEST(flux_correction, gives_the_mean_of_the_fine_fluxes_and_changes_no_other_flux) {
  for (int n = 0; n < 6; ++n) {
    const int axis = n / 2, side = n % 2;
    seam s(axis, side, false);
    std::vector<double> expected = s.fluxes;
    for (int f = 0; f < field_count; ++f) {
      for (int v = 0; v < edge; ++v) {
        for (int u = 0; u < edge; ++u) {
          const auto fine = [&](int a, int b) {
            const int gu = 2 * u + a, gv = 2 * v + b;  // among the 16 x 16 faces of the seam
            return s.fluxes[place_of_flux(s.link.fine[gu / 8 + 2 * (gv / 8)], axis, f,
                                          side == 1 ? 0 : 8, gu % 8, gv % 8)];
          };
          expected[place_of_flux(0, axis, f, side == 1 ? 8 : 0, u, v)] =
              ((fine(0, 0) + fine(1, 1)) + (fine(1, 0) + fine(0, 1))) / 4.0;
        }
      }
    }
    s.correct();
    EXPECT_TRUE(same_bits(s.fluxes, expected)) << "axis " << axis << " side " << side;
  }
}

/// The flux of a gas without spin is r x F of the momentum. Fails without the shift, or with a
/// wrong sign or component of it.
TEST(flux_correction, shifts_angular_momentum_across_a_periodic_boundary) {
  for (int n = 0; n < 12; ++n) {
    const int axis = n / 4, side = n / 2 % 2;
    seam s(axis, side, n % 2 == 1);
    const std::array<double, 3> momentum = {0.25, -0.5, 0.75};
    const auto point = [&](int slot, int at, int u, int v) {
      const subgrid_frame& in = s.frames[static_cast<std::size_t>(slot)];
      const triple half = s.placed(2 * at, 2 * u + 1, 2 * v + 1);
      std::array<double, 3> r{};
      for (int a = 0; a < 3; ++a) {
        r[static_cast<std::size_t>(a)] = (half[a] + in.lower[a]) * in.half_dx;
      }
      return r;
    };
    const auto moment = [&](int slot, int at, int u, int v) {
      return cross(point(slot, at, u, v), momentum);
    };
    for (int slot = 1; slot < 5; ++slot) {
      for (int k = 0; k < 2 * 64; ++k) {
        const int at = k / 64 * edge, u = k % 8, v = k / 8 % 8;
        const auto l = moment(slot, at, u, v);
        for (std::size_t a = 0; a < 3; ++a) {
          const int f = static_cast<int>(a);
          s.fluxes[place_of_flux(slot, axis, field::sx + f, at, u, v)] = momentum[a];
          s.fluxes[place_of_flux(slot, axis, field::lx + f, at, u, v)] = l[a];
        }
      }
    }
    s.correct();
    for (int k = 0; k < 64; ++k) {
      const auto l = moment(0, side * edge, k % 8, k / 8);
      for (std::size_t a = 0; a < 3; ++a) {
        const double flux = s.fluxes[place_of_flux(0, axis, field::lx + static_cast<int>(a),
                                                   side * edge, k % 8, k / 8)];
        ASSERT_NEAR(flux, l[a], 1e-15) << "axis " << axis << " side " << side << ' ' << n % 2;
      }
    }
  }
}

/// Fails if fluxes are added in the order of their numbers.
TEST(flux_correction, of_a_mirror_image_is_the_mirror_image) {
  seam s(2, 1, false), image = s;
  for (int slot = 1; slot < 5; ++slot) {
    for (int f = 0; f < field_count; ++f) {
      for (int k = 0; k < 64; ++k) {
        const int mirrored = 1 + ((slot - 1) ^ 1);
        image.fluxes[place_of_flux(mirrored, 2, f, 0, 7 - k % 8, k / 8)] =
            s.fluxes[place_of_flux(slot, 2, f, 0, k % 8, k / 8)];
      }
    }
  }
  s.correct();
  image.correct();
  for (int f = 0; f < field_count; ++f) {
    for (int k = 0; k < 64; ++k) {
      ASSERT_EQ(image.fluxes[place_of_flux(0, 2, f, 8, 7 - k % 8, k / 8)],
                s.fluxes[place_of_flux(0, 2, f, 8, k % 8, k / 8)]);
    }
  }
}

}  // namespace
}  // namespace stars::test
