// SPDX-License-Identifier: Apache-2.0
// A program that continues from its latest checkpoint after ranks of it were killed:
//
//     test_restart FOLDER STEPS KILLS SEED [MANNER WORD]...
//
// A rank kills itself at a random moment, KILLS times. Manners, of which several may be given:
//
//     lose COUNT        its folder, {rank} in FOLDER, is lost, too, and that of COUNT - 1 next
//                       ranks, before the next start
//     points FILE       stays at half of the steps, at points that ask for requests to stop, if
//                       FILE exists at the start
//     dying FILE        the same with one checkpoint before, and the last rank dies in the one that
//                       is asked for
//     idle FILE         comes to no point while FILE exists
//     moves MOMENT      each element migrates to another rank after each step and at points
//     balances MOMENT   a balancing moves elements after each step
//
// MOMENT says when ranks kill themselves: `any` time, or at the n-th passage through one of
// `departing` (before an element leaves), `packing` (its state is half written), `reading` (half
// read), `arriving` (has arrived), `storing` (half written to a checkpoint) and `loading` (half
// read from one; every other kill, the first one at `packing`).
//
// Prints a digest of all elements and that of each element, which do not depend on that. With FILE
// it first prints the number of ranks and their processes. Ends with 4 if elements have not
// migrated as they should.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <unistd.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>
#include <starling/objects/balance.hpp>

namespace {

using starling::checkpoints, starling::runtime, starling::task;

constexpr int elements = 12;
constexpr int every = 4;

/// Whether this start of the job stays at half of the steps: the same on all ranks.
bool stays_at_half = false;
/// Whether the last rank dies when it stores elements that stay; and whether this is that rank.
bool last_rank_dies = false;
bool is_last_rank = false;
/// Whether and how elements migrate after each step.
enum class travel { none, moves, balances } travels = travel::none;

enum class moment { any, departing, packing, reading, arriving, storing, loading };
constexpr std::array<std::string_view, 7> moment_names = {
    "any", "departing", "packing", "reading", "arriving", "storing", "loading"};
/// The passage at which this process dies, unless it dies at any time.
struct {
  moment at = moment::any;
  std::atomic<int> passages = 0;
} my_end;
void pass(moment m) {
  if (m == my_end.at && --my_end.passages == 0) ::kill(::getpid(), SIGKILL);
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
  return a ^ (a >> 31);
}

/// Exchanges values with its neighbour, one step ahead.
struct link : starling::chare<link> {
  explicit link(starling::migrated) {}
  explicit link(int last) : m_last(last), m_value(std::uint64_t(this_index()) + 1) {}
  template <class Archive>
  void serialize(Archive& ar) {
    if (last_rank_dies && is_last_rank && !Archive::is_reading && m_step >= m_last / 2)
      ::kill(::getpid(), SIGKILL);
    ar(m_is_departing, m_step, m_last);
    if (Archive::is_reading)
      pass(m_is_departing ? moment::reading : moment::loading);
    else
      pass(m_is_departing ? moment::packing : moment::storing);
    ar(m_then, m_value, m_heard, m_migrations, m_has_said);
    if (!m_is_departing) m_has_said = false;  // a restart says it again
  }
  void before_migration() {
    m_is_departing = true;
    pass(moment::departing);
  }
  void after_migration() {
    m_is_departing = false;
    ++m_migrations;
    pass(moment::arriving);
  }
  /// Differs so much from step to step that each balancing moves elements.
  double load() const {
    return 1e3 * double(1 + mixed(std::uint64_t(this_index()), std::uint64_t(m_step)) % 20);
  }

  void begin() { send(); }
  starling::awaited take(int step, std::uint64_t value);
  /// Shows messages that arrive twice.
  void hear(int step) { m_heard += mixed(std::uint64_t(this_index()), std::uint64_t(step)); }
  /// Continues after each wait where resumed() would: an element may leave its rank at a
  /// checkpoint, too, and all elements make the same calls.
  task<> run() {
    while (m_step < m_last || m_then != phase::work) {
      if (m_then == phase::work) co_await work();
      if (std::exchange(m_then, phase::migration) == phase::storage && stores()) {
        if (m_step % (2 * every) == 0) leave();  // departs from the checkpoint
        co_await checkpoint(std::uint64_t(m_step));
      }
      m_then = phase::work;
      leave();
      if (travels == travel::moves) co_await migration_point();
      if (travels == travel::balances) co_await load_balance();
    }
  }
  task<> resumed() { return run(); }
  std::uint64_t digest() const { return mixed(mixed(m_value, m_heard), std::uint64_t(m_step)); }
  int migrations() const { return m_migrations; }

