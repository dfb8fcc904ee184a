// SPDX-License-Identifier: Apache-2.0
// Parts of uniform and of refined domains: what they exchange is what the whole domain has.
#include "mesh/part_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "kernel/loop.hpp"
#include "mesh/part_order.hpp"
#include "tests/mesh_support.hpp"
#include "transfer/flux_correction.hpp"
#include "transfer/ghosts.hpp"
#include "transfer/halo.hpp"
#include "transfer/prolongation.hpp"
#include "transfer/restriction.hpp"

namespace stars::test {
namespace {

struct cut {
  int level;  ///< of a uniform tree; -1: a random one
  boundary_kind boundary;
  int parts;
};
std::ostream& operator<<(std::ostream& out, const cut& c) {
  return out << "level_" << c.level << "_" << name_of(c.boundary) << "_" << c.parts << "_parts";
}

class parts : public testing::TestWithParam<cut> {
 protected:
  const cut c = GetParam();
  const octree tree = c.level < 0 ? random_tree(std::uint64_t(40 + c.parts), c.boundary, 4)
                                  : octree::uniform(c.level, c.boundary);
  const transfer_plan whole = plan_transfers(tree, 1.0);

  [[nodiscard]] std::vector<part_plan> all() const {
    std::vector<part_plan> made;
    const std::vector<int> first = equal_parts(tree.leaf_count(), c.parts);
    for (int p = 0; p < c.parts; ++p) made.push_back(plan_part(whole, first, p));
    return made;
  }
  [[nodiscard]] part_plan one() const {
    const int first = 0;
    return plan_part(whole, {&first, 1}, 0);
  }
};

TEST_P(parts, have_every_leaf_once) {
  int next = 0;
  for (const part_plan& p : all()) {
    EXPECT_EQ(p.first, next);
    EXPECT_GT(p.count, 0);
    next += p.count;
    std::set<int> slots(p.slots.begin(), p.slots.end());
    EXPECT_EQ(int(slots.size()), p.count);
    EXPECT_EQ(*slots.begin(), 0);
    EXPECT_EQ(*slots.rbegin(), p.count - 1);
    for (int k = 0; k < p.count; ++k)
      EXPECT_EQ(p.frames[std::size_t(p.slots[std::size_t(k)])].number, p.first + k);
  }
  EXPECT_EQ(next, tree.leaf_count());
}

TEST_P(parts, have_their_corrected_leaves_last) {
  for (const part_plan& p : all()) {
    std::set<int> corrected;
    for (const coarse_face& f : p.coarse_faces) corrected.insert(f.slot);
    EXPECT_EQ(int(corrected.size()), p.count - p.corrected);
    if (!corrected.empty()) {
      EXPECT_EQ(*corrected.begin(), p.corrected);
    }
  }
}

/// An independent leaf or prolongation reads no cell of another part. Each other prolongation reads
/// one, and so does each other leaf that is not corrected.
TEST_P(parts, have_their_independent_leaves_first) {
  for (const part_plan& p : all()) {
    const part_order order(p);
    const auto waits = [&](int fill) {
      return fill >= order.received(0) ||
             (fill >= order.prolongation(p.independent_prolongations) && fill < order.received(0));
    };
    const auto reads_what_waits = [&](int fill) {
      return std::ranges::any_of(order.reads(fill), waits);
    };
    for (int n = 0; n < p.corrected; ++n)
      EXPECT_EQ(reads_what_waits(order.leaf(n)), n >= p.independent) << "slot " << n;
    for (int k = 0; k < int(p.prolongations.size()); ++k)
      EXPECT_EQ(reads_what_waits(order.prolongation(k)), k >= p.independent_prolongations)
          << "prolongation " << k;
    EXPECT_TRUE(c.parts > 1 || p.independent == p.corrected);
  }
}

const halo& back_from(const part_plan& q, int to) {
  const auto back =
      std::find_if(q.halos.begin(), q.halos.end(), [&](const halo& h) { return h.other == to; });
  EXPECT_NE(back, q.halos.end());
  return *back;
}

TEST_P(parts, send_what_their_neighbours_expect) {
  const auto made = all();
  for (const part_plan& p : made)
    for (const halo& h : p.halos) {
      const halo& back = back_from(made[std::size_t(h.other)], p.number);
      EXPECT_EQ(h.outgoing_rows, back.incoming_rows);
      ASSERT_EQ(h.outgoing_cells, back.incoming_cells);
      ASSERT_EQ(h.outgoing.size(), back.incoming.size());
      for (std::size_t k = 0; k < h.outgoing.size(); ++k) {
        EXPECT_EQ(h.outgoing[k].begin, back.incoming[k].begin);
        EXPECT_EQ(h.outgoing[k].lower, back.incoming[k].lower);
        EXPECT_EQ(h.outgoing[k].size, back.incoming[k].size);
      }
    }
}

/// The arrays of the parts, in one process.
class exchanged {
 public:
  explicit exchanged(std::vector<part_plan> made) : m_parts(std::move(made)) {
    for (const part_plan& p : m_parts)
      m_states.emplace_back(std::size_t(p.slot_count) * compact.block, -1.0);
  }
  [[nodiscard]] std::vector<double>& state(int part) { return m_states[std::size_t(part)]; }

