// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <starling/objects.hpp>

namespace starling_test {

/// Goes to a worker, and says where it is.
struct moved : starling::chare<moved> {
  void go(int to) { migrate_to(std::size_t(to)); }
  void nothing() {}
  int place() { return int(this_worker()); }
  template <class Archive>
  void serialize(Archive&) {}
};

}  // namespace starling_test
