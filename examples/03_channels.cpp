// SPDX-License-Identifier: Apache-2.0
// Channels: a pipeline of tasks. A send waits while the channel is full; a closed channel ends the
// loop of its receiver.
#include <cstdio>

#include <starling/core.hpp>

using namespace starling;

task<> numbers(channel<int>& out, int count) {
  for (int i = 1; i <= count; ++i) co_await out.send(i);
  out.close();
}

task<> keep_multiples(channel<int>& in, channel<int>& out, int factor) {
  while (auto value = co_await in.receive())
    if (*value % factor == 0) co_await out.send(*value);
  out.close();
}

task<long> sum(channel<int>& in) {
  long total = 0;
  while (auto value = co_await in.receive()) total += *value;
  co_return total;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  channel<int> all(8);        // holds at most eight values
  channel<int> multiples(0);  // holds no value: each send waits for a receive

  rt.post(numbers(all, 1000));
  rt.post(keep_multiples(all, multiples, 7));
  const long total = rt.sync_wait(sum(multiples));

  const long expected = 7L * 142 * 143 / 2;
  std::printf("sum of the multiples of 7 up to 1000: %ld\n", total);
  return total == expected ? 0 : 1;
}
