// SPDX-License-Identifier: Apache-2.0
// Coroutines in a file that nvcc compiles. CMake leaves this file out before CUDA 13, as nvcc 12.4
// cannot compile coroutines of the runtime.
#include <utility>

#include <gtest/gtest.h>
#include <starling/core.hpp>

namespace starling::gpu_test {

// Not in the unnamed namespace, as g++ warns of coroutines of such types in files of nvcc.
int twenty() { return 20; }
int doubled(int v) { return 2 * v; }
task<int> plus_three(future<int> ready) { co_return co_await std::move(ready) + 3; }
task<int> continued() { co_return co_await async(&twenty).then(&doubled).then(&plus_three); }

namespace {

// nvcc once failed on the choice that `then` makes between a function of the value and one of the
// future.
TEST(continuations_in_a_cuda_file, are_called_with_the_value_or_the_future) {
  runtime_options one;
  one.workers = 1;
  runtime rt(one);
  EXPECT_EQ(rt.sync_wait(continued()), 43);
}

}  // namespace
}  // namespace starling::gpu_test
