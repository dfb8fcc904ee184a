// SPDX-License-Identifier: Apache-2.0
//
// Measures a storm of messages between resident chares, and checks that none is lost, repeated or
// damaged. See README.md.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>
#include <starling/resident.hpp>

#include "../common/residence.hpp"
#include "storm.hpp"

namespace {

using namespace resident_storm;
namespace bench = starling::bench;
using system_of_storm = resident::system<program>;
using host_stormer = stormer<system_of_storm::context>;

struct settings {
  bench::options common;
  bench::residence where;
  int messages = 0;  // of all elements together
  fault planted = fault::none;
};

/// Limits on what may be in flight between two schedulers.
struct rings {
  std::string name;
  std::uint32_t ring_slots;
  std::uint32_t blocks;
};
const std::vector<rings> questions = {{"credits_of_one", 1, 1}, {"usual_rings", 64, 8}};

std::vector<std::string> all_questions() {
  std::vector<std::string> names;
  for (const rings& r : questions) names.push_back(r.name);
  return names;
}

resident::options options_of(const settings& chosen, starling::runtime& rt) {
  resident::options o = chosen.where.options(rt);
  o.block_bytes = 512;
  o.stall_seconds = 30;  // a storm may stall for long
  return o;
}
std::uint32_t elements_of(const resident::options& o) { return o.schedulers * o.devices * o.ranks; }

const char* name_of(const tally& got, const tally& wanted) {
  if (got.count != wanted.count) return got.count < wanted.count ? "lost" : "came twice";
  return "were damaged or took another's place";
}

/// A program with an element on each scheduler, which sends the same number of messages to each
/// other element. An item is a message.
class storm {
 public:
  storm(starling::runtime& rt, const resident::options& o, std::uint64_t messages)
      : m_system(rt, o), m_size(elements_of(o)),
        m_each(std::uint32_t(std::max<std::uint64_t>(1, messages / m_size / (m_size - 1)))) {
    m_end = m_system.make_host_mailbox<verdict>();
    m_all = m_system.create<stormer>(m_size, resident::placement::block, entry<&host_stormer::meet>,
                                     m_end);
  }

  starling::task<void> start() { return m_system.start(); }
  [[nodiscard]] std::uint64_t items() const {
    return std::uint64_t(m_size) * (m_size - 1) * m_each;
  }
  starling::task<void> prepare(fault planted) {
    co_await m_system.broadcast(m_all, entry<&host_stormer::begin>, m_each, planted);
    co_await m_system.quiescence();
  }
  starling::task<std::vector<verdict>> play() {
    co_await m_system.broadcast(m_all, entry<&host_stormer::send_from>, std::uint64_t{0});
    std::vector<verdict> all;
    while (all.size() != m_size) all.push_back(co_await m_system.receive(m_end));
    co_return all;
  }
  /// Checks the verdicts; prints the errors of each receiver.
  [[nodiscard]] bool correct(const std::vector<verdict>& all) const {
    std::vector<std::uint32_t> came(m_size);
    bool is_right = true;
    for (const verdict& v : all) {
      if (v.receiver >= m_size || came[v.receiver]++ != 0) return false;
      const verdict wanted = expected_of(v.receiver, m_size, m_each);
      if (is_same(v.all, wanted.all) && is_same(v.weighted, wanted.weighted)) continue;
      fmt::print(stderr, "element {}: messages {}: {} of {}, sum {:x} instead of {:x}\n",
                 v.receiver, name_of(v.all, wanted.all), v.all.count, wanted.all.count, v.all.sum,
                 wanted.all.sum);
      is_right = false;
    }
    return is_right;
  }
  static void spoil(std::vector<verdict>& all) { ++all.front().weighted.sum; }

 private:
  static bool is_same(const tally& x, const tally& y) {
    return x.count == y.count && x.sum == y.sum;
  }

  system_of_storm m_system;
  std::uint32_t m_size;
  std::uint32_t m_each;
  resident::host_mailbox<verdict> m_end;
  resident::chare_array<stormer> m_all;
};

starling::task<void> ask(const settings& chosen, bench::report& out, starling::runtime& rt,
                         const rings& which) {
  resident::options o = options_of(chosen, rt);
  o.ring_slots = which.ring_slots;
  o.blocks = which.blocks;
  storm all(rt, o, std::uint64_t(std::llround(chosen.messages * chosen.common.scale)));
  co_await all.start();
  bench::sampling runs(chosen.common, which.name, all.items());
  while (runs.wants_more()) {
    co_await all.prepare(chosen.planted);
    runs.begin();
    std::vector<verdict> answer = co_await all.play();
    runs.end();
    if (chosen.common.breaks(which.name)) storm::spoil(answer);
    runs.judge(all.correct(answer));
  }
  const bench::measurement result = runs.result();
  out.add(result);
  out.metric(which.name + "_messages_per_s", 1e9 / result.median_ns);
  fmt::print("{:>44.2f}  million messages/s\n", 1e3 / result.median_ns);
}

starling::task<int> lead(starling::runtime& rt, settings chosen) {
  if (chosen.messages == 0) chosen.messages = chosen.where.on_device() ? 10'000'000 : 50'000;
  const resident::options o = options_of(chosen, rt);
  if (elements_of(o) < 2)
    throw starling::usage_error("a storm needs two schedulers: --schedulers 2 or --devices 2");
  bench::report out("resident_storm: starling", chosen.common);
  bench::describe(out, o, rt);
  out.config("messages", chosen.messages);
  out.print_heading();
  for (const rings& which : questions)
    if (chosen.common.runs(which.name)) co_await ask(chosen, out, rt, which);
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
  bench::add_count(app, "--messages", chosen.messages, 1 << 30,
                   "Messages of all elements together; 0: a default that depends on --place");
  const std::map<std::string, fault> faults = {
      {"lost", fault::lost}, {"twice", fault::twice}, {"damaged", fault::damaged}};
  app.add_option("--plant", chosen.planted, "A message that is lost, sent twice or damaged")
      ->transform(CLI::CheckedTransformer(faults))
      ->group("");  // hidden: lets a test show that faults are found
}

}  // namespace

int main(int argc, char** argv) {
  settings chosen;
  CLI::App app("Whether a storm of messages between resident chares loses or repeats one");
  bench::add_options(app, chosen.common);
  add_choices(app, chosen);
  return bench::exit_code_of("bench_resident_storm_starling", app, [&] {
    app.parse(argc, argv);
    return run(chosen);
  });
}
