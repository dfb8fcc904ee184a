// SPDX-License-Identifier: Apache-2.0
//
// Measures the questions with two chares, on the first and the last worker of all ranks: two ranks
// with one worker each, or one rank with two. See README.md.
#pragma once

#include <string>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "problems.hpp"

namespace osu {

/// Placement of two elements: on the first worker and on the last.
struct both_ends {
  std::uint64_t last_worker = 0;
  std::size_t operator()(int, std::uint64_t number) const noexcept { return number * last_worker; }
};

/// Measures all chosen questions with two elements of `Player`, the competitor. Element 0 is asked
/// whether a message with known bytes arrives unchanged, to play, and how many messages of the
/// question were right:
///
///     starling::task<bool> contents(question);
///     starling::task<> play(question);
///     starling::task<std::uint64_t> right(question);  // not timed
template <class Player, class... Args>
starling::task<int> ask(starling::runtime& rt, const options& chosen, bench::report& out,
                        Args... args) {
  const std::size_t workers = starling::total_worker_count(rt);
  if (workers < 2)
    throw starling::usage_error("start it with `starling launch -n 2` or with --workers 2");
  out.config("ranks", starling::rank_count());
  auto players = starling::create_array<Player>(rt, 2, both_ends{workers - 1}, args...);
  out.print_heading();
  for (const auto& [name, q] : questions(chosen)) {
    const bool arrives_whole = co_await players[0].template call<&Player::contents>(q);
    bench::sampling runs(chosen, name, q.messages());
    while (runs.wants_more()) {
      runs.begin();
      co_await players[0].template call<&Player::play>(q);
      runs.end();
      const std::uint64_t right = co_await players[0].template call<&Player::right>(q);
      runs.judge(right + (chosen.breaks(name) ? 1 : 0) == q.messages());
    }
    add(out, q, runs.result());
    out.check("contents_of_" + name, arrives_whole);
  }
  out.write(chosen.json);
  co_return out.exit_code();
}

/// Implements `main`. Calls `add_more(app, runtime's options)` before the command line is parsed,
/// and `start(runtime, options, report)` after that.
template <class AddOptions, class Start>
int run_awaited(const std::string& name, const std::string& about, int argc, char** argv,
                AddOptions add_more, Start start) {
  starling::runtime_options from_user;
  try {
    from_user = starling::runtime_options::parse(argc, argv);
  } catch (const starling::option_error& e) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
    return bench::exit_bad_usage;
  }
  options chosen;
  CLI::App app{about};
  add_more(app, from_user);
  return main_of(name, app, chosen, argc, argv, [&] {
    from_user.workers = unsigned(chosen.workers);
    report out(name, chosen);
    starling::runtime rt(from_user);
    return starling::run(rt, start(rt, chosen, out));
  });
}

}  // namespace osu
