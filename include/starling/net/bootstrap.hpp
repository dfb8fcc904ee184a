// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <starling/core/error.hpp>

namespace starling {

/// The ranks of a job could not find each other: no launcher where one was said to be, a wrong
/// secret, different builds, a rank that went away. The message names cause and remedy.
class bootstrap_error : public error {
 public:
  using error::error;
};

/// How the processes that a launcher has started together find each other, before there is a
/// transport. Each of them is a rank, 0 ≤ rank() < size().
///
/// Not thread-safe. Every rank makes the same collective calls in the same order.
class bootstrap {
 public:
  virtual ~bootstrap() = default;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// Ranks of this host count from 0 in the order of their ranks.
  [[nodiscard]] virtual int local_rank() const noexcept = 0;
  [[nodiscard]] virtual int local_size() const noexcept = 0;
  /// "alone", "starling launch" or "PMIx": for messages.
  [[nodiscard]] virtual const char* name() const noexcept = 0;

  /// Collective: what each rank gave, by rank. Any bytes, at most 1 MiB.
  /// @throws bootstrap_error when a rank or the launcher has gone, or says nothing for
  /// STARLING_BOOTSTRAP_TIMEOUT seconds (60)
  [[nodiscard]] virtual std::vector<std::string> all_gather(const std::string& mine) = 0;

  /// Asks the launcher to end the job with `exit_code`, and says why on its stderr. Returns where
  /// there is no launcher.
  virtual void abort(int exit_code, const std::string& why) noexcept = 0;
};

/// The bootstrap of this process, by its environment: that of `starling launch`
/// (STARLING_LAUNCH_…), else of PMIx (PMIX_RANK, as mpirun, prterun and srun set it) if Starling
/// was built with it, else one rank alone. Ranks have compared their builds.
/// @throws bootstrap_error; backend_unavailable under PMIx without support for it
[[nodiscard]] std::unique_ptr<bootstrap> make_bootstrap();

}  // namespace starling
