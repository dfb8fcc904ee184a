// SPDX-License-Identifier: Apache-2.0
#include <starling/device/interop/sycl_kernels.hpp>
#include <starling/device/stream.hpp>

#include "kernels.hpp"

namespace {
struct nameless {
  constexpr void operator()(starling::index3) const {}
};
}  // namespace

template struct starling::sycl::instantiate<nameless>;

namespace starling::sycl {
void submit_nameless(stream& s) { s.submit(range{1}, nameless{}); }
}  // namespace starling::sycl
