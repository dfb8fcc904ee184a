// SPDX-License-Identifier: Apache-2.0
//
// Measures time and memory of many messages to one chare that does not take them yet. See
// README.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "../common/job.hpp"
#include "../common/memory_use.hpp"
#include "../common/report.hpp"

namespace {

namespace bench = starling::bench;
using starling::element, starling::runtime, starling::task;

struct question {
  std::string name;
  bool is_heeded;  // each message waits until the receiver's rank has room
  std::size_t bytes;
  long messages;
};
const std::vector<question> questions = {
    {"heeded_8b", true, 8, 1'000'000},
    {"heeded_1k", true, 1 << 10, 1'000'000},
    {"heedless_8b", false, 8, 1'000'000},
};

using payload = std::vector<std::uint64_t>;

/// One element on each rank: element 0 receives, the remaining elements send equal shares.
struct player : starling::chare<player> {
  starling::awaited item(payload data);
  /// Returns the sum of the numbers in `count` messages; 0 if a message has a wrong size.
  task<std::uint64_t> take(long count, std::size_t bytes) {
    std::uint64_t sum = 0;
    m_words = bytes / sizeof(std::uint64_t);
    for (; count > 0; --count) {
      const payload data = co_await when<&player::item>();
      if (data.size() != m_words) co_return 0;
      sum += data.front() + data.back();
    }
    co_return sum;
  }
  task<> send(element<player> to, long count, std::size_t bytes, bool is_heeded) {
    payload data(bytes / sizeof(std::uint64_t));
    for (m_sent = 0; m_sent < count; ++m_sent) {
      if (is_heeded) co_await to.ready();
      data.front() = data.back() = std::uint64_t(m_sent);
      to.invoke<&player::item>(data);
    }
  }
  long sent() const { return m_sent; }
  /// Resets the maximum of the memory use. The process' memory before the first flood is the
  /// baseline: later floods reuse memory of earlier floods.
  void begin_to_count() {
    bench::forget_most_memory();
    if (m_before == 0) m_before = bench::status_mib("VmRSS:");
  }
  /// Returns the maximum memory above the baseline, in MiB.
  double most_memory() const { return bench::status_mib("VmHWM:") - m_before; }

 private:
  long m_sent = 0;
  std::size_t m_words = 0;
  double m_before = 0;
};

struct flood {
  starling::chare_array<player> players;
  long each;  // messages of each sender
  question asked;

  [[nodiscard]] int senders() const { return players.extent().extent() - 1; }
  [[nodiscard]] long all() const { return each * long(senders()); }
  /// Returns whether the messages exceed, by far, the room for senders that heed the receiver.
  [[nodiscard]] bool is_much() const { return double(each) * double(asked.bytes + 128) > 8e6; }
  [[nodiscard]] std::uint64_t sum() const {
    return std::uint64_t(senders()) * std::uint64_t(each) * std::uint64_t(each - 1);
  }
};

struct sizes_mib {
  double of_receiver = 0, of_sender = 0;
};
task<sizes_mib> most_memory(const flood& f) {
  sizes_mib most{co_await f.players[0].call<&player::most_memory>()};
  for (int s = 1; s <= f.senders(); ++s)
    most.of_sender = std::max(most.of_sender, co_await f.players[s].call<&player::most_memory>());
  co_return most;
}

task<std::uint64_t> run_once(const flood& f, long& ahead) {
  std::vector<starling::future<>> ends;
  for (int s = 1; s <= f.senders(); ++s)
    ends.push_back(
        f.players[s].call<&player::send>(f.players[0], f.each, f.asked.bytes, f.asked.is_heeded));
  co_await starling::quiescence();  // all have arrived or are held back, as no element receives
  ahead = 0;
  for (int s = 1; s <= f.senders(); ++s) ahead += co_await f.players[s].call<&player::sent>();
  const std::uint64_t sum = co_await f.players[0].call<&player::take>(f.all(), f.asked.bytes);
  for (auto& end : ends) co_await std::move(end);
  co_return sum;
}

struct options : bench::options {
  double most_mib = 64;
};

task<> ask(const flood& f, const options& chosen, bench::report& out) {
  const std::string& name = f.asked.name;
  bench::sampling runs(chosen, name, std::uint64_t(f.all()));
  sizes_mib most;
  long ahead = 0;
  while (runs.wants_more()) {
    for (int r = 0; r <= f.senders(); ++r) co_await f.players[r].call<&player::begin_to_count>();
    runs.begin();
    const std::uint64_t sum = co_await run_once(f, ahead);
    runs.end();
    runs.judge(sum + (chosen.breaks(name) ? 1 : 0) == f.sum());
    const sizes_mib now = co_await most_memory(f);
    most = {std::max(most.of_receiver, now.of_receiver), std::max(most.of_sender, now.of_sender)};
  }
  out.add(runs.result());
  out.metric(name + "_sent_ahead", double(ahead));
  out.metric(name + "_receiver_MiB", most.of_receiver);
  out.metric(name + "_sender_MiB", most.of_sender);
  fmt::print(
      "{:<22}{:>10} sent before one was received; memory grew by {:.1f} MiB where they are "
      "received, {:.1f} where they are sent\n",
      "", ahead, most.of_receiver, most.of_sender);
  const bool is_held_back = ahead != f.all();
  const bool is_as_wished = f.asked.is_heeded ? is_held_back || !f.is_much() : !is_held_back;
  const bool is_bounded =
      !f.asked.is_heeded || std::max(most.of_receiver, most.of_sender) <= chosen.most_mib;
  out.check(name + "_is_held_back_where_heeded", is_as_wished);
  out.check(name + "_memory_is_bounded_where_heeded", is_bounded);
  if (!is_as_wished) fmt::print("{} was {}held back\n", name, is_held_back ? "" : "not ");
  if (!is_bounded) fmt::print("{} took more memory than {} MiB\n", name, chosen.most_mib);
  std::fflush(stdout);  // another rank may end the job first
}

task<int> lead(const options& chosen, bench::report& out) {
  if (starling::rank_count() < 2)
    throw starling::usage_error("start it with `starling launch -n 2`");
  out.config("ranks", starling::rank_count());
  out.config("most_MiB", chosen.most_mib);
  out.print_heading();
  flood f{starling::create_rank_group<player>(*runtime::current()), 0, {}};
  for (const question& q : questions) {
    if (!chosen.runs(q.name)) continue;
    f.asked = q;
    f.each = std::max(1L, std::lround(chosen.scale * double(q.messages) / f.senders()));
    co_await ask(f, chosen, out);
  }
  out.write(chosen.json);
  co_return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* name = "flood_starling";
  options chosen;
  CLI::App app{"Many messages to one chare that takes none before all senders are held back"};
  bench::add_options(app, chosen);
  app.add_option("--most-mib", chosen.most_mib,
                 "Memory by which a process may grow with back-pressure")
      ->capture_default_str();
  std::vector<std::string> names;
  for (const question& q : questions) names.push_back(q.name);
  return bench::run_job(name, argc, argv, app, chosen, names,
                        [&](bench::report& out) { return lead(chosen, out); });
}
