// SPDX-License-Identifier: Apache-2.0
//
// The questions, for any means of sending bytes between two ends. See README.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../common/report.hpp"

namespace osu {

namespace bench = starling::bench;

enum class measure : std::uint8_t { latency, bandwidth, bidirectional };

struct size {
  std::string_view name;
  std::size_t bytes;
  int trips;    // for latency
  int windows;  // for bandwidth
};
inline constexpr size sizes[] = {
    {"0b", 0, 2000, 50},        {"8b", 8, 2000, 50},      {"128b", 128, 2000, 50},
    {"1k", 1 << 10, 2000, 50},  {"8k", 8 << 10, 500, 20}, {"64k", 64 << 10, 100, 4},
    {"256k", 256 << 10, 30, 2}, {"1m", 1 << 20, 10, 2},   {"4m", 4 << 20, 4, 2},
    {"64m", 64 << 20, 2, 2},
};

inline constexpr std::size_t most_window_mib = 4096;
struct options : bench::options {
  std::size_t window_mib = 16;
};

struct report : bench::report {
  report(const std::string& name, const options& chosen) : bench::report(name, chosen) {
    config("window_mib", chosen.window_mib);
  }
};

/// Returns the number of messages in flight at once: fewer large messages, but at least two.
[[nodiscard]] constexpr int window_of(const options& chosen, std::size_t bytes) noexcept {
  constexpr int largest = 64;
  const std::size_t most = chosen.window_mib << 20;
  return bytes * largest <= most ? largest : std::max(2, int(most / bytes));
}

/// One question to measure, the same on both sides.
struct question {
  measure what;
  std::size_t bytes;
  int rounds;      // trips or windows
  int window = 1;  // messages
  /// Returns the number of messages: of one direction for bandwidth, otherwise of both.
  [[nodiscard]] std::uint64_t messages() const noexcept {
    const auto one_way = std::uint64_t(rounds) * std::uint64_t(window);
    return what == measure::bandwidth ? one_way : 2 * one_way;
  }
};

[[nodiscard]] inline std::string name_of(measure what, const size& s) {
  constexpr std::string_view names[] = {"latency_", "bandwidth_", "bidirectional_"};
  return std::string(names[std::size_t(what)]) + std::string(s.name);
}

[[nodiscard]] inline std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const size& s : sizes)
    for (measure m : {measure::latency, measure::bandwidth, measure::bidirectional})
      names.push_back(name_of(m, s));
  return names;
}

[[nodiscard]] inline question make_question(const options& chosen, measure what, const size& s) {
  const bool is_latency = what == measure::latency;
  const int n = is_latency ? s.trips : s.windows;
  return {what, s.bytes, std::max(1, int(std::lround(n * chosen.scale))),
          is_latency ? 1 : window_of(chosen, s.bytes)};
}

/// A chosen question and its name.
struct named_question {
  std::string name;
  question what;
};
/// Returns the chosen questions, in the same order on both sides.
[[nodiscard]] inline std::vector<named_question> questions(const options& chosen) {
  std::vector<named_question> all;
  for (const size& s : sizes)
    for (measure what : {measure::latency, measure::bandwidth, measure::bidirectional})
      if (const std::string name = name_of(what, s); chosen.runs(name))
        all.push_back({name, make_question(chosen, what, s)});
  return all;
}

/// Reads the command line and calls `body()`, which returns the exit code.
template <class Body>
int main_of(const std::string& name, CLI::App& app, options& chosen, int argc, char** argv,
            Body body) {
  bench::add_options(app, chosen);
  app.add_option("--window-mib", chosen.window_mib,
                 "A window has 64 messages, or as many as this holds, but two at least")
      ->check(CLI::Range(std::size_t{1}, most_window_mib))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
    bench::require_known(chosen, all_names());
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : bench::exit_bad_usage;
  }
  try {
    bench::require_writable(chosen.json);
    return body();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
    return bench::exit_failed;
  }
}

/// Adds the time of a message and the rates derived from it.
inline void add(bench::report& out, const question& q, const bench::measurement& m) {
  out.add(m);
  if (q.what == measure::latency) return;
  out.metric(m.question + "_GB_per_s", double(q.bytes) / m.minimum_ns);
  out.metric(m.question + "_messages_per_s", 1e9 / m.minimum_ns);
}

// --- contents of a message

/// Writes the message's number into its first and last 8 bytes; shorter messages get no stamp.
inline void stamp(std::span<std::byte> m, std::uint64_t number) noexcept {
  if (m.size() < sizeof number) return;
  std::memcpy(m.data(), &number, sizeof number);
  std::memcpy(m.data() + m.size() - sizeof number, &number, sizeof number);
}
[[nodiscard]] inline bool has_stamp(std::span<const std::byte> m, std::uint64_t number) noexcept {
  if (m.size() < sizeof number) return true;
  return std::memcmp(m.data(), &number, sizeof number) == 0 &&
         std::memcmp(m.data() + m.size() - sizeof number, &number, sizeof number) == 0;
}

/// Writes all bytes of a message, including those of the stamp.
inline void fill(std::span<std::byte> m, std::uint64_t seed) noexcept {
  for (std::size_t i = 0; i < m.size(); ++i) m[i] = std::byte((i * 167 + (i >> 8) + seed) & 0xff);
}
[[nodiscard]] inline bool is_filled(std::span<const std::byte> m, std::uint64_t seed) noexcept {
  for (std::size_t i = 0; i < m.size(); ++i)
    if (m[i] != std::byte((i * 167 + (i >> 8) + seed) & 0xff)) return false;
  return true;
}

}  // namespace osu
