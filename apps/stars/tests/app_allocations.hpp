// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace stars::test {

/// Records the largest allocation by `new` of all threads of the process, from its construction on.
/// One at a time.
class allocation_record {
 public:
  allocation_record() noexcept;

  /// Returns the size of the largest allocation so far, in bytes.
  [[nodiscard]] std::size_t largest() const noexcept;
};

}  // namespace stars::test
