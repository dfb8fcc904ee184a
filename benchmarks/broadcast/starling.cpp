// SPDX-License-Identifier: Apache-2.0
//
// Measures the time until a large message of one rank has reached all ranks. See README.md.
#include <cmath>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "../common/report.hpp"
#include "counted_transport.hpp"

namespace {

namespace bench = starling::bench;
using broadcast::counted_transport;
using starling::runtime, starling::task;
using bytes = std::vector<std::byte>;

enum class way { tree, flat };

struct size {
  std::string name;
  std::size_t bytes;
  int rounds;
};
const std::vector<size> sizes = {
    {"8k", 8 << 10, 1000}, {"64k", 64 << 10, 300}, {"1m", 1 << 20, 40}};
const std::vector<int> rank_counts = {1, 2, 4, 8};

std::string question_of(way w, const size& s, int ranks) {
  return fmt::format("{}_{}_{}", w == way::tree ? "tree" : "flat", s.name, ranks);
}

std::byte byte_at(std::size_t i, std::uint64_t round) {
  return std::byte((i * 167 + (i >> 8) + round) & 0xff);
}
void stamp(bytes& data, std::uint64_t round) {
  std::memcpy(data.data(), &round, sizeof round);
  std::memcpy(data.data() + data.size() - sizeof round, &round, sizeof round);
}
bool has_stamp(const bytes& data, std::uint64_t round) {
  return std::memcmp(data.data(), &round, sizeof round) == 0 &&
         std::memcmp(data.data() + data.size() - sizeof round, &round, sizeof round) == 0;
}

/// One element on each rank. Element 0 sends; all elements notify it when the message has arrived.
struct player : starling::chare<player> {
  task<std::uint64_t> play(way w, std::size_t size, int rounds) {
    m_right = 0;
    bytes data(size);
    for (int n = 0; n < rounds; ++n) {
      m_missing = count();
      auto all_have_it = m_all_have_it.emplace().get_future();
      stamp(data, std::uint64_t(n));
      if (w == way::tree)
        this_array().invoke<&player::take>(std::uint64_t(n), data);
      else
        send_to_each(std::uint64_t(n), data);
      co_await std::move(all_have_it);
    }
    co_return m_right;
  }
  void take(std::uint64_t round, const bytes& data) {
    this_array()[0].invoke<&player::came>(has_stamp(data, round));
  }
  void came(bool right) {
    m_right += right;
    if (--m_missing == 0) m_all_have_it->set_value();
  }
  /// Keeps a message; `has_kept` returns whether its known bytes have arrived unchanged.
  void keep(const bytes& data) { m_kept = data; }
  bool has_kept(std::size_t size) const {
    for (std::size_t i = 0; i < m_kept.size(); ++i)
      if (m_kept[i] != byte_at(i, 5)) return false;
    return m_kept.size() == size;
  }

 private:
  /// Copies the arguments once, as a broadcast does, and sends a message to each element.
  void send_to_each(std::uint64_t round, const bytes& data) {
    const bytes copy = data;
    for (int r = count() - 1; r >= 0; --r) this_array()[r].invoke<&player::take>(round, copy);
  }
  [[nodiscard]] int count() { return this_array().extent().extent(); }

  bytes m_kept;
  std::uint64_t m_right = 0;
  int m_missing = 0;
  std::optional<starling::promise<>> m_all_have_it;
};

/// Measurement of one question, a repetition at a time, so that two questions can alternate.
class asked {
 public:
  asked(const bench::options& chosen, way w, const size& s, int ranks)
      : m_way(w), m_size(s), m_ranks(ranks), m_name(question_of(w, s, ranks)),
        m_is_spoilt(chosen.breaks(m_name)),
        m_rounds(std::max(1, int(std::lround(s.rounds * chosen.scale)))),
        m_runs(chosen, m_name, std::uint64_t(m_rounds)), m_is_wanted(chosen.runs(m_name)) {}

