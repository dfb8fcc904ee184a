// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core.hpp>
#include <starling/device/device.hpp>
#include <starling/device/stream.hpp>

#include "common/iterations.hpp"
#include "common/physics/group.hpp"
#include "common/physics/problem.hpp"
#include "common/submit.hpp"
#include "common/upload.hpp"

namespace apps {

/// Returns the combined result of all groups of the kernel `first`. Its range has groups along x
/// only; it has a type `combine` and a member `partial`, into which each group writes its result.
/// Everything is submitted to `s`.
template <class First>
starling::task<pattern> reduced(starling::device& where, starling::stream& s, First first) {
  using starling::memory_kind;
  const int groups = first.range().x;
  auto partial = where.allocate<pattern>(memory_kind::device, std::size_t(groups), s);
  auto result = where.allocate<pattern>(memory_kind::device, 1, s);
  auto on_host = where.allocate<pattern>(memory_kind::pinned, 1, s);
  first.partial = partial.data();
  submit(s, first);
  submit(s, reduce_partials<typename First::combine>{partial.data(), groups, result.data()});
  s.copy(on_host, result);
  co_await s.completion();
  co_return on_host.span()[0];
}

/// Returns the results of a chare's values: the checksum by kernel `checksum` and, if `start` has
/// an analytic solution, the error by kernel `error_from(values)`, where `values` are the initial
/// values with tables on the device.
template <class Problem, class Checksum, class ErrorFrom>
starling::task<findings> examined(starling::device& where, starling::stream& s,
                                  const Problem& start, Checksum checksum, ErrorFrom error_from) {
  findings found;
  found.checksum = co_await reduced(where, s, checksum);
  if (start.kind() == problem_kind::mode) {
    const auto tables = upload(where, s, start.tables());
    found.error = co_await reduced(where, s, error_from(start.with(tables.data())));
  }
  co_return found;
}

}  // namespace apps
