// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <stdexcept>

#include <fmt/format.h>

#include <starling/objects.hpp>

#include "io/files.hpp"

namespace stars {

/// Returns the result of `action()`, which reads or writes a part of a file.
/// @throws std::runtime_error in place of `output_error` and `std::invalid_argument` (a file that
/// does not fit the run); on ranks other than the first one its text has the number of the rank
template <class Action>
auto naming_rank(Action action) {
  const auto named = [](const std::exception& e, const char* remedy = "") {
    const int rank = starling::this_rank().number;
    return std::runtime_error(rank == 0 ? e.what()
                                        : fmt::format("rank {}: {}{}", rank, e.what(), remedy));
  };
  try {
    return action();
  } catch (const output_error& e) {
    const bool absent = e.code() == ENOENT || e.code() == ENOTDIR;
    throw named(e, absent ? "; all ranks must see the same files: give a path that begins with '/' "
                            "in a file system that they share"
                          : "");
  } catch (const std::invalid_argument& e) {
    throw named(e);
  }
}

}  // namespace stars
