// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <starling/core/future.hpp>
#include <starling/objects/channel.hpp>

#include "physics/partition.hpp"
#include "physics/serial.hpp"
#include "physics/time_step.hpp"

namespace sedov {

/// A cell that went wrong, and in which stage of its step.
struct fault {
  int stage;
  unphysical_cell where;

  /// In the order of the serial driver; of one step.
  [[nodiscard]] bool before(const fault& other) const noexcept {
    return stage != other.stage ? stage < other.stage : where.index < other.where.index;
  }
};

/// What the parts of the domain must agree on before a step goes on.
struct verdict {
  double fastest = 0.0;  ///< signal
  bool is_faulty = false;
  fault first{};
};

/// Of two parts, as the serial driver would have found it; in any order.
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

/// What a simulation of one part of the domain needs of those that have the others. All parts call
/// `agree` and `account` equally often, and each halo is sent as often as it is received. Calls
/// from any task; those with a stream from the task that called the simulation.
class other_parts {
 public:
  virtual ~other_parts() = default;

  /// Which part this is and what it reads.
  [[nodiscard]] virtual const partition& mine() const = 0;
  /// The worst of what all parts say.
  [[nodiscard]] virtual starling::future<verdict> agree(const verdict& mine) = 0;
  /// What left the domain in a step, [own sub-grids][15]: added up in the order of all sub-grids.
  [[nodiscard]] virtual starling::future<> account(std::vector<double> amounts) = 0;

  /// The message for `mine().halos()[n]`, from memory of the host. Over when that may be
  /// overwritten. The next one follows it.
  [[nodiscard]] virtual starling::future<> send(std::size_t n, std::span<const double> message) = 0;
  /// The next message from there.
  [[nodiscard]] virtual starling::future<> receive(std::size_t n, std::span<double> message) = 0;
  /// The same in the order of a stream, for memory of its device.
  [[nodiscard]] virtual starling::channel_wait send(std::size_t n, std::span<const double> message,
                                                    starling::stream& at) = 0;
  [[nodiscard]] virtual starling::borrow_wait<double> borrow(std::size_t n, std::size_t size,
                                                             starling::stream& at) = 0;
};

/// The fastest signal of all parts, of which `mine` becomes the first fault. Null: there is one
/// part.
inline starling::task<double> agree(other_parts* others, double fastest,
                                    std::optional<fault>& mine) {
  if (others == nullptr) co_return fastest;
  const verdict all = co_await others->agree({fastest, mine.has_value(), mine.value_or(fault{})});
  if (all.is_faulty) mine = all.first;
  co_return all.fastest;
}

}  // namespace sedov
