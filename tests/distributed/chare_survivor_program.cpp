// SPDX-License-Identifier: Apache-2.0
// A rank of a job of chares that is killed:
//     test_chare_survivor FOLDER RANK SIZE DEED
// Rank 1 kills itself in an entry method, as DEED says; `run` of the others must say so.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <starling/core.hpp>
#include <starling/net.hpp>
#include <starling/objects.hpp>

#include "folder_bootstrap.hpp"

namespace {

using starling::runtime;
using starling::task;

constexpr int victim = 1;
constexpr unsigned most_seconds = 30;  // then the program is ended: something hangs

struct worker : starling::chare<worker> {
  void hop(long more) {
    const int n = this_array().extent().extent();
    if (more == 0) ::raise(SIGKILL);
    const int next = more == 1 ? victim : (this_index() + 1) % n;
    this_array()[next].invoke<&worker::hop>(more - 1);
  }
  task<> add_up(long before_the_end) {
    for (long round = 0;; ++round) {
      if (starling::this_rank().number == victim && round == before_the_end) ::raise(SIGKILL);
      static_cast<void>(co_await reduce(round, starling::reduction::sum()));
    }
  }
  void die() { ::raise(SIGKILL); }
};

task<int> lead(runtime& rt, std::string deed) {
  const auto workers = starling::create_rank_group<worker>(rt);
  if (deed == "hopping") workers[0].invoke<&worker::hop>(500L);
  if (deed == "adding") workers.invoke<&worker::add_up>(50L);
  if (deed == "idle") workers[victim].invoke<&worker::die>();
  starling::promise<> never;
  co_await never.get_future();
  co_return 12;
}

}  // namespace

int main(int, char** argv) {
  ::alarm(most_seconds);
  try {
    distributed::folder_bootstrap ranks(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
    const auto network = starling::make_transport(ranks, starling::transport_kind::ucx);
    starling::runtime_options options;
    options.workers = 2;
    options.bind = starling::binding::none;
    options.hang_diagnosis = false;  // one that waits for the end is idle on purpose
    runtime rt(options);
    return starling::run(rt, *network, lead(rt, argv[4]));
  } catch (const starling::rank_failure& e) {
    std::printf("%s\n", e.what());
    return e.rank() == victim ? 0 : 13;
  } catch (const starling::backend_unavailable& e) {
    std::printf("skipped: %s\n", e.what());
    return 77;
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 14;
  }
}
