// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <starling/core/future.hpp>
#include <starling/objects/channel.hpp>

#include "hydro/time_step.hpp"
#include "mesh/part_plan.hpp"
#include "placement/busy_clock.hpp"
#include "placement/serial.hpp"

namespace stars {

/// An unphysical cell, and the stage of the step in which it was found.
struct fault {
  int stage;
  unphysical_cell where;

  /// Returns whether the serial driver would find this fault before `other`, in the same step.
  [[nodiscard]] bool before(const fault& other) const noexcept {
    return stage != other.stage ? stage < other.stage : where.index < other.where.index;
  }
};

/// The values on which all parts agree before a step continues.
struct verdict {
  double fastest = 0.0;  ///< signal speed
  bool is_faulty = false;
  fault first{};
};

/// Combines the verdicts of two parts, in any order: the fault that the serial driver would find
/// first, and the fastest signal.
struct worse_verdict {
  verdict operator()(const verdict& a, const verdict& b) const {
    running_max<double> fastest;
    fastest.add(a.fastest);
    fastest.add(b.fastest);
    verdict both = a.is_faulty && !(b.is_faulty && b.first.before(a.first)) ? a : b;
    both.fastest = fastest.value();
    return both;
  }
};

/// The interface by which the simulation of one part of the domain communicates with the remaining
/// parts. All parts call `agree` and `account` equally often, and each halo is sent as often as it
/// is received. The functions may be called by any task; those with a stream only by the task that
/// called the simulation.
class other_parts {
 public:
  virtual ~other_parts() = default;

  /// Returns this part: its sub-grids and the cells that it reads.
  [[nodiscard]] virtual const part_plan& mine() const = 0;
  /// Returns the clock for this part's work on the host. A resident simulation does not use it: the
  /// runtime measures its device time.
  [[nodiscard]] virtual busy_clock& busy() = 0;
  /// Returns the worst of the verdicts of all parts.
  [[nodiscard]] virtual starling::future<verdict> agree(const verdict& mine) = 0;
  /// Adds the outflow of a step, [own sub-grids][15], to the total, in the order of all sub-grids.
  [[nodiscard]] virtual starling::future<> account(std::vector<double> amounts) = 0;

  /// Sends the message for `mine().halos[n]` from host memory. Complete when that memory may be
  /// overwritten. The next message of this halo is sent after that.
  [[nodiscard]] virtual starling::future<> send(std::size_t n, std::span<const double> message) = 0;
  /// Receives the next message of `mine().halos[n]` into host memory.
  [[nodiscard]] virtual starling::future<> receive(std::size_t n, std::span<double> message) = 0;
  /// Do the same in the order of a stream, for memory of its device; messages of one halo may be
  /// sent before earlier ones are complete.
  [[nodiscard]] virtual starling::channel_wait send(std::size_t n, std::span<const double> message,
                                                    starling::stream& at) = 0;
  [[nodiscard]] virtual starling::borrow_wait<double> borrow(std::size_t n, std::size_t size,
                                                             starling::stream& at) = 0;
};

/// Returns the fastest signal of all parts, and sets `mine` to their first fault. `others` null:
/// there is one part only.
inline starling::task<double> agree(other_parts* others, double fastest,
                                    std::optional<fault>& mine) {
  if (others == nullptr) co_return fastest;
  const verdict all = co_await others->agree({fastest, mine.has_value(), mine.value_or(fault{})});
  if (all.is_faulty) mine = all.first;
  co_return all.fastest;
}

}  // namespace stars
