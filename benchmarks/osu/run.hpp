// SPDX-License-Identifier: Apache-2.0
//
// The questions, for any way to send bytes from one process to another. See README.md.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "../common/report.hpp"
#include "pair.hpp"

namespace osu {

namespace bench = starling::bench;

/// What a message asks for; the number of its handler.
enum kind : unsigned { echo, count, last, stop, reply };
inline constexpr unsigned kinds = 5;

/// A link is what is compared:
///
///     explicit link(const pair&, std::size_t largest);
///     void send(unsigned kind, std::uint64_t number, std::size_t bytes);  // 8 ≤ bytes ≤ largest
///     void progress();
///     void finish();                                                      // by both
///     std::function<void(unsigned, std::uint64_t, std::size_t)> on_message;
///
/// The number is in the message's first bytes.
struct size {
  std::string name;
  std::size_t bytes;
  int trips;    // for latency
  int windows;  // for bandwidth
};
inline const std::vector<size> sizes = {
    {"8b", 8, 100'000, 2000},   {"1k", 1024, 50'000, 1000}, {"8k", 8192, 20'000, 500},
    {"64k", 65'536, 5000, 100}, {"1m", 1 << 20, 500, 10},   {"4m", 4 << 20, 100, 3},
};
inline constexpr int window = 64;

/// Answers until it is told to stop.
template <class Link>
void serve(Link& link) {
  bool is_over = false;
  std::uint64_t seen = 0;
  link.on_message = [&](unsigned k, std::uint64_t number, std::size_t bytes) {
    if (k == echo) return link.send(reply, number + 1, bytes);
    if (k == stop) {
      is_over = true;
      return;
    }
    ++seen;
    if (k == last) link.send(reply, std::exchange(seen, 0), 8);
  };
  while (!is_over) link.progress();
  link.finish();
}

/// The side that asks: how many answers were as they should be.
template <class Link>
class asker {
 public:
  explicit asker(Link& link) : m_link(link) {
    link.on_message = [this](unsigned k, std::uint64_t number, std::size_t) {
      m_answered = k == reply;
      m_answer = number;
    };
  }
  std::uint64_t round_trips(std::size_t bytes, int trips) {
    std::uint64_t right = 0;
    for (int i = 0; i < trips; ++i) {
      m_link.send(echo, std::uint64_t(i), bytes);
      right += await() == std::uint64_t(i) + 1;
    }
    return right;
  }
  std::uint64_t windows(std::size_t bytes, int n) {
    std::uint64_t right = 0;
    for (int w = 0; w < n; ++w) {
      for (int i = 1; i < window; ++i) m_link.send(count, 0, bytes);
      m_link.send(last, 0, bytes);
      right += await();
    }
    return right;
  }

 private:
  std::uint64_t await() {
    while (!m_answered) m_link.progress();
    m_answered = false;
    return m_answer;
  }
  Link& m_link;
  bool m_answered = false;
  std::uint64_t m_answer = 0;
};

struct problem {
  std::uint64_t count;
  std::uint64_t wanted;
  [[nodiscard]] std::uint64_t items() const { return count; }
  void prepare() const {}
  [[nodiscard]] bool correct(std::uint64_t answer) const { return answer == wanted; }
  void spoil(std::uint64_t& answer) const { ++answer; }
};

template <class Link>
void ask(Link& link, const bench::options& chosen, bench::report& out) {
  asker<Link> a(link);
  const auto scaled = [&](int n) { return std::max(1, int(std::lround(n * chosen.scale))); };
  for (const size& s : sizes) {
    if (const std::string name = "latency_" + s.name; chosen.runs(name)) {
      // One way is half a round trip.
      const int trips = scaled(s.trips);
      problem p{2 * std::uint64_t(trips), std::uint64_t(trips)};
      out.add(bench::measure(chosen, name, p,
                             [&](const problem&) { return a.round_trips(s.bytes, trips); }));
    }
    if (const std::string name = "bandwidth_" + s.name; chosen.runs(name)) {
      const int n = scaled(s.windows);
      problem p{std::uint64_t(n) * window, std::uint64_t(n) * window};
      const auto m =
          bench::measure(chosen, name, p, [&](const problem&) { return a.windows(s.bytes, n); });
      out.add(m);
      out.metric(name + "_GB_per_s", double(s.bytes) / m.median_ns);
    }
  }
}

[[nodiscard]] inline std::vector<std::string> questions() {
  std::vector<std::string> names;
  for (const size& s : sizes) {
    names.push_back("latency_" + s.name);
    names.push_back("bandwidth_" + s.name);
  }
  return names;
}

template <class Link>
int run(const std::string& name, const std::string& about, int argc, char** argv) {
  bench::options chosen;
  CLI::App app{about};
  bench::add_options(app, chosen);
  try {
    app.parse(argc, argv);
    bench::require_known(chosen, questions());
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : bench::exit_bad_usage;
  }
  try {
    bench::require_writable(chosen.json);
    const pair both;
    Link link(both, sizes.back().bytes);
    if (both.rank() == 1) {
      serve(link);
      std::_Exit(EXIT_SUCCESS);
    }
    bench::report out(name, chosen);
    out.print_heading();
    ask(link, chosen, out);
    link.send(stop, 0, 8);
    link.finish();
    out.check("the_other_process_ended_well", both.join());
    out.write(chosen.json);
    return out.exit_code();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
    return bench::exit_failed;
  }
}

}  // namespace osu
