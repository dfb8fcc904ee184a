// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <stdexcept>

#include <fmt/format.h>

#include <starling/objects.hpp>

#include "io/files.hpp"

namespace stars {

/// Returns the result of `action()`, which reads or writes a part of a file.
/// @throws std::runtime_error in place of `output_error`; on ranks other than the first one its
/// text has the number of the rank
template <class Action>
auto naming_rank(Action action) {
  try {
    return action();
  } catch (const output_error& e) {
    const int rank = starling::this_rank().number;
    if (rank == 0) throw std::runtime_error(e.what());
    const bool absent = e.code() == ENOENT || e.code() == ENOTDIR;
    throw std::runtime_error(fmt::format(
        "rank {}: {}{}", rank, e.what(),
        absent ? "; all ranks must see the same files: give a path that begins with '/' in a file "
                 "system that they share"
               : ""));
  }
}

}  // namespace stars
