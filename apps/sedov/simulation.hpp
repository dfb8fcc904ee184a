// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <starling/core/runtime.hpp>
#include <starling/core/task.hpp>
#include <starling/device/aggregator.hpp>
#include <starling/device/device.hpp>

#include "physics/mesh.hpp"
#include "physics/scheme.hpp"

namespace sedov {

class other_parts;

/// A blast wave, tube or wave on its way. Calls follow each other; every call is awaited before the
/// next. All placements give the same bits.
class simulation {
 public:
  virtual ~simulation() = default;

  /// Starts a step no longer than `longest` and yields its length as soon as that is known; the
  /// rest of its work goes on behind the next steps. Not after an error. @throws unphysical_state
  /// or starling::device_error of this or an earlier step
  virtual starling::task<double> step(double longest) = 0;

  /// Waits until all work is over. Call it before `gather` and before destruction, also after an
  /// error. @throws the first error that no `step` has thrown
  virtual starling::task<> finish() = 0;

  /// What shared launches, all devices together; nothing where nothing is aggregated.
  [[nodiscard]] virtual starling::aggregation_statistics aggregated() const { return {}; }

  /// Bytes of ghost cells that ranks have sent each other.
  [[nodiscard]] virtual double bytes_sent() const { return 0.0; }

  /// The state after the last step. After unphysical_state, that in which the cell was found;
  /// sub-grids far from it may be a stage further. After other errors, anything.
  virtual starling::task<snapshot> gather() = 0;
};

/// Where a sub-grid's work arrays come from in each stage.
enum class work_memory_kind : std::uint8_t {
  kept,      ///< a fixed number of them, lent
  recycled,  ///< allocated and freed each time, by way of the recycling allocators
  fresh      ///< the same without recycling: the driver's own allocations, to compare
};
constexpr const char* name_of(work_memory_kind how) {
  constexpr const char* names[] = {"kept", "recycled", "fresh"};
  return names[static_cast<int>(how)];
}

struct staged_options {
  std::size_t aggregate = 0;  ///< sub-grids that share copies and launches at most; 0, 1: none
  std::size_t streams = 0;    ///< of each device; 0: as many as its pool has
  work_memory_kind memory = work_memory_kind::kept;
};

/// State on the host; each sub-grid and stage goes to the device and its fluxes come back, on a
/// stream of its own or together with others. With `others` it is of `others->mine()` alone: the
/// data of `initial` have its slots, those of `gather` its own sub-grids.
[[nodiscard]] std::unique_ptr<simulation> make_staged(starling::runtime& rt, snapshot initial,
                                                      const scheme& numerics,
                                                      const staged_options& how = {},
                                                      other_parts* others = nullptr);

/// What of a step is launched as one graph.
enum class capture_kind : std::uint8_t { none, stage, step };
constexpr const char* name_of(capture_kind what) {
  return what == capture_kind::none ? "none" : what == capture_kind::stage ? "stage" : "step";
}

/// How a stage is cut into kernels; all ways give the same bits.
enum class kernel_cut : std::uint8_t {
  automatic,  ///< by device
  plain,      ///< the five kernels, one index for a cell or face
  grouped,    ///< for large private caches: vectors sweep a sub-grid, states and fluxes in turn
  fused  ///< for shared scratch memory: few passes over the state, slabs of a sub-grid per group
};
constexpr const char* name_of(kernel_cut how) {
  constexpr const char* names[] = {"auto", "plain", "grouped", "fused"};
  return names[static_cast<int>(how)];
}

struct resident_options {
  int aggregate = 0;  ///< sub-grids in one launch; 0: as many as suit the device
  capture_kind capture = capture_kind::none;
  kernel_cut cut = kernel_cut::automatic;
};

/// The cut that a device gets when `wanted` leaves it open.
[[nodiscard]] kernel_cut cut_for(kernel_cut wanted, const scheme& numerics,
                                 const starling::device& where);

/// State on the device; `others` as above. @throws starling::out_of_memory
[[nodiscard]] std::unique_ptr<simulation> make_resident(starling::runtime& rt, snapshot initial,
                                                        const scheme& numerics,
                                                        const resident_options& how = {},
                                                        other_parts* others = nullptr);

}  // namespace sedov
