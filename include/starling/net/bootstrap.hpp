// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <starling/core/error.hpp>

namespace starling {

/// Error of ranks that could not find each other: the launcher named by the environment is missing,
/// the secret is wrong, builds differ, a rank has ended. The message names cause and remedy.
class bootstrap_error : public error {
 public:
  using error::error;
};

/// Exchange of data between the ranks that a launcher has started together, before a transport
/// exists. Each process is one rank, 0 ≤ rank() < size().
///
/// Not thread-safe. Every rank makes the same collective calls in the same order.
class bootstrap {
 public:
  virtual ~bootstrap() = default;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// Returns the position among the ranks of this host, from 0, in the order of their ranks.
  [[nodiscard]] virtual int local_rank() const noexcept = 0;
  [[nodiscard]] virtual int local_size() const noexcept = 0;
  /// Returns "alone", "starling launch" or "PMIx", for messages.
  [[nodiscard]] virtual const char* name() const noexcept = 0;

  /// Collective. Returns the bytes given by each rank, indexed by rank. Any content, at most 1 MiB.
  /// @throws bootstrap_error when a rank or the launcher has ended, or does not answer within
  /// STARLING_BOOTSTRAP_TIMEOUT seconds (60); usage_error when `mine` is larger than 1 MiB
  [[nodiscard]] virtual std::vector<std::string> all_gather(const std::string& mine) = 0;

  /// Asks the launcher to end the job with `exit_code` and to print `why` on stderr. Has no effect
  /// without a launcher.
  virtual void abort(int exit_code, const std::string& why) noexcept = 0;
};

/// Makes the bootstrap that the environment selects: `starling launch` (STARLING_LAUNCH_…), else
/// PMIx (PMIX_RANK, set by mpirun, prterun and srun), else a single rank. Several ranks compare
/// their builds. @throws bootstrap_error, also when builds differ; backend_unavailable under PMIx
/// when Starling was built without it; option_error for a bad STARLING_BOOTSTRAP_TIMEOUT
[[nodiscard]] std::unique_ptr<bootstrap> make_bootstrap();

}  // namespace starling
