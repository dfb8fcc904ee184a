// SPDX-License-Identifier: Apache-2.0
// A rank of a job in which a fault is injected from outside:
//     test_fault FOLDER RANK SIZE SCENE
// Ranks exchange addresses by files in FOLDER or, with RANK -1, through the launcher that has
// started them. When SCENE is reached, rank 1 prints `here: ` and its process number. Most scenes
// last until the file FOLDER/enough exists, or for ever. Errors that `run` throws are printed.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <starling/core.hpp>
#include <starling/net.hpp>
#include <starling/objects.hpp>
#include <starling/resident.hpp>
#include <starling/resident/interop/host_far.hpp>

#include "folder_bootstrap.hpp"

namespace {

using starling::runtime;
using starling::task;

constexpr int victim = 1;
constexpr long for_ever = -1;
constexpr unsigned most_seconds = 60;  // after which SIGALRM ends a hanging program
std::string folder;

bool is_enough() { return std::filesystem::exists(folder + "/enough"); }
void say_here() {
  std::printf("here: %d\n", int(::getpid()));
  std::fflush(stdout);
}
void say_at(int rank, long round) {
  constexpr long settled = 20;
  if (rank == victim && round == settled) say_here();
}
[[noreturn]] void stay() {
  for (;;) ::pause();
}

struct player : starling::chare<player> {
  /// Passes a message around the ranks until FOLDER/enough exists.
  void hop(long round, starling::callback<int> done) {
    say_at(this_index(), round / this_array().extent().extent());
    if (this_index() == 0 && is_enough()) return done.deliver(0);
    const int next = (this_index() + 1) % this_array().extent().extent();
    this_array()[next].invoke<&player::hop>(round + 1, done);
  }
  task<int> add_up() {
    for (long round = 0;; ++round) {
      say_at(this_index(), round);
      const bool enough = this_index() == 0 && is_enough();
      if (co_await reduce(enough, starling::reduction::any())) co_return 0;
    }
  }
  /// Sends large blocks to the next rank and receives blocks from the previous rank. The elements
  /// of a block are its sender's number. Returns the previous rank's number.
  task<int> exchange(long rounds) {
    const int n = this_array().extent().extent();
    const int before = (this_index() + n - 1) % n;
    m_to_next = {*this, this_array()[(this_index() + 1) % n], this_index()};
    m_from_before = {*this, this_array()[before], before};
    m_sent.assign(std::size_t{1} << 18, this_index());
    m_received.resize(m_sent.size());
    for (long round = 0; round != rounds; ++round) {
      say_at(this_index(), round);
      auto sending = m_to_next.send(m_sent);
      co_await m_from_before.receive(m_received);
      co_await std::move(sending);
      if (m_received != std::vector<double>(m_received.size(), before))
        throw std::runtime_error("another block was received than was sent");
    }
    co_return before;
  }
  void rest() { say_here(); }
  void fail() { throw std::domain_error("the method of rank 1 fails"); }
  /// Occupies its worker until FOLDER/enough exists.
  void compute() {
    say_here();
    while (!is_enough()) {
    }
  }

