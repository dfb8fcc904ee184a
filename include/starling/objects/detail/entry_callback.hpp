// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core/detail/state.hpp>

namespace starling::detail {

class chare_core;

/// The callback that is subscribed to the coroutine of an entry method (`promise_base::of_entry`).
struct entry_callback : callback {
  chare_core* owner = nullptr;  // the chare that runs the entry method
};

}  // namespace starling::detail
