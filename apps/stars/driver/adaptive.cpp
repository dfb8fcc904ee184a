// SPDX-License-Identifier: Apache-2.0
#include "driver/adaptive.hpp"

#include <utility>

#include "driver/moved_leaves.hpp"
#include "mesh/leaf_flags.hpp"
#include "mesh/regrid_plan.hpp"

namespace stars {

using starling::task;

namespace {

class on_one_rank final : public adaptive_simulation {
 public:
  on_one_rank(starling::runtime& rt, snapshot first, const settings& s)
      : m_grid(first.grid),
        m_now(make_part(rt, std::move(first), s.numerics, s.place, s.staged, s.resident)) {}

  task<double> step(double longest) override { co_return co_await m_now->step(longest); }
  task<> finish() override { co_await m_now->finish(); }
  task<snapshot> gather() override { co_return co_await m_now->gather(); }
  [[nodiscard]] starling::aggregation_statistics aggregated() const override {
    starling::aggregation_statistics sum = m_aggregated;
    sum += m_now->aggregated();
    return sum;
  }
  [[nodiscard]] const mesh& grid() const override { return m_grid; }

  task<bool> regrid(std::vector<refinement_rule> rules, level_limits limits) override {
    const std::vector<leaf_flags> flags = co_await m_now->test(std::move(rules));
    const mesh before = m_grid;
    const octree& tree = before.tree();
    octree next = adapt(tree, find_marks(tree, flags), limits);
    if (next == tree) co_return false;
    const int first = 0;
    const leaf_sender sender(plan_regrid(tree, next), {&first, 1}, {&first, 1}, 0);
    leaf_moves kept = sender.kept();
    m_aggregated += m_now->aggregated();
    m_grid = {std::move(next), m_grid.xscale()};
    m_now = co_await m_now->next(m_grid, std::move(kept), {}, nullptr);
    co_return true;
  }

 private:
  mesh m_grid;
  std::unique_ptr<part_simulation> m_now;
  starling::aggregation_statistics m_aggregated;  // of earlier trees
};

}  // namespace

std::unique_ptr<adaptive_simulation> make_on_one_rank(starling::runtime& rt, snapshot first,
                                                      const settings& s) {
  return std::make_unique<on_one_rank>(rt, std::move(first), s);
}

std::unique_ptr<part_simulation> make_part(starling::runtime& rt, snapshot own,
                                           const scheme& numerics, residency place,
                                           const staged_options& staged,
                                           const resident_options& resident, other_parts* others) {
  return place == residency::staged ? make_staged(rt, std::move(own), numerics, staged, others)
                                    : make_resident(rt, std::move(own), numerics, resident, others);
}

}  // namespace stars
