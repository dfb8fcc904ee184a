// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core.hpp>

#include "../common/affinity.hpp"

namespace task_graphs {

/// Returns options for `workers` workers, each bound to a core of its own if there are enough
/// cores, like the threads of the remaining competitors. A binding chosen by option or variable
/// prevails.
[[nodiscard]] inline starling::runtime_options options_for(int workers) {
  auto options = starling::runtime_options::from_environment();
  options.workers = unsigned(workers);
  if (options.bind == starling::binding::automatic &&
      starling::bench::cores().size() >= options.workers)
    options.bind = starling::binding::core;
  return options;
}

}  // namespace task_graphs