  void fill(field_set fields, bool energy_only) {
    for (const part_plan& p : m_parts) {
      double* u = state(p.number).data();
      run_loop(restriction{u, u, p.restrictions.data(), int(p.restrictions.size()), fields});
    }
    for (const part_plan& p : m_parts)
      for (const halo& h : p.halos) send(p, h, fields);
    for (const part_plan& p : m_parts) {
      double* u = state(p.number).data();
      run_loop(prolongation{u, u, p.frames.data(), p.sources.data(), p.prolongations.data(),
                            int(p.prolongations.size()), theta_of_ghosts, int(host_vector::size()),
                            energy_only});
    }
  }

 private:
  void send(const part_plan& p, const halo& h, field_set which) {
    std::vector<double> message(std::size_t(h.outgoing_cells * field_count_of(which)), -2.0);
    run_loop(pack_halo{state(p.number).data(), message.data(), h.outgoing.data(),
                       int(h.outgoing.size()), which});
    EXPECT_EQ(std::count(message.begin(), message.end(), -2.0), 0) << "a gap in the message";
    const halo& back = back_from(m_parts[std::size_t(h.other)], p.number);
    run_loop(unpack_halo{state(h.other).data(), message.data(), back.incoming.data(),
                         int(back.incoming.size()), which});
  }

