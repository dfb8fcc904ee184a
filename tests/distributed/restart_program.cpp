// SPDX-License-Identifier: Apache-2.0
// A program that continues from its latest checkpoint after ranks of it were killed:
//
//     test_restart FOLDER STEPS KILLS SEED    a rank kills itself at a random moment, KILLS times
//     test_restart FOLDER STEPS KILLS SEED lose COUNT  its folder, {rank} in FOLDER, is lost, too,
//     and
//                                                that of COUNT - 1 next ranks, before the next
//                                                start
//     test_restart FOLDER STEPS 0 0 points FILE  stays at half of the steps, at points that ask for
//                                                requests to stop, if FILE exists at the start
//     test_restart FOLDER STEPS 0 0 dying FILE   the same with one checkpoint before, and the last
//                                                rank dies in the one that is asked for
//     test_restart FOLDER STEPS 0 0 idle FILE    comes to no point while FILE exists
//
// Prints a digest of all elements, which does not depend on that. With FILE it first prints the
// number of ranks and their processes.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include <unistd.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

namespace {

using starling::checkpoints, starling::runtime, starling::task;

constexpr int elements = 12;
constexpr int every = 4;

/// Whether this start of the job stays at half of the steps: the same on all ranks.
bool stays_at_half = false;
/// Whether the last rank dies when it stores elements that stay; and whether this is that rank.
bool last_rank_dies = false;
bool is_last_rank = false;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
  return a ^ (a >> 31);
}

/// Exchanges values with its neighbour, one step ahead.
struct link : starling::chare<link> {
  explicit link(starling::migrated) {}
  explicit link(int last) : m_last(last) {}
  template <class Archive>
  void serialize(Archive& ar) {
    if (last_rank_dies && is_last_rank && !Archive::is_reading && m_step >= m_last / 2)
      ::kill(::getpid(), SIGKILL);
    ar(m_step, m_last, m_value);
  }
  void begin() { send(); }
  starling::awaited take(int step, std::uint64_t value);
  task<> run() {
    while (m_step < m_last) {
      while (stays_at_half && m_step >= m_last / 2)
        co_await checkpoint_if_requested(std::uint64_t(m_step));
      ++m_step;
      const std::uint64_t value = co_await when<&link::take>(m_step);
      for (int i = 0; i < 20'000; ++i) m_value = mixed(m_value + value, std::uint64_t(m_step));
      if (m_step < m_last) send();
      if (last_rank_dies ? m_step == every : m_step % every == 0)
        co_await checkpoint(std::uint64_t(m_step));
    }
  }
  task<> resumed() { return run(); }
  std::uint64_t digest() const { return mixed(m_value, std::uint64_t(m_step)); }

 private:
  void send() {
    this_array()[(this_index() + 1) % elements].invoke<&link::take>(m_step + 1, m_value);
  }
  int m_step = 0;
  int m_last = 0;
  std::uint64_t m_value = 1;
};

int number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

struct death {
  int loser = 0;
  std::chrono::microseconds delay{};
};
/// Returns which rank of a start of the job dies, and when.
death death_of(int start, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed * 1000 + start));
  const int loser = static_cast<int>(random() % unsigned(number_of("STARLING_LAUNCH_SIZE")));
  return {loser, std::chrono::microseconds(random() % 400'000)};
}

/// Lets this process die at a random moment if it is its turn.
void plan_death(int kills, int seed) {
  const int restarts = number_of("STARLING_LAUNCH_RESTARTS");
  if (restarts >= kills) return;
  const death planned = death_of(restarts, seed);
  if (planned.loser != number_of("STARLING_LAUNCH_RANK")) return;
  std::thread([delay = planned.delay] {
    std::this_thread::sleep_for(delay);
    ::kill(::getpid(), SIGKILL);
  }).detach();
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
  const int size = number_of("STARLING_LAUNCH_SIZE"), rank = number_of("STARLING_LAUNCH_RANK");
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

task<int> lead(runtime& rt, std::string folder, int steps, std::string manner, std::string file) {
  checkpoints saved = co_await checkpoints::open(rt, folder);
  const auto all = saved.create_array<link>("links", elements, starling::placement::block, steps);
  co_await saved.load();
  if (manner == "lose") {
    std::ofstream(safe_file(folder, number_of("STARLING_LAUNCH_RESTARTS"))) << '\n';
  }
  if (!file.empty()) co_await print_ranks();
  while (manner == "idle" && std::filesystem::exists(file))
    co_await starling::sleep_for(std::chrono::milliseconds(1));
  if (!saved.is_restart()) {
    all.invoke<&link::begin>();
    all.invoke<&link::run>();
  }
  co_await starling::quiescence();
  std::uint64_t digest = 0;
  for (int i = 0; i < elements; ++i) digest = mixed(digest, co_await all[i].call<&link::digest>());
  std::printf("digest %016llx\n", static_cast<unsigned long long>(digest));
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = starling::runtime_options::parse(argc, argv);
    if (argc != 5 && argc != 7)
      throw starling::usage_error(
          "test_restart FOLDER STEPS KILLS SEED [points|dying|idle FILE, lose COUNT]");
    const std::string manner = argc == 7 ? argv[5] : "";
    const std::string file = argc == 7 && manner != "lose" ? argv[6] : "";
    if (manner == "lose")
      lose_folder(argv[1], std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[6]));
    stays_at_half = (manner == "points" || manner == "dying") && std::filesystem::exists(file);
    last_rank_dies = stays_at_half && manner == "dying";
    is_last_rank = number_of("STARLING_LAUNCH_RANK") + 1 == number_of("STARLING_LAUNCH_SIZE");
    plan_death(std::atoi(argv[3]), std::atoi(argv[4]));
    runtime rt(options);
    return starling::run(rt, lead(rt, argv[1], std::atoi(argv[2]), manner, file));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "test_restart: %s\n", e.what());
    return 3;
  }
}
