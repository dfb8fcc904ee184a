// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling {

/// Whether the calling thread gets no memory: neither from `new` nor for slabs of the frame pool,
/// whose free blocks it still gets.
void refuse_memory(bool refused) noexcept;

/// The same, after `allocations` more of them.
void refuse_memory_after(int allocations) noexcept;

/// The same for a scope.
class no_memory {
 public:
  no_memory() noexcept { refuse_memory(true); }
  ~no_memory() { refuse_memory(false); }
  no_memory(const no_memory&) = delete;
  no_memory& operator=(const no_memory&) = delete;
};

}  // namespace starling
