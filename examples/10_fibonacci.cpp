// SPDX-License-Identifier: Apache-2.0
// Dynamic chares: each creates two children, adds the numbers they return, and destroys them.
#include <cstdint>
#include <cstdio>

#include <starling/core.hpp>
#include <starling/objects.hpp>

using namespace starling;

// The root has index 1; the children of k have the indices 2 k and 2 k + 1.
struct fibonacci : chare<fibonacci, std::uint64_t> {
  task<long> number(int n) {
    if (n < 2) co_return n;
    const auto all = this_array();
    const auto first = all[2 * this_index()], second = all[2 * this_index() + 1];
    all.insert(first.index());
    all.insert(second.index());
    auto a = first.call<&fibonacci::number>(n - 1);
    auto b = second.call<&fibonacci::number>(n - 2);
    const long sum = co_await std::move(a) + co_await std::move(b);
    first.destroy();
    second.destroy();
    co_return sum;
  }
};

task<int> root(runtime& rt) {
  const auto all = create_sparse_array<fibonacci>(rt);
  all.insert(1);
  const long result = co_await all[1].call<&fibonacci::number>(20);
  std::printf("Fibonacci number 20: %ld\n", result);
  co_return result == 6765 ? 0 : 1;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  return run(rt, root(rt));
}
