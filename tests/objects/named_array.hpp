// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/objects.hpp>

namespace starling_test {

/// Names an array, which must exist where this is read; 0: none.
struct named_array {
  starling::detail::object_id id = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(id);
    if constexpr (Archive::is_reading)
      if (id != 0) static_cast<void>(starling::detail::receiving_space().array(id));
  }
};

}  // namespace starling_test
