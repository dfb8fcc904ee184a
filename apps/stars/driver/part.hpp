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
#include "driver/settings.hpp"
#include "placement/others.hpp"
#include "placement/simulation.hpp"

namespace stars {

/// The data that every part receives at creation.
struct part_setup {
  snapshot start;  ///< without data
  scheme numerics;
  residency place = residency::staged;
  staged_options staged;
  resident_options resident;

  template <class Archive>
  void serialize(Archive& ar) {
    serialize_grid(ar);
    ar(start.time, start.step, start.gamma, start.problem, start.boundary, start.outflow, numerics,
       place, staged, resident);
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

/// The result of a step or of `finish`; equal in all parts.
struct part_outcome {
  double dt = 0.0;
  bool is_faulty = false;
  unphysical_cell found{};
  bool changed = false;  ///< of `regrid`
};

/// The refinement tests of the leaves of some parts, by number of the part.
struct flags_of_parts {
  struct one {
    int part;
    std::vector<leaf_flags> flags;

    template <class Archive>
    void serialize(Archive& ar) {
      ar(part, flags);
    }
  };
  std::vector<one> parts;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(parts);
  }
};

/// The data that the first rank collects from a part at the end.
struct part_state {
  std::vector<double> data;  ///< of the part's own sub-grids
  long step = 0;
  double time = 0.0;
  std::array<double, field_count> outflow{};  ///< of the whole domain; in the first part only
  starling::aggregation_statistics aggregated;
  double bytes_sent = 0.0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(data, step, time, outflow, aggregated, bytes_sent);
  }
};

/// A part of the domain, one on each rank, and its communication with the remaining parts. The
/// first rank sends all parts the same messages in the same order.
class part : public starling::chare<part>, private other_parts {
 public:
  part(const part_setup& setup, int parts);

  /// Makes the simulation. `data` is the state of this part's leaves, in the order of the tree.
  void begin(std::vector<double> data);
  /// Does a step. `done` is called when all parts have done it. An error other than a fault ends
  /// the run.
  starling::task<> step(double longest, starling::callback<part_outcome> done);
  starling::task<> finish(starling::callback<part_outcome> done);
  starling::task<part_state> state();
  /// Moves to the tree that follows from the tests of all leaves; all parts have sent their leaves
  /// when `done` is called. `changed` tells whether it is another tree.
  starling::task<> regrid(std::vector<refinement_rule> rules, level_limits limits,
                          starling::callback<part_outcome> done);
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

 private:
  [[nodiscard]] const part_plan& mine() const override { return m_mine; }
  [[nodiscard]] starling::future<verdict> agree(const verdict& mine) override;
  [[nodiscard]] starling::future<> account(std::vector<double> amounts) override;
  [[nodiscard]] starling::future<> send(std::size_t n, std::span<const double> message) override;
  [[nodiscard]] starling::future<> receive(std::size_t n, std::span<double> message) override;
  [[nodiscard]] starling::channel_wait send(std::size_t n, std::span<const double> message,
                                            starling::stream& at) override;
  [[nodiscard]] starling::borrow_wait<double> borrow(std::size_t n, std::size_t size,
                                                     starling::stream& at) override;
  starling::task<> move_to(octree next);
  starling::task<> send_leaves(leaf_sender sender, std::vector<double> rows);
  [[nodiscard]] starling::chare_channel<double>& channel_of(std::size_t n) {
    return m_channels[std::size_t(m_mine.halos[n].other)];
  }
  starling::task<> pass_on(std::optional<starling::future<>> before, std::int64_t count,
                           std::vector<double> amounts);

  part_setup m_setup;
  int m_parts;
  part_plan m_mine;
  starling::element<part> m_self;
  std::vector<starling::chare_channel<double>> m_channels;  // by part; the own one is not used
  std::unique_ptr<part_simulation> m_simulation;
  std::int64_t m_regrids = 0;
  starling::aggregation_statistics m_aggregated;  // of earlier trees
  std::array<double, field_count> m_outflow;
  std::int64_t m_accounts = 0;
  std::optional<starling::future<>> m_account;  // the last `account`
  double m_bytes_sent = 0.0;
};

/// @throws starling::option_error if there are more ranks than sub-grids
void require_sub_grids(const mesh& grid, int ranks);

/// Makes a simulation of the whole domain on all ranks of the job, one part on each. Called on the
/// first rank, in the task that `starling::run` runs; `initial` and `s` must outlive the task.
/// @throws starling::out_of_memory
[[nodiscard]] starling::task<std::unique_ptr<adaptive_simulation>> make_across_ranks(
    starling::runtime& rt, const snapshot& initial, const settings& s);

}  // namespace stars
