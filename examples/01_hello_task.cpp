// SPDX-License-Identifier: Apache-2.0
// Tasks: lazy coroutines that a runtime runs on its workers.
#include <cstdio>

#include <starling/core.hpp>

using starling::future;
using starling::task;

// A task runs when it is awaited or spawned, not when it is called.
task<int> square(int x) { co_return x* x; }

task<int> sum_of_squares(int n) {
  int sum = 0;
  for (int i = 1; i <= n; ++i) sum += co_await square(i);  // a child task: runs here, at once
  co_return sum;
}

// Parallel recursion: another worker may steal the first half; the second half runs here.
task<long> fibonacci(int n) {
  if (n < 2) co_return n;
  future<long> left = starling::spawn(fibonacci(n - 1));
  const long right = co_await fibonacci(n - 2);
  co_return co_await left + right;
}

int main(int argc, char** argv) {
  starling::runtime rt(argc, argv);  // accepts --starling-workers and further options

  const int squares = rt.sync_wait(sum_of_squares(10));
  const long fib = rt.sync_wait(fibonacci(20));
  std::printf("hello from %u workers: 1 + 4 + … + 100 = %d, fibonacci(20) = %ld\n",
              rt.worker_count(), squares, fib);
  return squares == 385 && fib == 6765 ? 0 : 1;
}
