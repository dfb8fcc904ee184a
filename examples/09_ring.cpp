// SPDX-License-Identifier: Apache-2.0
// Chares: a token passes around a ring of chares, and each adds its index. Like all programs that
// start their work with `run`, this program runs on many ranks, too:
// `starling launch -n 4 ./example_09_ring`.
#include <cstdio>

#include <starling/core.hpp>
#include <starling/objects.hpp>

using namespace starling;

struct station : chare<station> {
  void pass(int rounds_left, long sum, callback<long> end) {
    sum += this_index();
    const int n = this_array().extent().extent();
    const int next = (this_index() + 1) % n;
    if (next == 0 && --rounds_left == 0) return end.deliver(std::move(sum));
    this_array()[next].invoke<&station::pass>(rounds_left, sum, end);
  }
};

task<int> go_around(runtime& rt) {
  constexpr int stations = 100, rounds = 10;
  const auto ring = create_array<station>(rt, stations, placement::round_robin);
  auto [end, result] = make_reply<long>();
  ring[0].invoke<&station::pass>(rounds, 0L, end);
  const long sum = co_await std::move(result);
  std::printf("%d rounds of a ring of %d: %ld\n", rounds, stations, sum);
  co_return sum == rounds* stations*(stations - 1) / 2 ? 0 : 1;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  return run(rt, go_around(rt));
}
