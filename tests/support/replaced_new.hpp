// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace starling {

/// Allocates memory for `operator new`, which replaced_new.cpp replaces. Defined by the test
/// program. Returns null if there is no memory. Any thread.
void* memory_for_new(std::size_t bytes) noexcept;

}  // namespace starling
