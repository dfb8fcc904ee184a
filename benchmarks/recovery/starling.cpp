// SPDX-License-Identifier: Apache-2.0
//
// Measures how long after a rank is killed or stopped its job computes again, and whether the
// result is that of an undisturbed run. See README.md.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "../common/child.hpp"
#include "../common/report.hpp"
#include "../common/shared_memory.hpp"

namespace {

namespace bench = starling::bench;
using starling::checkpoints, starling::runtime, starling::task;

constexpr const char* as_rank = "--as-rank";
constexpr int elements = 16;
constexpr int steps_between = 5;        // checkpoints
constexpr unsigned most_seconds = 600;  // after which SIGALRM ends a hanging rank

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
  return a ^ (a >> 31);
}
/// One step of an element: depends on all steps before.
std::uint64_t advanced(std::uint64_t value, std::uint64_t step) {
  for (int i = 0; i < 20'000; ++i) value = mixed(value, step);
  return value;
}

// --- a rank

/// Which element has which value, for sums of all elements.
std::uint64_t marked(std::uint64_t value, std::uint64_t element) { return mixed(value, element); }

struct counter : starling::chare<counter> {
  explicit counter(starling::migrated) {}
  explicit counter(std::size_t words) : m_state(words + 1, own_number()) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_state, m_migrations);
  }
  void after_migration() { ++m_migrations; }
  /// `migrates`: to another rank, while the next step or a checkpoint begins.
  void step(std::uint64_t step, bool migrates, starling::callback<std::uint64_t> done) {
    m_state[0] = advanced(m_state[0], step);
    if (migrates) {
      const int ranks = starling::rank_count();
      const int further = 1 + int(step % std::uint64_t(ranks - 1));
      migrate_to(starling::rank((starling::this_rank().number + further) % ranks));
    }
    contribute(marked(m_state[0], own_number()), starling::reduction::sum(), std::move(done));
  }
  /// Contributes the number of migrations and of words of the state that are wrong.
  void look(starling::callback<std::vector<std::uint64_t>> done) {
    const auto right = std::uint64_t(std::count(m_state.begin() + 1, m_state.end(), own_number()));
    contribute(std::vector<std::uint64_t>{m_migrations, m_state.size() - 1 - right},
               starling::reduction::sum(), std::move(done));
  }

 private:
  [[nodiscard]] std::uint64_t own_number() const { return std::uint64_t(this_index()); }
  std::vector<std::uint64_t> m_state;
  std::uint64_t m_migrations = 0;
};

std::string restarts() {
  const char* const text = std::getenv("STARLING_LAUNCH_RESTARTS");
  return text == nullptr ? "0" : text;
}
long long now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}
void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// Computes until a file `stop` exists. Prints the time of the first step of this job.
task<int> lead(runtime& rt, std::string folder, std::size_t words, std::string checkpoint_path,
               bool migrates) {
  checkpoints saved = co_await checkpoints::open(rt, checkpoint_path);
  std::uint64_t step = 0, sum = 0;
  saved.add_value("step", step);
  saved.add_value("sum", sum);
  const auto all =
      saved.create_array<counter>("counters", elements, starling::placement::block, words);
  co_await saved.load();
  starling::future<std::uint64_t> written;
  for (bool is_first = true; !std::filesystem::exists(folder + "/stop"); is_first = false) {
    auto [to, total] = starling::make_reply<std::uint64_t>();
    all.invoke<&counter::step>(++step, migrates, to);
    sum = co_await std::move(total);
    if (is_first) say("computing " + restarts() + ": " + std::to_string(now_ns()));
    if (step % steps_between == 0) written = co_await saved.take(step);
  }
  if (written.valid()) static_cast<void>(co_await std::move(written));
  co_await starling::quiescence();  // all elements have arrived
  auto [to, totals] = starling::make_reply<std::vector<std::uint64_t>>();
  all.invoke<&counter::look>(to);
  const std::vector<std::uint64_t> seen = co_await std::move(totals);
  say(fmt::format("sum: {} {} {} {}", step, sum, seen.at(0), seen.at(1)));
  co_return 0;
}

int be_rank(const std::string& folder, const std::string& words, const std::string& checkpoints,
            const std::string& migrates) {
  alarm(most_seconds);
  const char* const rank = std::getenv("STARLING_LAUNCH_RANK");
  say("rank " + std::string(rank == nullptr ? "0" : rank) + " of start " + restarts() + ": " +
      std::to_string(getpid()));
  runtime rt(starling::runtime_options::from_environment());
  return starling::run(rt, lead(rt, folder, std::stoul(words), checkpoints, migrates == "1"));
}

