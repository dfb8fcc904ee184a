// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of a message between chares. See README.md.
#include <cmath>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "../common/report.hpp"
#include "busy_processes.hpp"
#include "problems.hpp"

namespace {

using namespace messages;
namespace bench = starling::bench;

/// The common flags and the sizes. `--scale` multiplies all sizes but batch, pages and bytes.
struct settings {
  bench::options common;
  int messages = 1'000'000;
  int trips = 200'000;
  int chares = 10'000;
  int rounds = 100;
  int elements = 1'000'000;
  int batch = 1000;
  int pages = 100;

  [[nodiscard]] int scaled(int count, int least = 1) const {
    return std::max(least, int(std::lround(count * common.scale)));
  }
};

struct block {
  std::string name;
  std::size_t bytes;
  double share;  // of the messages of a small block, if it is copied
};
const std::vector<block> blocks = {{"1b", 1, 1},
                                   {"64b", 64, 1},
                                   {"1k", 1024, 0.5},
                                   {"64k", 64 * 1024, 0.02},
                                   {"4m", 4 * 1024 * 1024, 0.0005}};

/// The goals in ns.
const std::map<std::string, double> goals = {
    {"empty", 50},     {"integer", 50}, {"burst", 50},      {"call", 100},
    {"broadcast", 50}, {"create", 200}, {"ping_pong", 400},
};
constexpr double bytes_goal = 256;

std::vector<std::string> all_questions() {
  std::vector<std::string> names = {"empty",
                                    "measured",
                                    "integer",
                                    "burst",
                                    "call",
                                    "when",
                                    "when_reverse",
                                    "broadcast",
                                    "create",
                                    "insert",
                                    "ping_pong",
                                    "two_threads",
                                    "ping_pong_1_busy",
                                    "two_threads_1_busy",
                                    "ping_pong_2_busy",
                                    "two_threads_2_busy"};
  for (const char* where : {"same", "other"})
    for (const char* how : {"moved", "copied"})
      for (const block& b : blocks) names.push_back(std::string(how) + "_" + b.name + "_" + where);
  return names;
}

/// Measures the questions, prints and reports the results.
class examiner {
 public:
  examiner(const settings& chosen, bench::report& out) : m_chosen(chosen), m_out(out) {
    for (const auto& [question, goal] : goals) m_out.config("goal_" + question, goal);
    m_out.config("goal_element_bytes", bytes_goal);
  }

  [[nodiscard]] bool wants(const std::string& question) const {
    return m_chosen.common.runs(question);
  }
  template <class Problem, class Solve>
  void ask(const std::string& question, Problem& problem, Solve solve) {
    const bench::measurement result = bench::measure(m_chosen.common, question, problem, solve);
    m_out.add(result);
    if (const auto goal = goals.find(question); goal != goals.end())
      note("ns", result.median_ns, goal->second);
  }
  void ask_bytes(double bytes) {
    m_out.metric("element_bytes", bytes);
    note("bytes per element", bytes, bytes_goal);
  }

 private:
  static void note(const char* unit, double found, double goal) {
    fmt::print("{:>44.1f}  {}, goal {}: {}\n", found, unit, goal,
               found <= goal ? "reached" : "missed");
  }

