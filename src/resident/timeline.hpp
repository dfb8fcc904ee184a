// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include <starling/core/trace.hpp>

#include "driver.hpp"

namespace starling::resident::detail {

/// What the schedulers of a rank's devices did last, a track for each with how many messages it
/// sent; spans of entry methods and of idleness. After the end. Thread-safe.
void write_timeline(const driver& memory, const std::vector<std::string_view>& entries, tracer& to);

}  // namespace starling::resident::detail
