// SPDX-License-Identifier: Apache-2.0
#include "driver/adaptive.hpp"

#include <optional>
#include <utility>

#include "driver/moved_leaves.hpp"
#include "io/plotfile.hpp"
#include "io/vtkhdf.hpp"
#include "mesh/leaf_flags.hpp"
#include "mesh/regrid_plan.hpp"

namespace stars {

using starling::task;

namespace {

/// Returns the state at the beginning of a run, with the data of all leaves.
snapshot whole(const settings& s, snapshot header) {
  header.data = first_data(s, header.grid, 0, header.grid.subgrid_count());
  return header;
}

class on_one_rank final : public adaptive_simulation {
 public:
  on_one_rank(starling::runtime& rt, const snapshot& header, const settings& s)
      : m_grid(header.grid), m_flow(make_problem(s)),
        m_now(make_part(rt, whole(s, header), s.numerics, s.place, s.staged, s.resident)) {}

  task<double> step(double longest) override {
    m_held.reset();
    co_return co_await m_now->step(longest);
  }
  task<> finish() override { co_await m_now->finish(); }

  task<snapshot> header() override {
    co_await hold();
    co_return m_held->without_data();
  }
  task<domain_sums> sums() override {
    co_await hold();
    domain_sums all;
    all.add(*m_held, 0, m_flow->gravity);
    co_return all;
  }
  task<state_record> record() override {
    co_await hold();
    state_record all;
    all.add(*m_held, 0, *m_flow);
    co_return all;
  }
  task<> write_plot(std::filesystem::path path, plot_format format) override {
    co_await hold();
    if (format == plot_format::amrex)
      write_plotfile(path, *m_held);
    else
      write_vtkhdf(path, *m_held);
  }
  task<> write_restart(std::filesystem::path path,
                       std::map<std::string, parameter> scheme) override {
    co_await hold();
    restart_writer file(path, {m_held->without_data(), std::move(scheme)});
    file.commit(write_restart_part(file.place(), 0, m_held->data));
  }
  [[nodiscard]] starling::aggregation_statistics aggregated() const override {
    starling::aggregation_statistics sum = m_aggregated;
    sum += m_now->aggregated();
    return sum;
  }
  [[nodiscard]] const mesh& grid() const override { return m_grid; }

  task<bool> regrid(std::vector<refinement_rule> rules, level_limits limits) override {
    m_held.reset();
    const std::vector<leaf_flags> flags = co_await m_now->test(std::move(rules));
    const octree& tree = m_grid.tree();
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
  /// Copies the present state, unless there is a copy.
  task<> hold() {
    if (m_held) co_return;
    snapshot now = co_await m_now->gather();
    m_held = std::move(now);
  }

  mesh m_grid;
  std::unique_ptr<problem> m_flow;
  std::unique_ptr<part_simulation> m_now;
  starling::aggregation_statistics m_aggregated;  // of earlier trees
  std::optional<snapshot> m_held;                 // a copy of the present state
};

}  // namespace

task<step_progress> do_steps(simulation& at, step_request wanted) {
  step_progress done{0, wanted.time, 0.0};
  do {
    const double left = wanted.stop - done.time;
    done.dt = co_await at.step(left);
    // The last step ends exactly at the stop time, without the rounding of the sum.
    done.time = done.dt == left ? wanted.stop : done.time + done.dt;
    done.steps += 1;
  } while (done.steps < wanted.most && done.time < wanted.stop && done.dt != 0.0);
  if (wanted.is_waited && done.dt != 0.0) co_await at.finish();
  co_return done;
}

std::unique_ptr<adaptive_simulation> make_on_one_rank(starling::runtime& rt, const snapshot& header,
                                                      const settings& s) {
  return std::make_unique<on_one_rank>(rt, header, s);
}

std::unique_ptr<part_simulation> make_part(starling::runtime& rt, snapshot own,
                                           const scheme& numerics, residency place,
                                           const staged_options& staged,
                                           const resident_options& resident, other_parts* others) {
  return place == residency::staged ? make_staged(rt, std::move(own), numerics, staged, others)
                                    : make_resident(rt, std::move(own), numerics, resident, others);
}

}  // namespace stars
