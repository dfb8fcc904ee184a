// SPDX-License-Identifier: Apache-2.0
// A rank of a job in which a rank dies, without a launcher that would end the remaining ranks:
//     test_survivor FOLDER RANK SIZE DEED
// Rank 1 kills itself in the way that DEED names; the remaining ranks must be notified. Ranks
// exchange addresses by files in FOLDER.
#include <signal.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <starling/net.hpp>

#include "folder_bootstrap.hpp"

namespace {

using starling::message;
using starling::transport;

constexpr int victim = 1;
constexpr unsigned most_seconds = 30;  // after which SIGALRM ends a hanging program

struct told {
  int rank = -1;
  std::string text;
  int times = 0;
  static void failure(void* self, const starling::rank_failure& f) noexcept {
    auto& t = *static_cast<told*>(self);
    if (t.times == 0) t.rank = f.rank();
    if (t.times++ != 0) return;  // later failures: remaining ranks that ended
    t.text = f.what();
  }
};

struct counter {
  std::size_t messages = 0;
  static void count(void* self, int, message) noexcept { ++static_cast<counter*>(self)->messages; }
};

/// A transfer that never completes: its peer neither sends nor receives it.
struct hopeless : starling::transfer {
  std::vector<double> memory = std::vector<double>(300'000);
  std::exception_ptr error;
  bool is_over = false;
  explicit hopeless(std::uint64_t with_tag) {
    peer = victim;
    tag = with_tag;
    data = memory.data();
    bytes = memory.size() * sizeof(double);
    done = [](starling::transfer& t, std::exception_ptr e) noexcept {
      static_cast<hopeless&>(t).error = std::move(e);
      static_cast<hopeless&>(t).is_over = true;
    };
  }
};

std::size_t size_of(std::size_t i) { return i % 7 == 0 ? 400'000 : i % 3 * 3000 + 8; }

/// Sends or receives as DEED names, then kills the process.
[[noreturn]] void die(transport& t, const std::string& deed) {
  counter c;
  t.set_handler(0, &counter::count, &c);
  if (deed == "receiving")
    while (c.messages < 200) static_cast<void>(t.progress());
  if (deed == "sending")
    for (std::size_t i = 0; i < 200; ++i) {
      t.send(0, 0, message(size_of(i)));
      static_cast<void>(t.progress());
    }
  ::raise(SIGKILL);
  std::abort();
}

int survive(transport& t, const std::string& deed) {
  told lost;
  counter c;
  t.set_handler(0, &counter::count, &c);
  t.set_failure_handler(&told::failure, &lost);
  hopeless received(7), sent(8);
  t.start_receive(received);
  if (deed == "receiving") t.start_send(sent);
  for (std::size_t i = 0; lost.times == 0; ++i) {
    // Sends at the rate of the receiver; messages that wait when the receiver has died are dropped.
    if (deed == "receiving" && !t.is_congested(victim)) t.send(victim, 0, message(size_of(i)));
    static_cast<void>(t.progress());
  }
  while (!received.is_over || (deed == "receiving" && !sent.is_over))
    static_cast<void>(t.progress());
  t.send(victim, 0, message(100));  // to the failed rank
  for (int i = 0; i < 1000; ++i) static_cast<void>(t.progress());
  std::printf("%s\n", lost.text.c_str());
  if (lost.rank != victim || lost.times == 0 || received.error == nullptr) return 11;
  try {
    t.finish();
    return 12;
  } catch (const starling::rank_failure&) {
    return 0;
  }
}

}  // namespace

int main(int, char** argv) {
  ::alarm(most_seconds);
  try {
    distributed::folder_bootstrap ranks(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
    const auto t = starling::make_transport(ranks, starling::transport_kind::ucx);
    if (ranks.rank() == victim) die(*t, argv[4]);
    return survive(*t, argv[4]);
  } catch (const starling::backend_unavailable& e) {
    std::printf("skipped: %s\n", e.what());
    return 77;
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 14;
  }
}
