// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace starling {

/// Sets whether allocations of the calling thread fail: those by `new` and of slabs for the frame
/// pool. Free blocks of the pool remain available.
void refuse_memory(bool refused) noexcept;

/// Makes allocations fail after `allocations` further ones.
void refuse_memory_after(int allocations) noexcept;

/// Makes allocations fail within a scope.
class no_memory {
 public:
  no_memory() noexcept { refuse_memory(true); }
  ~no_memory() { refuse_memory(false); }
  no_memory(const no_memory&) = delete;
  no_memory& operator=(const no_memory&) = delete;
};

}  // namespace starling