// --- the starter of the job, which kills its ranks

struct settings : bench::options {
  int ranks = 4;
  int kills = 50;
  double mib = 1;  // state of all elements
  double most_seconds = 10;
  int copies = 1;  // of each share, in folders of different ranks
  bool lose_folders = false;
  bool migrate = false;
  std::string folder = ".";
  std::string launcher;
};
struct question {
  std::string name;
  int signal;
};
const std::vector<question> questions = {{"killed", SIGKILL}, {"stopped", SIGSTOP}};

/// The number of strikes: a stopped rank is noticed after four heartbeats.
int strikes_of(const settings& chosen, const question& q) {
  const double wanted = chosen.kills * std::min(1.0, chosen.scale) / (q.signal == SIGKILL ? 1 : 10);
  return std::max(1, int(wanted));
}

class strikes {
 public:
  strikes(const settings& chosen, const question& q, const std::vector<std::string>& line,
          std::string folder)
      : m_chosen(chosen), m_question(q), m_folder(std::move(folder)),
        m_job(line, bench::child::heard::errors_too) {}

  /// Strikes ranks at random moments and returns the seconds until the job computed again. After
  /// every other strike it waits for that; otherwise the next strike may hit a job that starts.
  std::vector<double> run() {
    std::vector<double> took;
    static_cast<void>(moment_of_computing(0));
    const int count = strikes_of(m_chosen, m_question);
    bool computes = true;
    for (int n = 1; n <= count; ++n) {
      // A job that computes has two copies of each share.
      const long long struck = strike(n - 1, m_chosen.lose_folders && computes);
      computes = n % 2 == 1 || n == count;
      if (computes) took.push_back(1e-9 * double(moment_of_computing(n) - struck));
    }
    return took;
  }
  /// Lets the job end. Returns whether its result is right.
  bool is_right_at_the_end() {
    std::ofstream(m_folder + "/stop") << "\n";
    const std::string result = m_job.line_behind("sum: ");
    int code = 0;
    const std::string said = m_job.finish(code);
    m_has_begun_anew = said.find("begins as at its first start") != said.npos;
    std::uint64_t step = 0, sum = 0, migrations = 0, wrong_words = 0;
    const char* const form = "%lu %lu %lu %lu";
    if (std::sscanf(result.c_str(), form, &step, &sum, &migrations, &wrong_words) != 4 || code != 0)
      throw std::runtime_error("the job has failed:\n" + said);
    std::uint64_t expected = 0;
    for (std::uint64_t value = 0; value < elements; ++value) {
      std::uint64_t x = value;
      for (std::uint64_t s = 1; s <= step; ++s) x = advanced(x, s);
      expected += marked(x, value);
    }
    return sum == expected && wrong_words == 0 &&
           migrations >= (m_chosen.migrate ? elements * step : 0);  // chaos mode adds some
  }
  /// Whether checkpoints were lost, so that the job began anew.
  [[nodiscard]] bool has_begun_anew() const { return m_has_begun_anew; }

