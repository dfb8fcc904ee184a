// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <starling/net/bootstrap.hpp>

/// The implementations behind make_bootstrap(), and what they share.
namespace starling::detail {

/// What one rank may give to an all_gather.
inline constexpr std::size_t gather_limit = std::size_t{1} << 20;

/// @throws usage_error when `mine` is larger than gather_limit
void check_gather_size(const std::string& mine);

/// STARLING_BOOTSTRAP_TIMEOUT, 60 s where it is not set. @throws option_error
[[nodiscard]] std::chrono::milliseconds bootstrap_timeout();

/// Stands for one that lives as long as the process: launchers take one connection from each rank,
/// and PMIx cannot be started again once it has ended.
[[nodiscard]] std::unique_ptr<bootstrap> lend(bootstrap& of_process);

[[nodiscard]] std::unique_ptr<bootstrap> make_alone_bootstrap();
/// By STARLING_LAUNCH_…
[[nodiscard]] std::unique_ptr<bootstrap> make_local_bootstrap();
/// @throws backend_unavailable in a build without PMIx
[[nodiscard]] std::unique_ptr<bootstrap> make_pmix_bootstrap();

/// One line about this program and the Starling it runs with: version, compiler, and the build-id
/// notes (where there are none, a hash of the files) of the program and of Starling's libraries.
[[nodiscard]] std::string own_build_id();

/// Nothing where all are the same, else who differs from rank 0, and how.
[[nodiscard]] std::string build_differences(const std::vector<std::string>& id_by_rank);

/// Collective. @throws bootstrap_error on every rank when the ids are not all the same
void compare_builds(bootstrap& ranks, const std::string& own_id);

}  // namespace starling::detail
