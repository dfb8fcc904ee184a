// SPDX-License-Identifier: Apache-2.0
// Awaiting messages with `when`: prefix sums by doubling the distance in each round.
#include <cstdio>

#include <starling/core.hpp>
#include <starling/objects.hpp>

using namespace starling;

struct position : chare<position> {
  awaited value(int round, long sum);  // from the element `distance` before this one

  task<> add_up() {
    const int n = this_array().extent().extent();
    m_sum = this_index() + 1;
    for (int round = 0, distance = 1; distance < n; ++round, distance *= 2) {
      if (this_index() + distance < n)
        this_array()[this_index() + distance].invoke<&position::value>(round, m_sum);
      if (this_index() >= distance) m_sum += co_await when<&position::value>(round);
    }
  }
  void check(callback<int> to) {
    const long i = this_index() + 1;
    contribute(int(m_sum == i * (i + 1) / 2), reduction::sum{}, to);
  }

 private:
  long m_sum = 0;
};

task<int> right_sums(runtime& rt) {
  constexpr int n = 1000;
  const auto all = create_array<position>(rt, n, placement::block);
  all.invoke<&position::add_up>();
  co_await quiescence();  // waits for the end of all rounds: no single element can detect it
  auto [to, count] = make_reply<int>();
  all.invoke<&position::check>(to);
  const int right = co_await std::move(count);
  std::printf("prefix sums of 1 … %d: %d of them right\n", n, right);
  co_return right == n ? 0 : 1;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  return run(rt, right_sums(rt));
}
