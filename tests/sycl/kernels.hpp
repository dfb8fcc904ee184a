// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/device/kernel.hpp>

namespace starling {
class stream;
}

namespace starling::sycl {

struct twice {
  int* a;
  constexpr void operator()(index3 i) const { a[i.x] *= 2; }
};

/// Instantiated in a file that the device's compiler rejects.
struct host_only {
  int* a;
  constexpr void operator()(index3 i) const { a[i.x] = 0; }
};

/// Writes the number of threads of the group.
struct count_threads {
  int* a;
  template <class Group, class Index>
  constexpr void operator()(Group& g, Index) const {
    if (g.rank() == 0) *a = g.size();
  }
};

/// Submits a kernel whose type has no name outside its file.
void submit_nameless(stream& s);

}  // namespace starling::sycl
