// SPDX-License-Identifier: Apache-2.0
//
// The search as chares that live on a device, or on threads of the host. See README.md.
#include <cstdint>
#include <map>
#include <string>

#include <starling/device.hpp>
#include <starling/objects.hpp>
#include <starling/resident.hpp>

#include "questions.hpp"
#include "searchers.hpp"

namespace {

using namespace tree_search;
using system_type = resident::system<program>;
using host_searcher = searcher<system_type::context>;

struct settings {
  bench::options common;
  resident::place place = resident::place::host;
  int devices = 1;
  int schedulers = 0;
  int threads = 0;

  [[nodiscard]] bool on_device() const { return place == resident::place::device; }
};

/// Searchers that wait for trees, one on each scheduler.
class search_team {
 public:
  search_team(starling::runtime& rt, const resident::options& o)
      : m_system(rt, o), m_searchers(m_system.create<searcher>(m_system.scheduler_count())),
        m_results{m_system.make_mailbox<std::uint64_t>(), m_system.make_mailbox<std::uint64_t>()} {}
  starling::task<void> start() { return m_system.start(); }
  starling::task<findings> search(tree whole) {
    co_await m_system.broadcast(m_searchers, entry<&host_searcher::begin>, whole, m_results);
    findings found;
    found.nodes = co_await m_system.receive(m_results.nodes);
    found.sum = co_await m_system.receive(m_results.sum);
    co_return found;
  }

 private:
  system_type m_system;
  resident::chare_array<searcher> m_searchers;
  results m_results;
};

resident::options options_of(const settings& chosen, starling::runtime& rt) {
  const int units = starling::devices(rt).device(0).properties().compute_units;
  resident::options o;
  o.place = chosen.place;
  o.ranks = std::uint32_t(starling::rank_count());
  o.devices = std::uint32_t(chosen.devices);
  o.schedulers = std::uint32_t(chosen.schedulers != 0 ? chosen.schedulers
                               : chosen.on_device()   ? units
                                                      : 2);
  o.threads = std::uint32_t(chosen.threads);
  return o;
}

starling::task<int> lead(starling::runtime& rt, settings chosen) {
  const resident::options o = options_of(chosen, rt);
  bench::report out("tree_search: starling", chosen.common);
  out.config("place", chosen.on_device() ? "device" : "host");
  out.config("device", starling::devices(rt).device(0).properties().name);
  out.config("ranks", o.ranks);
  out.config("devices", o.devices);
  out.config("schedulers", o.schedulers);
  out.config("threads", o.threads);
  search_team team(rt, o);
  co_await team.start();
  out.print_heading();
  for (const question& q : questions(chosen.common)) {
    if (!chosen.common.runs(q.name)) continue;
    asked runs(chosen.common, q.name, q.searched);
    while (runs.wants_more()) {
      runs.begin();
      const findings found = co_await team.search(q.searched);
      runs.end(found);
    }
    runs.add_to(out);
  }
  out.write(chosen.common.json);
  co_return out.exit_code();
}

int run(const settings& chosen) {
  require_possible(chosen.common, {""});
  starling::runtime_options ro = starling::runtime_options::from_environment();
  ro.workers = unsigned(chosen.common.workers);
  starling::runtime rt(ro);
  return starling::run(rt, lead(rt, chosen));
}

void add_choices(CLI::App& app, settings& chosen) {
  const std::map<std::string, resident::place> named = {{"host", resident::place::host},
                                                        {"device", resident::place::device}};
  app.add_option("--place", chosen.place, "Schedulers run on: host, device")
      ->transform(CLI::CheckedTransformer(named))
      ->default_str("host");
  const auto count = [&app](const char* flag, int& value, int most, const char* help) {
    app.add_option(flag, value, help)->check(CLI::Range(0, most))->capture_default_str();
  };
  count("--devices", chosen.devices, 8, "Devices of each rank");
  count("--schedulers", chosen.schedulers, 4096,
        "Schedulers of each; 0: one for each multiprocessor, two on the host");
  count("--threads", chosen.threads, 960, "Threads of each; 0: 128, on the host one");
}

}  // namespace

int main(int argc, char** argv) {
  settings chosen;
  CLI::App app("How long chares on a device search an unbalanced tree");
  bench::add_options(app, chosen.common);
  add_choices(app, chosen);
  return bench::exit_code_of("bench_tree_search_starling", app, [&] {
    app.parse(argc, argv);
    return run(chosen);
  });
}