  [[nodiscard]] bool wants_more() const { return m_is_wanted && m_runs.wants_more(); }
  task<> repeat(starling::element<player> root, const counted_transport& network) {
    const auto before = network.sent();
    m_runs.begin();
    const std::uint64_t right = co_await root.call<&player::play>(m_way, m_size.bytes, m_rounds);
    m_runs.end();
    m_sent = {network.sent().messages - before.messages, network.sent().bytes - before.bytes};
    m_runs.judge(right + m_is_spoilt == std::uint64_t(m_rounds) * std::uint64_t(m_ranks));
  }
  /// Adds the result to the report. Returns the fastest repetition's time.
  std::optional<double> add_to(bench::report& out) {
    if (!m_is_wanted) return {};
    const bench::measurement m = m_runs.result();
    out.add(m);
    const double messages = double(m_sent.messages) / m_rounds;
    const double sent = double(m_sent.bytes) / m_rounds;
    out.metric(m_name + "_root_messages", messages);
    out.metric(m_name + "_root_bytes", sent);
    fmt::print("{:>44.2f} messages and {:.0f} bytes from the root\n", messages, sent);
    return m.minimum_ns;
  }

 private:
  way m_way;
  const size& m_size;
  int m_ranks;
  std::string m_name;
  bool m_is_spoilt;
  int m_rounds;
  bench::sampling m_runs;
  bool m_is_wanted;
  counted_transport::count m_sent;  // in the last repetition
};

task<int> lead(runtime& rt, const bench::options& chosen, bench::report& out,
               const counted_transport& network) {
  const auto players = starling::create_rank_group<player>(rt);
  const int ranks = starling::rank_count();
  for (const size& s : sizes) {
    asked tree(chosen, way::tree, s, ranks), flat(chosen, way::flat, s, ranks);
    if (!tree.wants_more() && !flat.wants_more()) continue;
    bytes known(s.bytes);
    for (std::size_t i = 0; i < known.size(); ++i) known[i] = byte_at(i, 5);
    players.invoke<&player::keep>(known);
    bool is_whole = true;
    for (int r = 0; r < ranks; ++r)
      is_whole &= co_await players[r].call<&player::has_kept>(s.bytes);
    out.check(fmt::format("contents_{}_{}", s.name, ranks), is_whole);
    while (tree.wants_more() || flat.wants_more()) {
      if (tree.wants_more()) co_await tree.repeat(players[0], network);
      if (flat.wants_more()) co_await flat.repeat(players[0], network);
    }
    const auto by_tree = tree.add_to(out), one_by_one = flat.add_to(out);
    if (by_tree && one_by_one)
      out.metric(fmt::format("tree_to_flat_{}_{}", s.name, ranks), *by_tree / *one_by_one);
  }
  co_return 0;
}

/// Runs one rank of a job.
void play(const bench::options& chosen, bench::report& out, counted_transport& network) {
  auto options = starling::runtime_options::from_environment();
  options.workers = unsigned(chosen.workers);
  if (std::string(network.name()) == "loopback") options.bind = starling::binding::none;
  runtime rt(options);
  if (starling::run(rt, network, lead(rt, chosen, out, network)) != 0)
    throw starling::error("the ranks have ended with different exit codes");
}

/// Runs ranks that are threads of this process.
void play_together(int ranks, const bench::options& chosen, bench::report& out) {
  starling::loopback_network network(ranks);
  std::vector<std::unique_ptr<counted_transport>> transports;
  for (int r = 0; r < ranks; ++r)
    transports.push_back(std::make_unique<counted_transport>(network.connect(r)));
  std::vector<std::exception_ptr> errors{std::size_t(ranks)};
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      try {
        play(chosen, out, *transports[std::size_t(r)]);
      } catch (...) {
        errors[std::size_t(r)] = std::current_exception();
      }
    });
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

std::vector<std::string> all_questions(int launched) {
  std::vector<int> counts = rank_counts;
  if (launched > 1) counts = {launched};
  std::vector<std::string> names;
  for (const int ranks : counts)
    for (const size& s : sizes)
      for (const way w : {way::tree, way::flat}) names.push_back(question_of(w, s, ranks));
  return names;
}

int run(const bench::options& chosen) {
  const auto launched = starling::make_bootstrap();
  bench::require_known(chosen, all_questions(launched->size()));
  if (launched->rank() == 0) bench::require_writable(chosen.json);
  bench::report out("broadcast: starling", chosen);
  if (launched->size() > 1) {
    counted_transport network(starling::make_transport(*launched));
    if (network.rank() == 0) out.print_heading();
    play(chosen, out, network);
    if (network.rank() != 0) return 0;
  } else {
    out.print_heading();
    for (const int ranks : rank_counts) play_together(ranks, chosen, out);
  }
  out.write(chosen.json);
  return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  bench::options chosen;
  CLI::App app("Time until all ranks have a large message of one rank");
  bench::add_options(app, chosen);
  return bench::exit_code_of("bench_broadcast_starling", app, [&] {
    app.parse(argc, argv);
    return run(chosen);
  });
}
