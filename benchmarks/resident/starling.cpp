// SPDX-License-Identifier: Apache-2.0
//
// Measures messages between resident chares. See README.md.
#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <starling/objects.hpp>

#include "../common/residence.hpp"
#include "games.hpp"

namespace {

using namespace resident_bench;
namespace bench = starling::bench;

/// The common flags, place and sizes. `--scale` multiplies the counts.
struct settings {
  bench::options common;
  bench::residence where;
  int ring_slots = 64;
  int balls = 0;
  int messages = 0;

  [[nodiscard]] std::uint32_t scaled(double count) const {
    return std::max(1u, std::uint32_t(std::lround(count * common.scale)));
  }
};

/// The goals in ns on an H200; a rate is the inverse.
const std::map<std::string, double> goals = {
    {"number_other", 1000},   {"signal_other", 1000}, {"number_peer", 2000},
    {"block_64k_peer", 4500}, {"to_first", 50},       {"to_all", 10},
    {draining::question, 50},
};

struct kind {
  std::string name;
  ball what;
  std::uint32_t bytes;
  double share;  // of the balls of a small kind
};
const std::vector<kind> kinds = {{"packet", ball::packet, 0, 1},
                                 {"memory_4k", ball::memory, 4096, 0.2},
                                 {"memory_64k", ball::memory, 65536, 0.1},
                                 {"number", ball::number, 0, 1},
                                 {"words", ball::words, 0, 1},
                                 {"block_4k", ball::block, 4096, 0.2},
                                 {"block_64k", ball::block, 65536, 0.1},
                                 {"signal", ball::signal, 0, 1},
                                 {"channel_4k", ball::channel, 4096, 0.2},
                                 {"channel_64k", ball::channel, 65536, 0.1}};

struct crowd_kind {
  std::string name;
  bustle what;
  double share;  // of the messages of each element
};
const std::vector<crowd_kind> crowds = {{"to_first", bustle::to_first, 0.1},
                                        {"to_all", bustle::to_all, 1},
                                        {"barriers", bustle::barriers, 0.1},
                                        {"host_round_trip", bustle::host, 0.1}};

const std::vector<std::string> places = {"same", "other", "peer"};

/// Returns whether a question can run. Players without the runtime would wait for each other on one
/// scheduler, and can use each other's addresses within one process only.
bool fits(const kind& k, const std::string& place, std::uint32_t ranks) {
  const bool has_no_runtime = k.what == ball::packet || k.what == ball::memory;
  return !has_no_runtime || (place != "same" && ranks == 1);
}

std::vector<std::string> all_questions() {
  std::vector<std::string> names;
  for (const std::string& place : places)
    for (const kind& k : kinds)
      if (fits(k, place, 1)) names.push_back(k.name + "_" + place);
  for (const crowd_kind& c : crowds) names.push_back(c.name);
  names.emplace_back(draining::question);
  return names;
}

/// Times `game.play()`, whose items `game.items()` counts: see bench::measure.
template <class Game>
starling::task<void> ask(const settings& chosen, bench::report& out, std::string question,
                         Game& game) {
  co_await game.start();
  bench::sampling runs(chosen.common, question, game.items());
  while (runs.wants_more()) {
    co_await game.prepare();
    runs.begin();
    std::uint64_t answer = co_await game.play();
    runs.end();
    if (chosen.common.breaks(question)) Game::spoil(answer);
    runs.judge(game.correct(answer));
  }
  const bench::measurement result = runs.result();
  out.add(result);
  const auto goal = goals.find(question);
  if (chosen.where.on_device() && goal != goals.end())
    fmt::print("{:>44.1f}  ns, goal {}: {}\n", result.median_ns, goal->second,
               result.median_ns <= goal->second ? "reached" : "missed");
}

resident::options options_of(const settings& chosen, starling::runtime& rt) {
  resident::options o = chosen.where.options(rt);
  o.ring_slots = std::uint32_t(chosen.ring_slots);
  o.blocks = 2;
  o.block_bytes = 65536;
  return o;
}

starling::task<void> ask_players(const settings& chosen, bench::report& out,
                                 starling::runtime& rt) {
  const resident::options o = options_of(chosen, rt);
  const std::map<std::string, std::uint32_t> second = {
      {"same", 0}, {"other", 1}, {"peer", o.schedulers}};
  for (const std::string& place : places) {
    if (second.at(place) >= o.schedulers * o.devices * o.ranks) continue;
    for (const kind& k : kinds) {
      const std::string question = k.name + "_" + place;
      if (!fits(k, place, o.ranks) || !chosen.common.runs(question)) continue;
      const std::uint32_t balls = 2 * chosen.scaled(chosen.balls * k.share / 2);
      game g(rt, o, second.at(place), k.what, balls, k.bytes / 4);
      co_await ask(chosen, out, question, g);
    }
  }
}

starling::task<void> ask_crowds(const settings& chosen, bench::report& out, starling::runtime& rt) {
  const resident::options o = options_of(chosen, rt);
  if (o.schedulers * o.devices * o.ranks < 2) co_return;
  for (const crowd_kind& c : crowds) {
    if (!chosen.common.runs(c.name)) continue;
    gathering all(rt, o, c.what, chosen.scaled(chosen.messages * c.share));
    co_await ask(chosen, out, c.name, all);
  }
  // The ring is passed by its address, which is valid in one process only.
  if (o.schedulers < 2 || o.ranks != 1 || !chosen.common.runs(draining::question)) co_return;
  draining ring(rt, o, chosen.scaled(chosen.messages));
  co_await ask(chosen, out, draining::question, ring);
}

/// Sets the sizes that were not chosen, depending on the place.
void complete(settings& chosen) {
  const bool on_device = chosen.where.on_device();
  if (chosen.balls == 0) chosen.balls = on_device ? 20'000 : 100'000;
  if (chosen.messages == 0) chosen.messages = on_device ? 20'000 : 200'000;
}

starling::task<int> lead(starling::runtime& rt, settings chosen) {
  complete(chosen);
  bench::report out("resident: starling", chosen.common);
  bench::describe(out, options_of(chosen, rt), rt);
  out.config("ring_slots", chosen.ring_slots);
  for (const auto& [question, goal] : goals) out.config("goal_" + question, goal);
  out.print_heading();
  co_await ask_players(chosen, out, rt);
  co_await ask_crowds(chosen, out, rt);
  out.write(chosen.common.json);
  co_return out.exit_code();
}

int run(const settings& chosen) {
  bench::require_known(chosen.common, all_questions());
  bench::require_writable(chosen.common.json);
  return bench::run_job(chosen.common, [&](starling::runtime& rt) { return lead(rt, chosen); });
}

void add_choices(CLI::App& app, settings& chosen) {
  chosen.where.add_to(app);
  bench::add_count(app, "--ring-slots", chosen.ring_slots, 1 << 16,
                   "Messages on their way to a scheduler");
  bench::add_count(app, "--balls", chosen.balls, 1 << 28,
                   "Balls of the smallest games; 0: a default that depends on --place");
  bench::add_count(app, "--messages", chosen.messages, 1 << 19,
                   "Messages of each element of a crowd; 0: a default that depends on --place");
}

}  // namespace

int main(int argc, char** argv) {
  settings chosen;
  CLI::App app("Cost of a message between resident chares");
  bench::add_options(app, chosen.common);
  add_choices(app, chosen);
  return bench::exit_code_of("bench_resident_starling", app, [&] {
    app.parse(argc, argv);
    return run(chosen);
  });
}
