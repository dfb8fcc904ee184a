// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

#include "driver/adaptive.hpp"
#include "driver/moved_leaves.hpp"
#include "driver/problem_choice.hpp"
#include "driver/settings.hpp"
#include "driver/setup.hpp"
#include "io/node_means.hpp"
#include "io/plotfile.hpp"
#include "io/restart.hpp"
#include "io/vtkhdf.hpp"
#include "mesh/part_cuts.hpp"
#include "placement/others.hpp"
#include "placement/simulation.hpp"

namespace stars {

/// The settings on which the state at the beginning of a run and the exact solution depend. Only
/// these travel.
struct origin_settings {
  settings chosen;

  template <class Archive>
  void serialize(Archive& ar) {
    settings& s = chosen;
    ar(s.restart_from, s.problem, s.level, s.xscale, s.gamma, s.boundary, s.gravity, s.refine);
    for_each_option(s, [&](const char*, auto& value) { ar(value); });
  }
};

/// The data that every part receives at creation.
struct part_setup {
  snapshot start;  ///< without data
  scheme numerics;
  residency place = residency::staged;
  staged_options staged;
  resident_options resident;
  origin_settings origin;
  balance_options balance;

  template <class Archive>
  void serialize(Archive& ar) {
    serialize_grid(ar);
    ar(start.time, start.step, start.gamma, start.problem, start.boundary, start.outflow, numerics,
       place, staged, resident, origin, balance);
  }

 private:
  template <class Archive>
  void serialize_grid(Archive& ar) {
    const octree& tree = start.grid.tree();
    std::vector<node_key> leaves(tree.leaves().begin(), tree.leaves().end());
    boundary_kind boundary = tree.boundary();
    double xscale = start.grid.xscale();
    ar(leaves, boundary, xscale);
    if constexpr (Archive::is_reading) start.grid = {octree(std::move(leaves), boundary), xscale};
  }
};

/// The result of steps or of `finish`; equal in all parts.
struct part_outcome {
  step_progress done;
  bool is_faulty = false;
  unphysical_cell found{};
  // Of `regrid` and `rebalance`:
  bool changed = false;    ///< the tree is another one
  double imbalance = 0.0;  ///< of the measured times, see balance_record; 0: unknown
  int moved = 0;           ///< leaves that came to another part
};

/// A reduction of equal outcomes, used to wait for all parts.
struct any_outcome {
  part_outcome operator()(const part_outcome& a, const part_outcome&) const { return a; }
};

/// What the next division of the domain depends on, of some parts: times, and refinement tests of
/// the leaves.
struct division_of_parts {
  struct one {
    int part;
    double seconds;  ///< of the part's work since the last division
    std::vector<leaf_flags> flags;

    template <class Archive>
    void serialize(Archive& ar) {
      ar(part, seconds, flags);
    }
  };
  std::vector<one> parts;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(parts);
  }
};

/// What the first rank knows of the state of a part.
struct part_state {
  long step = 0;
  double time = 0.0;
  std::array<double, field_count> outflow{};  ///< of the whole domain; in the first part only
  starling::aggregation_statistics aggregated;
  double bytes_sent = 0.0;
};

/// A part of the domain, one on each rank, and its communication with the remaining parts. The
/// first rank sends all parts the same messages in the same order.
class part : public starling::chare<part>, private other_parts {
 public:
  part(const part_setup& setup, int parts);

  /// Makes the simulation of the state at the beginning of the run: this part computes or reads its
  /// own leaves.
  void begin();
  /// Does the same on another tree.
  void begin_on(std::vector<node_key> leaves);
  /// Does the refinement tests of the part's leaves by the rules of the problem. `done` is called
  /// with those of all parts. An error ends the run, since other parts wait for ghost cells.
  starling::task<> test(starling::callback<division_of_parts> done);
  /// Does steps. `done` is called when all parts have done them. An error other than a fault ends
  /// the run.
  starling::task<> advance(step_request wanted, starling::callback<part_outcome> done);
  starling::task<> finish(starling::callback<part_outcome> done);

  // These functions read the state (part_output.cpp). They are called after `finish`.

  starling::task<part_state> state();
  /// Add the part's leaves to sums over the leaves of lower parts.
  starling::task<domain_sums> add_sums(domain_sums sums);
  starling::task<state_record> add_record(state_record record);
  /// Writes the part's leaves into a restart file. Returns their checksums.
  starling::task<std::vector<std::uint32_t>> write_leaves(restart_place place);
  /// Makes the interior nodes that the part writes, together with all other parts. An error ends
  /// the run.
  starling::task<> make_nodes(starling::callback<part_outcome> done);
  /// Write the part's nodes into a plotfile or a VTKHDF file. Called once after `make_nodes`.
  plot_records write_grids(std::string folder);
  void write_boxes(vtkhdf_place place);

