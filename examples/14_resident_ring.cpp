// SPDX-License-Identifier: Apache-2.0
// Resident chares, whose schedulers run on a device: a number passes around a ring of chares, and
// each adds its index. No host thread takes part. The same source runs on every backend.
#include <cstdint>
#include <cstdio>

#include <starling/core.hpp>
#include <starling/resident.hpp>

using namespace starling;
using resident::entry;

template <class Cx>
struct station : resident::chare {
  constexpr void pass(Cx& cx, int rounds_left, long sum, resident::host_mailbox<long> end) {
    const auto ring = cx.array_of(*this);
    const std::uint32_t next = (index() + 1) % ring.size();
    sum += index();
    if (next == 0 && --rounds_left == 0) return cx.send(end, sum);
    cx.invoke(ring[next], entry<&station::pass>, rounds_left, sum, end);
  }
  struct entries : resident::entries<&station::pass> {};
};

using ring_program = resident::system<resident::program<station>>;
using host = station<ring_program::context>;

task<int> go_around(runtime& rt) {
  constexpr int stations = 100, rounds = 10;
  ring_program program(rt, {.schedulers = 4});
  const auto ring = program.create<station>(stations, resident::placement::round_robin);
  const auto end = program.make_host_mailbox<long>();
  co_await program.start();
  co_await program.invoke(ring[0], entry<&host::pass>, rounds, 0L, end);
  const long sum = co_await program.receive(end);
  program.stop();
  const resident::end_report report = co_await program.ended();
  std::printf("%d rounds of a ring of %d: %ld, in %llu entry methods\n", rounds, stations, sum,
              static_cast<unsigned long long>(report.entries_run));
  if (report.entries_run != std::uint64_t(rounds) * stations || report.left != 0) co_return 1;
  co_return sum == long{rounds} * stations*(stations - 1) / 2 ? 0 : 1;
}

int main(int argc, char** argv) {
  runtime rt(argc, argv);
  return rt.sync_wait(go_around(rt));
}
