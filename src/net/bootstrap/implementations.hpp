// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <starling/net/bootstrap.hpp>

/// The implementations behind make_bootstrap(), and their common functions.
namespace starling::detail {

/// Largest contribution of one rank to an all_gather, in bytes.
inline constexpr std::size_t gather_limit = std::size_t{1} << 20;

/// Checks the size of a contribution. @throws usage_error when it is larger than gather_limit
void check_gather_size(const std::string& mine);

/// Returns STARLING_BOOTSTRAP_TIMEOUT, or 60 s if it is not set. @throws option_error
[[nodiscard]] std::chrono::milliseconds bootstrap_timeout();

/// Returns a reference to a bootstrap that exists until the process ends: launchers accept a single
/// connection from each rank, and PMIx cannot be initialised again after its end.
[[nodiscard]] std::unique_ptr<bootstrap> lend(bootstrap& of_process);

[[nodiscard]] std::unique_ptr<bootstrap> make_alone_bootstrap();
/// Connects as STARLING_LAUNCH_… says. @throws bootstrap_error, option_error
[[nodiscard]] std::unique_ptr<bootstrap> make_local_bootstrap();
/// @throws backend_unavailable in a build without PMIx
[[nodiscard]] std::unique_ptr<bootstrap> make_pmix_bootstrap();

/// Returns one line that identifies this program and its Starling: version, compiler, and the
/// build-ids (or hashes of files without one) of the program and of Starling's libraries.
[[nodiscard]] std::string own_build_id();

/// Returns the ranks that differ from rank 0, with their ids; empty if all ids are equal.
[[nodiscard]] std::string build_differences(const std::vector<std::string>& id_by_rank);

/// Compares the builds of all ranks. Collective.
/// @throws bootstrap_error on every rank when the ids are not all equal
void compare_builds(bootstrap& ranks, const std::string& own_id);

}  // namespace starling::detail
