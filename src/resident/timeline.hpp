// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include <starling/core/trace.hpp>

#include "driver.hpp"

namespace starling::resident::detail {

/// Writes the last trace records of a rank's schedulers to the tracer, after they have ended. Each
/// scheduler has a track, with its number of messages; spans are entry methods and idle times.
/// Thread-safe.
void write_timeline(const driver& memory, const std::vector<std::string_view>& entries, tracer& to);

}  // namespace starling::resident::detail