  std::vector<part_plan> m_parts;
  std::vector<std::vector<double>> m_states;
};

/// Returns sub-grids with random gas, in the order of the tree.
std::vector<double> random_gas(int leaves) {
  generator random(7);
  std::vector<double> u(std::size_t(leaves) * compact.block);
  for (double& v : u) v = 0.5 + random();
  return u;
}

/// The ghost cells of each leaf are those of the whole domain.
TEST_P(parts, fill_ghosts_from_received_cells) {
  const std::vector<double> gas = random_gas(tree.leaf_count());
  const auto made = all();
  exchanged arrays(made), of_all({one()});
  const part_plan domain = one();
  to_slots(domain, gas.data(), of_all.state(0).data());
  of_all.fill(field_set::all, false);
  for (const part_plan& p : made)
    to_slots(p, &gas[std::size_t(p.first) * compact.block], arrays.state(p.number).data());
  arrays.fill(field_set::all_but_tracer, true);
  arrays.fill(field_set::tracer, false);
  std::vector<double> expected(ghosted.block), got(ghosted.block);
  for (const part_plan& p : made)
    for (int k = 0; k < p.count; ++k)
      for (const int width : {1, int(host_vector::size())}) {
        run_loop(ghosts_of(of_all.state(0).data(), domain.view(),
                           domain.slots[std::size_t(p.first + k)], width, expected.data()));
        run_loop(ghosts_of(arrays.state(p.number).data(), p.view(), p.slots[std::size_t(k)], width,
                           got.data()));
        ASSERT_TRUE(same_bits(got, expected)) << "leaf " << p.first + k;
      }
}

TEST_P(parts, leave_the_tracer_unchanged_on_request) {
  const std::vector<double> gas = random_gas(tree.leaf_count());
  const auto made = all();
  exchanged arrays(made);
  for (const part_plan& p : made)
    to_slots(p, &gas[std::size_t(p.first) * compact.block], arrays.state(p.number).data());
  arrays.fill(field_set::all_but_tracer, true);
  for (const part_plan& p : made)
    for (int slot = p.count; slot < p.slot_count; ++slot)
      for (int cell = 0; cell < cells_per_subgrid; ++cell)
        ASSERT_EQ(arrays.state(p.number)[std::size_t(compact_at(slot, field::tau, cell, 0, 0))],
                  -1.0);
}

/// Corrected fluxes are the same in the whole domain and in parts.
TEST_P(parts, correct_fluxes_by_received_rows) {
  generator random(3);
  std::vector<double> fluxes(std::size_t(tree.leaf_count()) * flux_block);
  for (double& f : fluxes) f = random() - 0.5;
  const auto in_slots = [&](const part_plan& p) {
    std::vector<double> own(std::size_t(p.count) * flux_block);
    for (int k = 0; k < p.count; ++k)
      std::copy_n(&fluxes[std::size_t(p.first + k) * flux_block], flux_block,
                  &own[std::size_t(p.slots[std::size_t(k)]) * flux_block]);
    return own;
  };
  const auto corrected = [&](const std::vector<part_plan>& made) {
    std::vector<std::vector<double>> rows, of_part;
    for (const part_plan& p : made) {
      of_part.push_back(in_slots(p));
      rows.emplace_back(std::size_t(p.face_rows) * face_row, -1.0);
      run_loop(mean_fluxes{of_part.back().data(), rows.back().data(), p.fine_faces.data(), 0,
                           int(p.fine_faces.size())});
    }
    for (const part_plan& p : made)
      for (const halo& h : p.halos)
        std::copy_n(rows[std::size_t(p.number)].data() + h.outgoing_row * face_row,
                    h.outgoing_rows * face_row,
                    rows[std::size_t(h.other)].begin() +
                        back_from(made[std::size_t(h.other)], p.number).incoming_row * face_row);
    std::vector<double> result(fluxes.size());
    for (const part_plan& p : made) {
      std::vector<double>& own = of_part[std::size_t(p.number)];
      EXPECT_EQ(
          std::count(rows[std::size_t(p.number)].begin(), rows[std::size_t(p.number)].end(), -1.0),
          0);
      run_loop(correct_fluxes{own.data(), rows[std::size_t(p.number)].data(), p.coarse_faces.data(),
                              0, int(p.coarse_faces.size())});
      for (int k = 0; k < p.count; ++k)
        std::copy_n(&own[std::size_t(p.slots[std::size_t(k)]) * flux_block], flux_block,
                    &result[std::size_t(p.first + k) * flux_block]);
    }
    return result;
  };
  const std::vector<double> expected = corrected({one()});
  EXPECT_EQ(same_bits(expected, fluxes), c.level >= 0);
  EXPECT_TRUE(same_bits(corrected(all()), expected));
}

INSTANTIATE_TEST_SUITE_P(
    of, parts,
    testing::Values(cut{1, boundary_kind::outflow, 1}, cut{1, boundary_kind::outflow, 2},
                    cut{1, boundary_kind::periodic, 3}, cut{1, boundary_kind::reflecting, 8},
                    cut{2, boundary_kind::reflecting, 2}, cut{2, boundary_kind::outflow, 5},
                    cut{2, boundary_kind::periodic, 8}, cut{-1, boundary_kind::outflow, 2},
                    cut{-1, boundary_kind::periodic, 3}, cut{-1, boundary_kind::reflecting, 5},
                    cut{-1, boundary_kind::periodic, 8}));

TEST(part_of_a_cube, sends_three_layers_of_cells) {
  const transfer_plan whole = plan_transfers(octree::uniform(3), 1.0);
  const part_plan half = plan_part(whole, equal_parts(512, 2), 0);
  ASSERT_EQ(half.halos.size(), 1u);
  EXPECT_EQ(half.halos[0].outgoing_cells, 64 * 64 * 3);
}

}  // namespace
}  // namespace stars::test
