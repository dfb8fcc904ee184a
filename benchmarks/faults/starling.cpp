// SPDX-License-Identifier: Apache-2.0
//
// Measures how long after a rank is killed or stopped its job ends, and whether anything is left
// behind. See README.md.
#include <signal.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <starling/core.hpp>
#include <starling/net.hpp>
#include <starling/objects.hpp>

#include "../common/child.hpp"
#include "../common/report.hpp"
#include "../common/shared_memory.hpp"

namespace {

namespace bench = starling::bench;
using starling::runtime, starling::task;

constexpr const char* as_rank = "--as-rank";
constexpr const char* here = "here: ";  // followed by the process number of the victim
constexpr int victim = 1;
constexpr unsigned most_seconds = 60;  // after which SIGALRM ends a hanging rank

// --- a rank

/// A chare whose play never ends. When the play has settled, the victim prints its process number.
struct player : starling::chare<player> {
  void rest() { settle(settled); }
  void hop(long round) {
    settle(round / size());
    next().invoke<&player::hop>(round + 1);
  }
  /// Exchanges blocks that are so large that a block is always in flight.
  task<> exchange() {
    const int before = (this_index() + size() - 1) % size();
    m_to_next = {*this, next(), this_index()};
    m_from_before = {*this, this_array()[before], before};
    m_sent.assign(std::size_t{1} << 18, 1.0);
    m_received.resize(m_sent.size());
    for (long round = 0;; ++round) {
      settle(round);
      auto sending = m_to_next.send(m_sent);
      co_await m_from_before.receive(m_received);
      co_await std::move(sending);
    }
  }

 private:
  static constexpr long settled = 20;
  int size() { return this_array().extent().extent(); }
  starling::element<player> next() { return this_array()[(this_index() + 1) % size()]; }
  void settle(long round) {
    if (this_index() != victim || round != settled) return;
    std::printf("%s%d\n", here, int(getpid()));
    std::fflush(stdout);
  }

  // Destroyed with the chare, not before: after a failed receive, a send may still read m_sent.
  std::vector<double> m_sent, m_received;
  starling::chare_channel<double> m_to_next, m_from_before;
};

task<int> lead(runtime& rt, std::string play) {
  const auto players = starling::create_rank_group<player>(rt);
  std::vector<starling::future<>> ends;
  if (play == "resting") players[victim].invoke<&player::rest>();
  if (play == "hopping") players[0].invoke<&player::hop>(0L);
  for (int r = 0; play == "exchanging" && r < starling::rank_count(); ++r)
    ends.push_back(players[r].call<&player::exchange>());
  starling::promise<> never;
  co_await never.get_future();
  co_return 1;
}

int be_rank(const std::string& play) {
  alarm(most_seconds);
  auto options = starling::runtime_options::from_environment();
  options.hang_diagnosis = false;  // a rank that waits for the end is idle on purpose
  try {
    runtime rt(options);
    return starling::run(rt, lead(rt, play));
  } catch (const starling::rank_failure& e) {
    std::printf("%s\n", e.what());
    return 10;
  }
}

// --- the starter of the ranks, which strikes the victim

struct question {
  std::string name;
  std::string play;
  int signal;
};
std::vector<question> questions() {
  std::vector<question> all;
  for (const int signal : {SIGKILL, SIGSTOP})
    for (const std::string play : {"resting", "hopping", "exchanging"})
      all.push_back({(signal == SIGKILL ? "killed_" : "stopped_") + play, play, signal});
  return all;
}

bool is_gone(pid_t process) { return kill(process, 0) == -1 && errno == ESRCH; }

/// The end of a job: its report, and what it left behind.
struct ending {
  bool is_told = false;  // the job failed and named the victim
  bool is_tidy = false;  // no process of the victim and no shared memory is left
};
struct options : bench::options {
  int ranks = 3;
  double most_seconds = 10;
  bool litters = false;  // for a test
};
const std::string litter = "/dev/shm/bench_faults_litter_" + std::to_string(::getpid());

ending strike(const std::vector<std::string>& line, const question& q, const options& chosen,
              bench::sampling& runs) {
  const auto before = bench::unused_shared_memory();
  bench::child job(line, bench::child::heard::errors_too);
  const std::string process = job.line_behind(here);
  int code = 0;
  if (process.empty())
    throw std::runtime_error("a job ended before a rank was struck:\n" + job.finish(code));
  const pid_t struck = std::stoi(process);
  runs.begin();
  if (kill(struck, q.signal) != 0) throw std::runtime_error("no process " + process);
  const std::string said = job.finish(code);
  runs.end();
  if (chosen.litters) std::ofstream(litter) << "litter\n";
  const bool is_tidied_up = bench::is_tidied_up(before);
  if (chosen.litters) std::filesystem::remove(litter);
  const std::string name = "rank " + std::to_string(victim) + " (";
  return {.is_told = code != 0 && said.find(name) != std::string::npos,
          .is_tidy = is_gone(struck) && is_tidied_up};
}

int measure(const options& chosen, std::vector<std::string> line) {
  std::vector<std::string> names;
  for (const question& q : questions()) names.push_back(q.name);
  bench::require_known(chosen, names);
  bench::report out("faults_starling", chosen);
  out.config("ranks", chosen.ranks);
  out.config("most_s", chosen.most_seconds);
  const char* const heartbeat = std::getenv("STARLING_HEARTBEAT");
  out.config("STARLING_HEARTBEAT", heartbeat == nullptr ? "" : heartbeat);
  out.print_heading();
  for (const question& q : questions()) {
    if (!chosen.runs(q.name)) continue;
    line.back() = q.play;
    bench::sampling runs(chosen, q.name, 1);
    bool is_tidy = true;
    while (runs.wants_more()) {
      const ending end = strike(line, q, chosen, runs);
      runs.judge(end.is_told && !chosen.breaks(q.name));
      is_tidy = is_tidy && end.is_tidy;
    }
    const bench::measurement took = runs.result();
    out.add(took);
    const bool is_in_time = took.maximum_ns <= 1e9 * chosen.most_seconds;
    out.check(q.name + "_in_time", is_in_time);
    if (!is_in_time) fmt::print("{} took longer than {} s\n", q.name, chosen.most_seconds);
    out.check(q.name + "_leaves_nothing", is_tidy);
    if (!is_tidy) fmt::print("{} left a process or shared memory\n", q.name);
  }
  out.write(chosen.json);
  return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == as_rank) return be_rank(argv[2]);
  options chosen;
  CLI::App app{"Time from the kill or stop of a rank to the end of all ranks of its job"};
  bench::add_options(app, chosen);
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  std::string launcher = self.parent_path() / "starling";
  app.add_option("--ranks", chosen.ranks, "Ranks of a job")
      ->check(CLI::Range(2, 1024))
      ->capture_default_str();
  app.add_option("--most-seconds", chosen.most_seconds,
                 "Longest time in seconds from the failure of a rank to the end of its job")
      ->capture_default_str();
  app.add_flag("--litter", chosen.litters, "Leave a file in shared memory")->group("");
  app.add_option("--launcher", launcher, "The program starling")->check(CLI::ExistingFile);
  return bench::exit_code_of("faults_starling", app, [&] {
    app.parse(argc, argv);
    bench::require_writable(chosen.json);
    return measure(chosen,
                   {launcher, "launch", "-n", std::to_string(chosen.ranks), self, as_rank, ""});
  });
}