 private:
  // Destroyed with the chare, not before: after a failed receive, a send may still read m_sent.
  std::vector<double> m_sent, m_received;
  starling::chare_channel<double> m_to_next, m_from_before;
};

namespace resident = starling::resident;

template <class Cx>
struct runner : resident::chare {
  constexpr void run(Cx& cx, std::uint32_t left, resident::host_mailbox<std::uint32_t> end) {
    const auto all = cx.array_of(*this);
    if (left == 0) return cx.send(end, index());
    cx.invoke(all[(index() + 1) % all.size()], resident::entry<&runner::run>, left - 1, end);
  }
  struct entries : resident::entries<&runner::run> {};
};

/// Passes a message around the resident schedulers of all ranks until FOLDER/enough exists.
task<int> reside(resident::reach reach) {
  using program = resident::system<resident::program<runner>>;
  runtime& rt = *runtime::current();
  program all(rt,
              {.ranks = std::uint32_t(starling::rank_count()), .schedulers = 2, .reach = reach});
  const std::uint32_t n = all.scheduler_count();
  const auto runners = all.create<runner>(n);
  const auto end = all.make_host_mailbox<std::uint32_t>();
  co_await all.start();
  for (long round = 0; !is_enough(); ++round) {
    if (round == 20) co_await starling::async<&say_here>(starling::rank(victim));
    co_await all.invoke(runners[0], resident::entry<&runner<program::context>::run>, 10 * n + 1,
                        end);
    if (co_await all.receive(end) != 1) co_return 15;
  }
  all.stop();
  const resident::end_report report = co_await all.ended();
  co_return report.left == 0 && report.entries_run % (10 * n + 2) == 0 ? 0 : 16;
}

task<int> lead(runtime& rt, std::string scene) {
  using resident::reach;
  if (scene == "residing") co_return co_await reside(reach::mapped);
  if (scene == "residing_far") co_return co_await reside(reach::nvshmem);
  if (scene == "hosting")
    co_return co_await starling::async<&reside>(starling::rank(victim), reach::mapped);
  const auto players = starling::create_rank_group<player>(rt);
  if (scene == "hopping") {
    auto [to, done] = starling::make_reply<int>();
    players[0].invoke<&player::hop>(0L, to);
    co_return co_await std::move(done);
  }
  if (scene == "computing") {
    players[victim].invoke<&player::compute>();
    co_await starling::quiescence();
    co_return 0;
  }
  if (scene == "ending") co_return 0;
  if (scene == "failing") players[victim].invoke<&player::fail>();
  if (scene == "resting") players[victim].invoke<&player::rest>();
  std::vector<starling::future<int>> ends;
  for (int r = 0; r < players.extent().extent(); ++r) {
    if (scene == "adding") ends.push_back(players[r].call<&player::add_up>());
    if (scene == "exchanging") ends.push_back(players[r].call<&player::exchange>(for_ever));
    if (scene == "working") ends.push_back(players[r].call<&player::exchange>(100L));
  }
  int sum = 0;
  for (auto& end : ends) sum += co_await std::move(end);
  if (scene == "working") std::printf("the sum of all ranks is %d\n", sum);
  if (!ends.empty()) co_return 0;
  starling::promise<> never;
  co_await never.get_future();
  co_return 12;
}

starling::transport::options options_of(const starling::runtime_options& chosen) {
  const double seconds = std::strtod(chosen.get("heartbeat", "1").c_str(), nullptr);
  starling::transport::options o;
  o.heartbeat = std::chrono::milliseconds(long(seconds * 1000));
  return o;
}

int play(int rank, int size, const std::string& scene) {
  starling::runtime_options options = starling::runtime_options::from_environment();
  options.workers = 2;
  options.bind = starling::binding::none;
  options.hang_diagnosis = false;  // a rank that waits for the end is idle on purpose
  if (rank < 0) {
    runtime rt(options);
    // Read from the launcher's variable, as there is no bootstrap yet.
    const char* const mine = std::getenv("STARLING_LAUNCH_RANK");
    if (scene == "joining" && std::atoi(mine) == victim) say_here(), stay();
    return starling::run(rt, lead(rt, scene));
  }
  distributed::folder_bootstrap ranks(folder, rank, size);
  // The transport outlives the runtime, whose workers may still be sending when `run` returns.
  const auto network =
      starling::make_transport(ranks, starling::transport_kind::ucx, options_of(options));
  runtime rt(options);
  if (scene == "joining" && rank == victim) say_here(), stay();
  const int status = starling::run(rt, *network, lead(rt, scene));
  if (scene == "ending" && rank == victim) say_here(), stay();
  return status;
}

}  // namespace

template struct starling::resident::host::instantiate_far<resident::program<runner>>;

int main(int, char** argv) {
  ::alarm(most_seconds);
  folder = argv[1];
  try {
    return play(std::atoi(argv[2]), std::atoi(argv[3]), argv[4]);
  } catch (const starling::rank_failure& e) {
    std::printf("%s\n", e.what());
    return e.rank() == victim ? 10 : 13;
  } catch (const starling::backend_unavailable& e) {
    std::printf("skipped: %s\n", e.what());
    return 77;
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 14;
  }
}