 private:
  enum class phase : std::uint8_t { work, storage, migration };

  task<> work() {
    while (stays_at_half && m_step >= m_last / 2) {
      say_that_it_stays();
      leave();
      co_await checkpoint_if_requested(std::uint64_t(m_step));
    }
    ++m_step;
    const std::uint64_t value = co_await when<&link::take>(m_step);
    for (int i = 0; i < 20'000; ++i) m_value = mixed(m_value + value, std::uint64_t(m_step));
    if (m_step < m_last) send();
    m_then = phase::storage;
  }
  [[nodiscard]] bool stores() const {
    return last_rank_dies ? m_step == every : m_step % every == 0;
  }
  void send() {
    const auto next = this_array()[(this_index() + 1) % elements];
    next.invoke<&link::take>(m_step + 1, m_value);
    next.invoke<&link::hear>(m_step + 1);
  }
  void leave() {
    const std::size_t workers =
        std::size_t(starling::rank_count()) * runtime::current()->worker_count();
    if (travels != travel::moves || workers == 1) return;
    migrate_to((this_worker() + 1 + std::size_t(m_step) % (workers - 1)) % workers);
  }
  void say_that_it_stays() {
    if (this_index() != 0 || m_has_said || travels == travel::none) return;
    m_has_said = true;
    std::puts("stays");
    std::fflush(stdout);
  }
  bool m_is_departing = false;
  bool m_has_said = false;
  phase m_then = phase::work;
  int m_step = 0;
  int m_last = 0;
  std::uint64_t m_value = 1;
  std::uint64_t m_heard = 0;
  int m_migrations = 0;
};

int number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

/// Returns the number of ranks (`SIZE`) or of this rank (`RANK`) that starling launch or mpirun has
/// set.
int place(const std::string& word) {
  for (const std::string& launcher : {"STARLING_LAUNCH_" + word, "OMPI_COMM_WORLD_" + word})
    if (std::getenv(launcher.c_str()) != nullptr) return number_of(launcher.c_str());
  return word == "SIZE" ? 1 : 0;  // without a launcher
}

struct death {
  int loser = 0;
  unsigned random = 0;
};
/// Returns which rank of a start of the job dies, and a random number that says when.
death death_of(int start, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed * 1000 + start));
  const int loser = static_cast<int>(random() % unsigned(place("SIZE")));
  return {loser, static_cast<unsigned>(random())};
}

