// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <starling/core/options.hpp>

namespace starling::detail {

/// Returns the default number of workers of a runtime: one for each allowed core, within the CPU
/// limit of the process's control groups.
[[nodiscard]] unsigned default_workers();

/// The cores to which a runtime binds its workers. Runtimes of a process do not share cores as long
/// as there are enough. Any thread constructs and destroys claims.
class core_claim {
 public:
  /// Claims cores. With `automatic`, only if there is one worker for each core and no other runtime
  /// has claimed cores. With `core`, in any case: the cores with the fewest workers first.
  core_claim(binding wanted, unsigned workers);
  ~core_claim();
  core_claim(const core_claim&) = delete;
  core_claim& operator=(const core_claim&) = delete;

  /// Binds the calling thread, worker `index`, to its core, if there is a claim. A failure is
  /// ignored: binding only affects speed, and containers often forbid it.
  void bind(unsigned index) const noexcept;

 private:
  std::vector<unsigned> m_core_of_worker;
};

}  // namespace starling::detail