 private:
  std::string said(const std::string& text) {
    const std::string rest = m_job.line_behind(text);
    int code = 0;
    if (rest.empty()) throw std::runtime_error("the job has ended:\n" + m_job.finish(code));
    return rest;
  }
  long long moment_of_computing(int start) {
    return std::stoll(said("computing " + std::to_string(start) + ": "));
  }
  /// Stops a rank and removes its folder, as if its host was lost: it must not write there again.
  void lose_folder(pid_t process, int rank) const {
    kill(process, SIGSTOP);
    for (std::string state; state != "T";) {
      std::ifstream file(fmt::format("/proc/{}/stat", process));
      std::string word;
      if (!(file >> word >> word >> state)) break;
    }
    std::filesystem::remove_all(fmt::format("{}/{}", m_folder, rank));
  }
  /// Strikes a rank of the job's `start`th start; returns the moment.
  long long strike(int start, bool loses_folder) {
    const int rank = int(m_random() % unsigned(m_chosen.ranks));
    const pid_t process = std::stoi(
        said("rank " + std::to_string(rank) + " of start " + std::to_string(start) + ": "));
    std::this_thread::sleep_for(std::chrono::microseconds(m_random() % 300'000));
    const long long moment = now_ns();
    if (loses_folder) lose_folder(process, rank);
    if (kill(process, m_question.signal) != 0)
      throw std::runtime_error("rank " + std::to_string(rank) + " has ended by itself");
    return moment;
  }

  const settings& m_chosen;
  const question& m_question;
  const std::string m_folder;
  bool m_has_begun_anew = false;
  bench::child m_job;
  std::mt19937 m_random{12345};
};

void ask(const settings& chosen, const question& q, const std::string& self, bench::report& out) {
  const std::string folder =
      fmt::format("{}/starling-recovery-{}-{}", chosen.folder, ::getpid(), q.name);
  std::filesystem::create_directories(folder);
  const auto before = bench::unused_shared_memory();
  const std::size_t words = std::size_t(chosen.mib * chosen.scale * (1 << 20) / 8 / elements);
  std::vector<double> took;
  bool is_right = false;
  {
    const std::string checkpoints = folder + (chosen.copies > 1 ? "/{rank}" : "");
    strikes of(
        chosen, q,
        {chosen.launcher, "launch", "-n", std::to_string(chosen.ranks), "--restarts", "1000000",
         self, as_rank, folder, std::to_string(words), checkpoints, chosen.migrate ? "1" : "0"},
        folder);
    took = of.run();
    is_right = of.is_right_at_the_end() && !chosen.breaks(q.name);
    if (chosen.lose_folders) out.check(q.name + "_keeps_checkpoints", !of.has_begun_anew());
  }
  std::filesystem::remove_all(folder);
  const double longest = *std::max_element(took.begin(), took.end());
  out.metric(q.name + "_median_ms", 1e3 * bench::median(took));
  out.metric(q.name + "_max_ms", 1e3 * longest);
  out.check(q.name, is_right);
  out.check(q.name + "_leaves_nothing", bench::is_tidied_up(before));
  const double most = q.signal == SIGKILL ? chosen.most_seconds : chosen.most_seconds + 5;
  out.check(q.name + "_in_time", longest <= most);
  fmt::print("{:<10}{:>8} strikes{:>10.1f} ms median{:>10.1f} ms at most  {}\n", q.name,
             strikes_of(chosen, q), 1e3 * bench::median(took), 1e3 * longest,
             is_right ? "ok" : "WRONG ANSWER");
  std::fflush(stdout);
}

int measure(const settings& chosen, const std::string& self) {
  bench::require_known(chosen, {"killed", "stopped"});
  bench::report out("recovery_starling", chosen);
  out.config("ranks", chosen.ranks);
  out.config("kills", chosen.kills);
  out.config("mib", chosen.mib);
  out.config("most_s", chosen.most_seconds);
  out.config("copies", chosen.copies);
  out.config("lose_folders", chosen.lose_folders ? 1 : 0);
  out.config("migrate", chosen.migrate ? 1 : 0);
  setenv("STARLING_CHECKPOINT_COPIES", std::to_string(chosen.copies).c_str(), 1);
  for (const question& q : questions)
    if (chosen.runs(q.name)) ask(chosen, q, self, out);
  out.write(chosen.json);
  return out.exit_code();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string_view(argv[1]) == as_rank)
    return be_rank(argv[2], argv[3], argv[4], argv[5]);
  settings chosen;
  CLI::App app{
      "Time from the kill or stop of a rank until its job, started again, computes: timed "
      "after every other strike and the last one. The result is checked once, at the end "
      "of all strikes of a question"};
  bench::add_options(app, chosen);
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  chosen.launcher = self.parent_path() / "starling";
  app.add_option("--ranks", chosen.ranks, "Ranks of the job")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--kills", chosen.kills, "How often a rank is killed; a tenth of it: stopped")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--mib", chosen.mib, "State of all chares, MiB")->capture_default_str();
  app.add_option("--most-seconds", chosen.most_seconds,
                 "Longest time in seconds from a kill until the job computes; 5 more after a stop")
      ->capture_default_str();
  app.add_option("--folder", chosen.folder, "Folder for the checkpoints")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  const auto copies = app.add_option("--copies", chosen.copies,
                                     "Copies of each share; 2: each rank has a folder of its own")
                          ->check(CLI::Range(1, 2))
                          ->capture_default_str();
  app.add_flag("--lose-folders", chosen.lose_folders, "The folder of a struck rank is lost, too")
      ->needs(copies);
  app.add_flag(
      "--migrate", chosen.migrate,
      "All chares migrate to another rank after each step, so that strikes hit migrations");
  app.add_option("--launcher", chosen.launcher, "The program starling")->check(CLI::ExistingFile);
  return bench::exit_code_of("recovery_starling", app, [&] {
    app.parse(argc, argv);
    if (chosen.lose_folders && chosen.copies < 2)
      throw CLI::ValidationError("--lose-folders", "needs --copies 2");
    if (chosen.migrate && chosen.ranks < 2)
      throw CLI::ValidationError("--migrate", "needs --ranks 2 or more");
    bench::require_writable(chosen.json);
    return measure(chosen, self);
  });
}
