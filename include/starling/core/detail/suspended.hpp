// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <source_location>
#include <string>

#include <starling/core/detail/promise_base.hpp>

namespace starling::detail {

/// Visits the coroutines that are suspended on the calling worker, resume there only, and await
/// anything but a child task. Visits all frames of the process and holds the lock of the frame
/// pools, so that it is slow, and `visit` must neither allocate nor free frames.
void for_each_suspended_here(const std::function<void(promise_base&)>& visit);

/// Returns file and line, without folders, which belong to the machine that compiled the program.
[[nodiscard]] std::string short_text(const std::source_location& location);

}  // namespace starling::detail
