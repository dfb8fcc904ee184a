// SPDX-License-Identifier: Apache-2.0
/// \file
/// From which restart file a run continues without being told its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "driver/settings.hpp"

namespace stars {

/// What `starling launch` says about the job of this process.
struct launched_job {
  std::int64_t restarts = 0;  ///< how often the job has been started again
  std::int64_t begin_ns = 0;  ///< of its first start, since 1970
};
[[nodiscard]] launched_job job_of_environment();

/// The restart files of a folder.
struct found_restart {
  std::optional<std::filesystem::path> newest;  ///< that is whole
  std::vector<std::string> unusable;            ///< why later ones are not: one line for each
};

/// Returns the file `restart<step>.h5` of the highest step that was written at `not_before_ns` or
/// later and is whole: all checksums are right. Reads the data of this file and of later ones that
/// are not whole, a few MB at a time. An absent folder has no files.
[[nodiscard]] found_restart newest_restart(const std::filesystem::path& folder,
                                           std::int64_t not_before_ns);

/// Removes what killed ranks have left unfinished in the folder: temporary files and folders beside
/// restart files and plots. No other process may write there.
void remove_unfinished(const std::filesystem::path& folder);

/// Chooses the restart file of a run, before `begin_run`. A job that was started again continues
/// from the newest file that it has written itself, whatever `--restart` says; before its first one
/// it begins as at its first start. `--restart latest` is the file of the highest step in the
/// folder, or a new run if there is none. Prints what it has chosen and what it could not use.
/// @throws starling::option_error if there are files for `--restart latest` and none is whole
void choose_restart(settings& s, const launched_job& job);

}  // namespace stars
