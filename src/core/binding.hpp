// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <starling/core/options.hpp>

namespace starling::detail {

/// Cores in the affinity mask of this process (hwloc); at least 1.
[[nodiscard]] unsigned allowed_cores();
/// How many workers a runtime has by default: one for each of these, within the CPU limit of the
/// process's control groups.
[[nodiscard]] unsigned default_workers();

/// Cores that one runtime ties its workers to. Runtimes of a process share none as long as there
/// are enough. Claims are made and given back by any thread.
class core_claim {
 public:
  /// `automatic`: claims where there is one worker for each core and no other runtime has claimed
  /// any. `core`: claims always, cores with the fewest workers first.
  core_claim(binding wanted, unsigned workers);
  ~core_claim();
  core_claim(const core_claim&) = delete;
  core_claim& operator=(const core_claim&) = delete;

  /// Ties the calling thread, worker `index`, to its core, if there is a claim. A refusal is
  /// ignored: binding is a matter of speed, and containers often forbid it.
  void bind(unsigned index) const noexcept;

 private:
  std::vector<unsigned> m_core_of_worker;
};

}  // namespace starling::detail
