// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <starling/core/runtime.hpp>
#include <starling/core/task.hpp>
#include <starling/device/aggregator.hpp>
#include <starling/device/device.hpp>

#include "hydro/scheme.hpp"
#include "mesh/leaf_flags.hpp"
#include "mesh/leaf_moves.hpp"
#include "mesh/mesh.hpp"
#include "problems/refinement_rule.hpp"

namespace stars {

class other_parts;

/// A running simulation of a flow. Every call is awaited before the next call. All implementations
/// give the same bits.
class simulation {
 public:
  virtual ~simulation() = default;

  /// Starts a step no longer than `longest` and returns its length as soon as it is determined; the
  /// remaining work of the step overlaps the next steps. Not called after an error.
  /// @throws unphysical_state or starling::device_error of this or an earlier step
  virtual starling::task<double> step(double longest) = 0;

  /// Waits until all work is over. Called before the state is read and before destruction, also
  /// after an error. @throws the first error that no `step` has thrown
  virtual starling::task<> finish() = 0;

  /// Returns statistics of aggregated launches, of all devices together; zero without aggregation.
  [[nodiscard]] virtual starling::aggregation_statistics aggregated() const { return {}; }

  /// Returns the bytes of ghost cells that ranks have sent to each other.
  [[nodiscard]] virtual double bytes_sent() const { return 0.0; }
};

/// A simulation of one part of the domain, or of all of it, on one tree. For the next tree there is
/// another object. The functions are called after `finish`.
class part_simulation : public simulation {
 public:
  /// Returns a copy of the state after the last step in host memory, with the data of the own
  /// leaves in the order of the tree. After unphysical_state, the state in which the cell was
  /// found; sub-grids far from it may be a stage further. After other errors the state is
  /// undefined.
  virtual starling::task<snapshot> gather() = 0;

  /// Returns the refinement tests of the leaves, in the order of the tree.
  virtual starling::task<std::vector<leaf_flags>> test(std::vector<refinement_rule> rules) = 0;

  /// Returns sub-grids of the next tree for other parts: rows [15][512] in host memory.
  virtual starling::task<std::vector<double>> rows_of(leaf_moves sent) = 0;

  /// Returns the simulation of the next tree: its leaves are made of own leaves and of pieces from
  /// other parts. `others` is that of the next tree. This object is then not used any more.
  virtual starling::task<std::unique_ptr<part_simulation>> next(mesh grid, leaf_moves kept,
                                                                std::vector<moved_leaves> received,
                                                                other_parts* others) = 0;
};

/// How the work arrays of a sub-grid are allocated in each stage.
enum class work_memory_kind : std::uint8_t {
  kept,      ///< a fixed number of workspaces, lent to sub-grids
  recycled,  ///< allocated and freed each time through the recycling allocators
  fresh      ///< allocated and freed each time by the driver, for comparison
};
constexpr const char* name_of(work_memory_kind how) {
  constexpr const char* names[] = {"kept", "recycled", "fresh"};
  return names[static_cast<int>(how)];
}

struct staged_options {
  std::size_t aggregate = 0;  ///< most sub-grids that share copies and launches; 0, 1: none
  std::size_t streams = 0;    ///< of each device; 0: as many as its pool has
  work_memory_kind memory = work_memory_kind::kept;
};

/// Makes a simulation whose state is on the host. In each stage each sub-grid is copied to the
/// device and its fluxes are copied back, on its own stream or aggregated with other sub-grids.
/// With `others` it simulates `others->mine()` only: the data of `initial` and of `gather` are
/// those of its own leaves, in the order of the tree.
[[nodiscard]] std::unique_ptr<part_simulation> make_staged(starling::runtime& rt, snapshot initial,
                                                           const scheme& numerics,
                                                           const staged_options& how = {},
                                                           other_parts* others = nullptr);

/// The portion of a step that is launched as one graph.
enum class capture_kind : std::uint8_t { none, stage, step };
constexpr const char* name_of(capture_kind what) {
  return what == capture_kind::none ? "none" : what == capture_kind::stage ? "stage" : "step";
}

/// How a stage is divided into kernels; all ways give the same bits.
enum class kernel_cut : std::uint8_t {
  automatic,  ///< depends on the device
  plain,      ///< five kernels, one index for each cell or face
  grouped,    ///< for large private caches: vectors sweep a sub-grid, group by group of directions
  fused       ///< for shared scratch memory: few passes over the state, one group for slabs of a
              ///< sub-grid
};
constexpr const char* name_of(kernel_cut how) {
  constexpr const char* names[] = {"auto", "plain", "grouped", "fused"};
  return names[static_cast<int>(how)];
}

struct resident_options {
  int aggregate = 0;  ///< sub-grids in one launch; 0: depends on the device
  capture_kind capture = capture_kind::none;
  kernel_cut cut = kernel_cut::automatic;
  bool keeps_fluxes = false;  ///< of all but independent sub-grids, also on a host: for tests
};

/// Returns the cut of a run on a device: `wanted`, or the device's default for `automatic`.
[[nodiscard]] kernel_cut cut_for(kernel_cut wanted, const scheme& numerics,
                                 const starling::device& where);

/// Makes a simulation whose state is on the device; `others` as above.
/// @throws starling::out_of_memory
[[nodiscard]] std::unique_ptr<part_simulation> make_resident(starling::runtime& rt,
                                                             snapshot initial,
                                                             const scheme& numerics,
                                                             const resident_options& how = {},
                                                             other_parts* others = nullptr);

}  // namespace stars
