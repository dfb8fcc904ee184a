// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernel/loop.hpp"
#include "mesh/partition.hpp"
#include "problems/problems.hpp"
#include "tests/physics_support.hpp"
#include "transfer/ghosts.hpp"
#include "transfer/halo.hpp"

namespace stars::test {
namespace {

struct cut {
  int level;
  boundary_kind boundary;
  int parts;
};
std::ostream& operator<<(std::ostream& out, const cut& c) {
  return out << "level_" << c.level << "_" << name_of(c.boundary) << "_" << c.parts << "_parts";
}

class partitions : public testing::TestWithParam<cut> {
 protected:
  const cut c = GetParam();
  const mesh grid{c.level};

  [[nodiscard]] std::vector<partition> all() const {
    std::vector<partition> parts;
    for (int p = 0; p < c.parts; ++p) parts.emplace_back(grid, c.boundary, c.parts, p);
    return parts;
  }
};

TEST_P(partitions, have_every_subgrid_once) {
  int next = 0;
  for (const partition& p : all()) {
    EXPECT_EQ(p.first(), next);
    EXPECT_GT(p.count(), 0);
    next += p.count();
  }
  EXPECT_EQ(next, grid.subgrid_count());
}

TEST_P(partitions, have_a_slot_for_each_subgrid_that_they_read) {
  for (const partition& p : all())
    for (int n = p.first(); n < p.first() + p.count(); ++n)
      for (int d = 0; d < direction_count; ++d) {
        const int read = grid.source(n, d, c.boundary).slot;
        const int slot = p.slot_of(read);
        ASSERT_GE(slot, 0);
        ASSERT_LT(slot, p.slot_count());
        ASSERT_EQ(p.subgrid_in(slot), read);
      }
}

TEST_P(partitions, send_the_boxes_that_their_neighbours_expect) {
  const auto parts = all();
  for (const partition& p : parts)
    for (const halo& h : p.halos()) {
      const partition& q = parts[std::size_t(h.other)];
      const auto back = std::find_if(q.halos().begin(), q.halos().end(),
                                     [&](const halo& o) { return o.other == p.number(); });
      ASSERT_NE(back, q.halos().end());
      ASSERT_EQ(h.outgoing_cells, back->incoming_cells);
      ASSERT_EQ(h.outgoing.size(), back->incoming.size());
      for (std::size_t k = 0; k < h.outgoing.size(); ++k) {
        const halo_box &sent = h.outgoing[k], &expected = back->incoming[k];
        EXPECT_EQ(p.subgrid_in(sent.slot), q.subgrid_in(expected.slot));
        EXPECT_EQ(sent.begin, expected.begin);
        EXPECT_EQ(sent.lower, expected.lower);
        EXPECT_EQ(sent.size, expected.size);
      }
    }
}

/// Returns a state of the whole domain with a different number in each place.
std::vector<double> numbered(const mesh& grid) {
  std::vector<double> state(snapshot::size_of(grid));
  for (std::size_t k = 0; k < state.size(); ++k) state[k] = 1.0 + double(k);
  return state;
}

void exchange(const std::vector<partition>& parts, std::vector<std::vector<double>>& states,
              halo_fields which) {
  for (const partition& p : parts)
    for (const halo& h : p.halos()) {
      std::vector<double> message(std::size_t(h.outgoing_cells * field_count_of(which)), -2.0);
      run_loop(pack_halo{states[std::size_t(p.number())].data(), message.data(), h.outgoing.data(),
                         int(h.outgoing.size()), which});
      EXPECT_EQ(std::count(message.begin(), message.end(), -2.0), 0) << "a gap in the message";
      for (const halo& back : parts[std::size_t(h.other)].halos())
        if (back.other == p.number())
          run_loop(unpack_halo{states[std::size_t(h.other)].data(), message.data(),
                               back.incoming.data(), int(back.incoming.size()), which});
    }
}

/// Returns the state of each part: its own sub-grids from `whole`, and -1 in all other slots.
std::vector<std::vector<double>> own_of(const std::vector<double>& whole,
                                        const std::vector<partition>& parts) {
  std::vector<std::vector<double>> states;
  for (const partition& p : parts) {
    auto& own = states.emplace_back(std::size_t(p.slot_count()) * compact.block, -1.0);
    std::copy_n(whole.begin() + index_type{p.first()} * compact.block,
                index_type{p.count()} * compact.block, own.begin());
  }
  return states;
}

TEST_P(partitions, fill_ghosts_from_received_boxes) {
  const std::vector<double> whole = numbered(grid);
  const auto parts = all();
  auto states = own_of(whole, parts);
  exchange(parts, states, halo_fields::all_but_tracer);
  exchange(parts, states, halo_fields::tracer);
  std::vector<double> expected(ghosted.block), got(ghosted.block);
  const subgrid_tables of_all(grid, c.boundary, partition(grid));
  for (const partition& p : parts) {
    const subgrid_tables of_part(grid, c.boundary, p);
    const std::vector<double>& own = states[std::size_t(p.number())];
    for (int n = 0; n < p.count(); ++n)
      for (const int width : {1, int(host_vector::size())}) {
        run_loop(ghosts_of(whole.data(), of_all.view(), p.first() + n, width, expected.data()));
        run_loop(ghosts_of(own.data(), of_part.view(), n, width, got.data()));
        ASSERT_EQ(got, expected) << "sub-grid " << p.first() + n;
      }
  }
}

TEST_P(partitions, leave_the_tracer_unchanged_on_request) {
  const auto parts = all();
  auto states = own_of(numbered(grid), parts);
  exchange(parts, states, halo_fields::all_but_tracer);
  for (const partition& p : parts)
    for (int slot = p.count(); slot < p.slot_count(); ++slot)
      for (int cell = 0; cell < cells_per_subgrid; ++cell)
        ASSERT_EQ(
            states[std::size_t(p.number())][std::size_t(compact_at(slot, field::tau, cell, 0, 0))],
            -1.0);
}

INSTANTIATE_TEST_SUITE_P(
    of, partitions,
    testing::Values(cut{1, boundary_kind::outflow, 1}, cut{1, boundary_kind::outflow, 2},
                    cut{1, boundary_kind::periodic, 3}, cut{1, boundary_kind::reflecting, 8},
                    cut{2, boundary_kind::reflecting, 2}, cut{2, boundary_kind::outflow, 5},
                    cut{2, boundary_kind::periodic, 8}));

TEST(partition, of_cubes_sends_three_layers_of_cells) {
  const partition half(mesh{3}, boundary_kind::outflow, 2, 0);
  ASSERT_EQ(half.halos().size(), 1u);
  EXPECT_EQ(half.halos()[0].outgoing_cells, 64 * 64 * 3);
}

}  // namespace
}  // namespace stars::test