  const settings& m_chosen;
  bench::report& m_out;
};

/// Measures games between two players on worker 0.
void ask_games(examiner& e, const settings& chosen, runtime& rt) {
  const int count = chosen.scaled(chosen.messages) / 2 * 2 + 2;
  for (const bool is_measured : {false, true}) {
    const std::string question = is_measured ? "measured" : "empty";
    if (!e.wants(question)) continue;
    game g(rt, 0, count, game::item::message);
    g.measure_loads(is_measured);
    e.ask(question, g, [](game& given) {
      return given.play([](const element<player>& to) { to.invoke<&player::ball>(); });
    });
    g.measure_loads(false);
  }
  if (e.wants("integer")) {
    game g(rt, 0, count, game::item::message);
    e.ask("integer", g, [](game& given) {
      return given.play([](const element<player>& to) { to.invoke<&player::number>(1); });
    });
  }
  if (e.wants("burst")) {
    const int batches = std::max(1, count / chosen.batch);
    errand work(rt, std::int64_t(batches) * chosen.batch, std::int64_t(batches) * chosen.batch);
    e.ask("burst", work, [&](errand& given) {
      return rt.sync_wait(given.players().first().call<&player::shower>(batches, chosen.batch));
    });
  }
  if (e.wants("call")) {
    errand work(rt, count, std::int64_t(count) * (count + 1) / 2);
    e.ask("call", work, [&](errand& given) {
      return rt.sync_wait(given.players().first().call<&player::ask>(count));
    });
  }
}

void ask_when(examiner& e, const settings& chosen, runtime& rt) {
  const int books = std::max(1, chosen.scaled(chosen.messages) / chosen.pages);
  for (const bool backwards : {false, true}) {
    const std::string question = backwards ? "when_reverse" : "when";
    if (!e.wants(question)) continue;
    reading work(rt, books, chosen.pages, backwards);
    e.ask(question, work, [](reading& given) { return given.solve(); });
  }
}

void ask_arrays(examiner& e, const settings& chosen, runtime& rt) {
  if (e.wants("broadcast")) {
    vote work(rt, chosen.scaled(chosen.chares), chosen.rounds);
    e.ask("broadcast", work, [](vote& given) { return given.solve(); });
  }
}

void ask_births(examiner& e, const settings& chosen) {
  const int elements = chosen.scaled(chosen.elements);
  if (e.wants("create")) {
    birth work(chosen.common.workers, elements);
    e.ask("create", work, [](birth& given) { return given.create(); });
    e.ask_bytes(work.bytes_per_element());
  }
  if (e.wants("insert")) {
    birth work(chosen.common.workers, elements);
    e.ask("insert", work, [](birth& given) { return given.insert(); });
  }
}

/// Measures payloads sent from worker 0 to worker `other` and back.
void ask_payloads(examiner& e, const settings& chosen, runtime& rt, std::size_t other) {
  for (const bool copies : {false, true})
    for (const block& b : blocks) {
      const std::string question =
          std::string(copies ? "copied_" : "moved_") + b.name + (other == 0 ? "_same" : "_other");
      if (!e.wants(question)) continue;
      const int count = chosen.scaled(int(chosen.trips * (copies ? b.share : 1))) * 2;
      game g(rt, other, count, game::item::message, b.bytes);
      e.ask(question, g, [copies](game& given) {
        return given.play([&](const element<player>& to) {
          if (copies)
            to.invoke<&player::copied>(given.first());
          else
            to.invoke<&player::moved>(std::move(given.first()));
        });
      });
    }
}

/// Measures round trips between two workers, and between two threads without a runtime, while
/// `busy` unrelated processes keep one core busy each.
void ask_ping_pong(examiner& e, const settings& chosen, runtime& rt, int busy) {
  const std::string suffix = busy == 0 ? "" : fmt::format("_{}_busy", busy);
  const busy_processes around(busy);
  const int trips = chosen.scaled(chosen.trips);
  if (e.wants("ping_pong" + suffix)) {
    game g(rt, 1, 2 * std::int64_t(trips), game::item::round_trip);
    e.ask("ping_pong" + suffix, g, [](game& given) {
      return given.play([](const element<player>& to) { to.invoke<&player::ball>(); });
    });
  }
  if (e.wants("two_threads" + suffix)) {
    relay r(trips);
    e.ask("two_threads" + suffix, r, [](relay& given) { return given.solve(); });
  }
}

starling::runtime_options options_for(int workers) {
  starling::runtime_options options = starling::runtime_options::from_environment();
  options.workers = unsigned(workers);
  return options;
}

int run(const settings& chosen) {
  bench::require_known(chosen.common, all_questions());
  bench::require_writable(chosen.common.json);
  bench::report out("messages: starling", chosen.common);
  out.config("batch", chosen.batch);
  out.config("pages", chosen.pages);
  out.print_heading();
  examiner e(chosen, out);
  {
    runtime rt(options_for(chosen.common.workers));
    ask_games(e, chosen, rt);
    ask_when(e, chosen, rt);
    ask_arrays(e, chosen, rt);
    ask_payloads(e, chosen, rt, 0);
  }
  ask_births(e, chosen);
  {
    runtime rt(options_for(std::max(2, chosen.common.workers)));
    ask_payloads(e, chosen, rt, 1);
    for (const int busy : {0, 1, 2}) ask_ping_pong(e, chosen, rt, busy);
  }
  out.write(chosen.common.json);
  return out.exit_code();
}

void add_sizes(CLI::App& app, settings& chosen) {
  const auto count = [&app](const char* flag, int& value, const char* help) {
    app.add_option(flag, value, help)
        ->check(CLI::Range(1, 1 << 28))
        ->capture_default_str()
        ->group("Problem sizes");
  };
  count("--messages", chosen.messages, "Messages of empty, integer, burst, call and when");
  count("--trips", chosen.trips, "Round trips of ping_pong and of the smallest payloads");
  count("--chares", chosen.chares, "Elements that answer a broadcast");
  count("--rounds", chosen.rounds, "Broadcasts");
  count("--elements", chosen.elements, "Elements of create and insert");
  count("--batch", chosen.batch, "Messages of a burst");
  count("--pages", chosen.pages, "Messages that when sorts at a time");
}

}  // namespace

int main(int argc, char** argv) {
  settings chosen;
  CLI::App app("Cost of a message between chares");
  bench::add_options(app, chosen.common);
  add_sizes(app, chosen);
  return bench::exit_code_of("bench_messages_starling", app, [&] {
    app.parse(argc, argv);
    return run(chosen);
  });
}
