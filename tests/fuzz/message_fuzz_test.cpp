// SPDX-License-Identifier: Apache-2.0
// A message is damaged on its way: the run ends, with its result or with an error that reports the
// damage; no rank crashes or waits for ever.
#include <atomic>
#include <map>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include <starling/objects.hpp>

#include "fuzz/fuzz.hpp"
#include "objects/cluster.hpp"
#include "objects/tapped_transport.hpp"

namespace starling {
namespace {

constexpr int ranks = 4;       // enough for a tree
using number = std::uint32_t;  // unsigned: sums of damaged values wrap without undefined behaviour

struct node : chare<node> {
  explicit node(read_only<std::vector<number>> data) : m_data(data) {}
  void add(number n) { m_value += n; }
  number value() const { return m_value + (*m_data)[0]; }
  void append(const std::string& text) { m_text += text; }
  number refuse() { throw std::invalid_argument("no value"); }
  awaited part(int step, double value);
  task<double> numbers() {
    double sum = 0;
    for (int step = 3; step-- > 0;) sum += co_await when<&node::part>(step);
    co_return sum;
  }
  task<number> ask(element<node> other) { co_return co_await other.call<&node::value>(); }
  void tell(callback<number> to) { to.deliver(number(m_value)); }
  task<number> reduced() { co_return co_await reduce(m_value, reduction::sum()); }
  void give(callback<number> to) { contribute(m_value, reduction::sum(), to); }
  task<> meet(section<node> with) { co_await reduce(with, 1, reduction::sum()); }

 private:
  read_only<std::vector<number>> m_data;
  number m_value = 0;
  std::string m_text;
};

struct word : chare<word, std::string> {
  explicit word(number n) : m_number(n) {}
  number value() const { return m_number; }

 private:
  number m_number;
};

/// Migrates between ranks, with messages that it has not awaited.
struct nomad : chare<nomad> {
  explicit nomad(number n) : m_value(n) {}
  explicit nomad(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_value);
  }
  awaited letter(number n);
  void go(int to) { migrate_to(std::size_t(to)); }
  number value() const { return m_value; }
  task<number> read() { co_return co_await when<&nomad::letter>() + m_value; }
  task<number> reduced() { co_return co_await reduce(m_value, reduction::sum()); }
  task<> balance() { co_await load_balance(); }