  /// Moves to the tree that follows from the tests of all leaves; all parts have sent their leaves
  /// when `done` is called. `changed` tells whether it is another tree.
  starling::task<> regrid(std::vector<refinement_rule> rules, level_limits limits,
                          starling::callback<part_outcome> done);
  /// Divides the leaves of the present tree again, by the measured times.
  starling::task<> rebalance(starling::callback<part_outcome> done);
  /// Returns the leaves of the present tree.
  std::vector<node_key> leaves() const;

  // Called by the part itself.
  starling::task<verdict> agree_with_all(verdict mine);
  void add_amounts(std::vector<double> amounts);
  starling::awaited outflow_so_far(std::int64_t count, std::array<double, field_count> sums);
  starling::task<> send_message(std::size_t n,
                                starling::rank_local<std::span<const double>> message);
  starling::task<> receive_message(std::size_t n, starling::rank_local<std::span<double>> message);
  starling::awaited leaves_from(std::int64_t regrid, moved_leaves message);
  starling::awaited octant_from(std::int64_t number, std::vector<double> cells);

 private:
  [[nodiscard]] const part_plan& mine() const override { return m_mine; }
  [[nodiscard]] busy_clock& busy() override { return m_busy; }
  [[nodiscard]] starling::future<verdict> agree(const verdict& mine) override;
  [[nodiscard]] starling::future<> account(std::vector<double> amounts) override;
  [[nodiscard]] starling::future<> send(std::size_t n, std::span<const double> message) override;
  [[nodiscard]] starling::future<> receive(std::size_t n, std::span<double> message) override;
  [[nodiscard]] starling::channel_wait send(std::size_t n, std::span<const double> message,
                                            starling::stream& at) override;
  [[nodiscard]] starling::borrow_wait<double> borrow(std::size_t n, std::size_t size,
                                                     starling::stream& at) override;
  starling::task<> wait_for_account();
  starling::task<> hold();
  starling::task<> exchange_octants(node_means& nodes);
  [[nodiscard]] double busy_so_far();
  [[nodiscard]] double time_to_report();
  starling::task<> divide_again(octree next, std::vector<double> seconds,
                                starling::callback<part_outcome> done);
  [[nodiscard]] std::vector<int> cuts_of(const division_input& in, std::span<const double> seconds,
                                         bool changed) const;
  starling::task<> move_to(octree next, regrid_plan plan, std::vector<int> next_first);
  starling::task<> send_leaves(leaf_sender sender, std::vector<double> rows);
  [[nodiscard]] starling::chare_channel<double>& channel_of(std::size_t n) {
    return m_channels[std::size_t(m_mine.halos[n].other)];
  }
  starling::task<> pass_on(std::optional<starling::future<>> before, std::int64_t count,
                           std::vector<double> amounts);

  part_setup m_setup;
  int m_parts;
  std::vector<int> m_first;  // first leaf of each part
  part_plan m_mine;
  busy_clock m_busy;
  double m_counted = 0.0;  // seconds of `busy_so_far` that were reported
  std::int64_t m_divisions = 0;
  starling::element<part> m_self;
  std::vector<starling::chare_channel<double>> m_channels;  // by part; the own one is not used
  std::unique_ptr<part_simulation> m_simulation;
  std::int64_t m_regrids = 0;
  starling::aggregation_statistics m_aggregated;  // of earlier trees
  std::array<double, field_count> m_outflow;
  std::int64_t m_accounts = 0;
  std::optional<starling::future<>> m_account;  // the last `account`
  double m_bytes_sent = 0.0;
  std::optional<snapshot> m_held;  // a copy of the own leaves of the present state
  std::unique_ptr<node_means> m_nodes;
  std::int64_t m_plots = 0;
};

/// @throws starling::option_error if there are more ranks than sub-grids
void require_sub_grids(const mesh& grid, int ranks);

/// Makes a simulation of the whole domain on all ranks of the job, one part on each, and completes
/// the first tree. Each rank computes or reads its own leaves; restart files must be in a file
/// system that all ranks share. Called on the first rank, in the task that `starling::run` runs;
/// `first` and `s` must outlive the task.
/// @throws starling::out_of_memory, starling::option_error; std::runtime_error if a rank cannot
/// read its leaves
[[nodiscard]] starling::task<std::unique_ptr<adaptive_simulation>> make_across_ranks(
    starling::runtime& rt, const beginning& first, const settings& s);

}  // namespace stars