/// Lets this process die at a moment of its start of the job if it is its turn.
void plan_death(int kills, int seed, moment when) {
  const int restarts = number_of("STARLING_LAUNCH_RESTARTS");
  if (restarts >= kills) return;
  const death planned = death_of(restarts, seed);
  if (planned.loser != place("RANK")) return;
  if (when == moment::any) {
    std::thread([delay = std::chrono::microseconds(planned.random % 400'000)] {
      std::this_thread::sleep_for(delay);
      ::kill(::getpid(), SIGKILL);
    }).detach();
    return;
  }
  // The start before one that is to die in loading leaves a checkpoint.
  const bool comes_before_loading = when == moment::loading && restarts % 2 == 0;
  my_end.at = comes_before_loading ? moment::packing : when;
  // Within the steps that a job has for several kills.
  const unsigned most = my_end.at == moment::loading ? 4 : my_end.at == moment::storing ? 30 : 100;
  my_end.passages = (comes_before_loading ? 100 : 1) + int(planned.random % most);
}

/// Returns the file whose existence shows that a start of the job had two copies of all shares.
std::string safe_file(const std::string& folder, int start) {
  return folder.substr(0, folder.find("{rank}")) + "safe." + std::to_string(start);
}

/// Removes this rank's folder if the rank, or one of the `count` - 1 ranks before it, has died at
/// the end of the last start. Other ranks look at folders after all ranks have started.
void lose_folder(std::string folder, int kills, int seed, int count) {
  const int restarts = number_of("STARLING_LAUNCH_RESTARTS");
  if (restarts == 0 || restarts > kills) return;
  const int size = place("SIZE"), rank = place("RANK");
  const int behind = (rank - death_of(restarts - 1, seed).loser + size) % size;
  if (behind >= count || !std::filesystem::exists(safe_file(folder, restarts - 1))) return;
  const std::string word = "{rank}";
  folder.replace(folder.find(word), word.size(), std::to_string(rank));
  std::filesystem::remove_all(folder);
}

int process_number() { return ::getpid(); }

task<> print_ranks() {
  std::string line = "ready on " + std::to_string(starling::rank_count()) + " ranks:";
  for (int r = 0; r < starling::rank_count(); ++r)
    line += " " + std::to_string(co_await starling::async<&process_number>(starling::rank(r)));
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// Returns whether the elements have migrated about as often as they should.
task<bool> have_migrated(starling::chare_array<link> all, int steps) {
  if (travels == travel::none || starling::rank_count() == 1) co_return true;
  int least = std::numeric_limits<int>::max(), sum = 0;
  for (int i = 0; i < elements; ++i) {
    const int migrations = co_await all[i].call<&link::migrations>();
    least = std::min(least, migrations);
    sum += migrations;
  }
  if (travels == travel::moves ? least >= steps / 2 : sum >= steps / 2) co_return true;
  std::fprintf(stderr, "%d migrations, at least %d of each element\n", sum, least);
  co_return false;
}

struct settings {
  std::string folder;
  int steps = 0;
  int kills = 0;
  int seed = 0;
  int lost = 0;      // folders with each kill
  std::string word;  // points, dying, idle
  std::string file;
  moment when = moment::any;

  static settings of(int argc, char** argv) {
    if (argc < 5 || argc % 2 == 0) complain();
    settings chosen;
    chosen.folder = argv[1];
    chosen.steps = std::atoi(argv[2]);
    chosen.kills = std::atoi(argv[3]);
    chosen.seed = std::atoi(argv[4]);
    for (int i = 5; i < argc; i += 2) chosen.set(argv[i], argv[i + 1]);
    return chosen;
  }

 private:
  [[noreturn]] static void complain() {
    throw starling::usage_error(
        "test_restart FOLDER STEPS KILLS SEED [points|dying|idle FILE, lose COUNT, "
        "moves|balances MOMENT]...");
  }
  void set(const std::string& manner, const std::string& value) {
    if (manner == "lose") {
      lost = std::atoi(value.c_str());
    } else if (manner == "moves" || manner == "balances") {
      travels = manner == "moves" ? travel::moves : travel::balances;
      const auto* const found = std::find(moment_names.begin(), moment_names.end(), value);
      if (found == moment_names.end()) complain();
      when = moment(found - moment_names.begin());
    } else if (manner == "points" || manner == "dying" || manner == "idle") {
      word = manner;
      file = value;
    } else {
      complain();
    }
  }
};

task<int> lead(runtime& rt, settings chosen) {
  checkpoints saved = co_await checkpoints::open(rt, chosen.folder);
  const auto all =
      saved.create_array<link>("links", elements, starling::placement::block, chosen.steps);
  if (travels == travel::balances) {
    starling::balance::balancer_options eager;
    eager.tolerance = eager.minimum_gain = 0;
    all.balance_by(starling::balance::make_balancer("greedy", eager), 1);
  }
  co_await saved.load();
  if (chosen.lost > 0) {
    std::ofstream(safe_file(chosen.folder, number_of("STARLING_LAUNCH_RESTARTS"))) << '\n';
  }
  if (!chosen.file.empty()) co_await print_ranks();
  while (chosen.word == "idle" && std::filesystem::exists(chosen.file))
    co_await starling::sleep_for(std::chrono::milliseconds(1));
  if (!saved.is_restart()) {
    all.invoke<&link::begin>();
    all.invoke<&link::run>();
  }
  co_await starling::quiescence();
  std::uint64_t digest = 0;
  std::string each;
  for (int i = 0; i < elements; ++i) {
    const std::uint64_t its = co_await all[i].call<&link::digest>();
    digest = mixed(digest, its);
    char text[32];
    std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(its));
    each += text;
  }
  const bool is_right = co_await have_migrated(all, chosen.steps);
  if (!is_right) co_return 4;
  std::printf("digest %016llx of%s\n", static_cast<unsigned long long>(digest), each.c_str());
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = starling::runtime_options::parse(argc, argv);
    const settings chosen = settings::of(argc, argv);
    if (chosen.lost > 0) lose_folder(chosen.folder, chosen.kills, chosen.seed, chosen.lost);
    stays_at_half =
        (chosen.word == "points" || chosen.word == "dying") && std::filesystem::exists(chosen.file);
    last_rank_dies = stays_at_half && chosen.word == "dying";
    is_last_rank = place("RANK") + 1 == place("SIZE");
    plan_death(chosen.kills, chosen.seed, chosen.when);
    runtime rt(options);
    return starling::run(rt, lead(rt, chosen));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "test_restart: %s\n", e.what());
    return 3;
  }
}