 private:
  number m_value = 0;
};

number twice(number n) { return 2 * n; }

task<number> ask_nodes(chare_array<node> nodes) {
  std::vector<future<double>> sums;
  for (int i = 0; i < 6; ++i) {
    nodes[i].invoke<&node::add>(number(i));
    nodes[i].invoke<&node::append>("a text");
    sums.push_back(nodes[i].call<&node::numbers>());
    for (int step = 0; step < 3; ++step) nodes[i].invoke<&node::part>(step, 0.5);
  }
  number total = 0;
  for (const double sum : co_await when_all(std::move(sums))) total += sum == 1.5;
  for (int i = 0; i < 6; ++i) {
    total += co_await nodes[i].call<&node::ask>(nodes[5 - i]);
    auto [to, answer] = make_reply<number>();
    nodes[i].invoke<&node::tell>(to);
    total += co_await std::move(answer);
    nodes[i].invoke<&node::tell>(nodes[(i + 1) % 6].to<&node::add, number>());
  }
  co_return total;
}

task<number> reduce_over_nodes(chare_array<node> nodes) {
  std::vector<future<number>> sums;
  for (int i = 0; i < 6; ++i) sums.push_back(nodes[i].call<&node::reduced>());
  const std::vector<number> reduced = co_await when_all(std::move(sums));
  auto [to, answer] = make_reply<number>();
  nodes.invoke<&node::give>(to);
  const auto some = make_section(nodes, {1, 2, 4});
  some.invoke<&node::meet>(some);
  co_return reduced.front() + co_await std::move(answer);
}

task<number> migrate_nomads(chare_array<nomad> nomads) {
  number total = 0;
  for (int hop = 1; hop < 4; ++hop) {
    std::vector<future<number>> values;
    for (int i = 0; i < 5; ++i) {
      nomads[i].invoke<&nomad::letter>(number(hop));
      nomads[i].invoke<&nomad::go>((i + hop) % ranks);
      for (int n = 0; n < 3; ++n) values.push_back(nomads[i].call<&nomad::value>());
      values.push_back(nomads[i].call<&nomad::read>());
      values.push_back(nomads[i].call<&nomad::reduced>());
    }
    for (const number value : co_await when_all(std::move(values))) total += value;
    nomads.invoke<&nomad::balance>();
    co_await quiescence();
  }
  nomads[1].destroy();
  nomads.destroy();
  co_await quiescence();
  co_return total;
}

/// Uses every kind of message between ranks.
task<int> lead(runtime& rt) {
  const auto data = make_read_only(rt, std::vector<number>{5, 6, 7});
  const auto nodes = create_array<node>(rt, 6, placement::round_robin, data);
  const auto words = create_sparse_array<word>(rt);
  for (int i = 0; i < 4; ++i) words.insert("word " + std::to_string(i), number(i));
  words.done_inserting();
  number total = co_await ask_nodes(nodes);
  try {
    total += co_await nodes[1].call<&node::refuse>();
  } catch (const std::invalid_argument&) {
  }
  total += co_await words["word 2"].call<&word::value>();
  words["word 3"].destroy();
  nodes.invoke<&node::append>(std::string(10'000, 'b'));
  make_section(nodes, {1, 2, 3}).invoke<&node::append>(std::string(10'000, 's'));
  co_await quiescence();
  for (int r = 0; r < ranks; ++r) total += co_await async<&twice>(rank(r), number(21));
  total += co_await reduce_over_nodes(nodes);
  total += co_await migrate_nomads(create_array<nomad>(rt, 5, placement::block, number(7)));
  static_cast<void>(total);  // not checked: the damage may have changed a number
  co_return 0;
}

/// A job in which one rank receives one damaged message.
class garbled_job {
 public:
  /// Damages message number `index` that `victim` receives; `victim` −1: no message.
  garbled_job(int victim, long index, fuzz::engine& e) : m_victim(victim), m_left(index), m_e(e) {}

  void run() {
    loopback_network network(ranks);
    for (int r = 0; r < ranks; ++r)
      m_transports.push_back(std::make_unique<starling_test::tapped_transport>(
          network.connect(r), [this, r](message m) { return passed(r, std::move(m)); }));
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r)
      threads.emplace_back([&, r] {
        try {
          runtime rt(starling_test::options_with(1));
          ends[std::size_t(r)].status = starling::run(rt, *m_transports[std::size_t(r)], lead(rt));
        } catch (...) {
          ends[std::size_t(r)].error = std::current_exception();
          network.kill(r);  // as the end of its process would
        }
      });
    for (std::thread& t : threads) t.join();
  }

  std::array<starling_test::cluster::end, ranks> ends;
  std::array<std::atomic<long>, ranks> taken{};  // messages received by each rank

 private:
  message passed(int rank, message m) {
    taken[std::size_t(rank)].fetch_add(1);
    if (rank != m_victim || m_left-- != 0) return m;
    const fuzz::bytes changed = fuzz::damaged({m.bytes().begin(), m.bytes().end()}, m_e);
    message other(changed.size());
    std::ranges::copy(changed, other.data());
    return other;
  }

  int m_victim;
  long m_left;
  fuzz::engine& m_e;
  std::vector<std::unique_ptr<transport>> m_transports;
};

/// Returns whether the rank ended with an archive_error; expects that the error names the sender.
bool is_refusal(const starling_test::cluster::end& end) {
  try {
    if (end.error) std::rethrow_exception(end.error);
  } catch (const archive_error& e) {
    EXPECT_NE(std::string(e.what()).find("rank "), std::string::npos) << e.what();
    return true;
  } catch (const std::exception&) {  // another rank's report, or a consequence of the damage
  }
  return false;
}

TEST(messages, that_were_damaged_end_the_run) {
  fuzz::engine e(fuzz::seed());
  garbled_job sound(-1, 0, e);
  sound.run();
  for (const auto& end : sound.ends)
    ASSERT_EQ(end.status, 0) << starling_test::cluster::text_of(end);
  int refused = 0;
  for (int round = 0; round < 80; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(fuzz::seed()));
    const int victim = int(fuzz::below(e, ranks));
    garbled_job job(victim, long(fuzz::below(e, std::size_t(sound.taken[std::size_t(victim)]))), e);
    job.run();
    for (const auto& end : job.ends)
      if (is_refusal(end)) ++refused;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace starling
