// SPDX-License-Identifier: Apache-2.0
// The folder of each rank: a path in which `{rank}` and `{host}` stand for the rank's number and
// the name of its host, and a file by which ranks detect that they see the same folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace starling::detail {

/// The file of a folder with its random id, which differs between folders and is the same for all
/// ranks that see the folder.
inline constexpr const char* folder_id_name = "folder.id";

/// Returns the host's name; "?" if the system has none.
[[nodiscard]] std::string host_name();

/// Replaces the placeholders.
[[nodiscard]] std::string folder_path(std::string_view pattern, int rank, std::string_view host);

/// Returns the existing folders whose paths `pattern` gives for any rank and host, sorted; none if
/// the pattern has no placeholder. Folders that cannot be listed have none.
[[nodiscard]] std::vector<std::string> matching_folders(const std::string& pattern);

/// Returns the id of a folder; 0: the folder, or its id, does not exist. @throws checkpoint_error
[[nodiscard]] std::uint64_t folder_id(const std::string& folder);

/// Returns the id of an existing folder and gives it one if necessary. Several ranks may do so at
/// the same time: all get the same id. @throws checkpoint_error
[[nodiscard]] std::uint64_t make_folder_id(const std::string& folder);

}  // namespace starling::detail
