// SPDX-License-Identifier: Apache-2.0
//
// The search as resident chares, on a device or on host threads. See README.md.
#include <cstdint>

#include <starling/objects.hpp>
#include <starling/resident.hpp>

#include "../common/residence.hpp"
#include "questions.hpp"
#include "searchers.hpp"

namespace {

using namespace tree_search;
using system_type = resident::system<program>;
using host_searcher = searcher<system_type::context>;

struct settings {
  bench::options common;
  bench::residence where;
};

/// Searchers that wait for trees, one on each scheduler.
class search_team {
 public:
  search_team(starling::runtime& rt, const resident::options& o)
      : m_system(rt, o), m_searchers(m_system.create<searcher>(m_system.scheduler_count())),
        m_results{m_system.make_host_mailbox<std::uint64_t>(),
                  m_system.make_host_mailbox<std::uint64_t>()} {}
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

starling::task<int> lead(starling::runtime& rt, settings chosen) {
  const resident::options o = chosen.where.options(rt);
  bench::report out("tree_search: starling", chosen.common);
  bench::describe(out, o, rt);
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
  return bench::run_job(chosen.common, [&](starling::runtime& rt) { return lead(rt, chosen); });
}

}  // namespace

int main(int argc, char** argv) {
  settings chosen;
  CLI::App app("Search of an unbalanced tree by chares on a device");
  bench::add_options(app, chosen.common);
  chosen.where.add_to(app);
  return bench::exit_code_of("bench_tree_search_starling", app, [&] {
    app.parse(argc, argv);
    return run(chosen);
  });
}
