// SPDX-License-Identifier: Apache-2.0
// Requests to stop at the next checkpoint, by a signal and by the launcher.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "checkpoint_cells.hpp"
#include "net/bootstrap/local/stop_word.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using detail::stop_state;
using detail::stop_word;
using starling_test::cells_program;
using starling_test::cluster;
using starling_test::mixed;
using starling_test::over_ucx;

/// The file that the launcher shares with rank 0, and the variable that names it.
class launcher_file {
 public:
  explicit launcher_file(const std::string& path) {
    std::filesystem::remove(path);
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    EXPECT_EQ(::ftruncate(file, sizeof(stop_word)), 0);
    void* const shared =
        ::mmap(nullptr, sizeof(stop_word), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    m_word = new (shared) stop_word{};
    m_word->mark = stop_word::expected_mark;
    ::setenv("STARLING_LAUNCH_REQUESTS", path.c_str(), 1);
  }
  launcher_file(const launcher_file&) = delete;
  launcher_file& operator=(const launcher_file&) = delete;
  ~launcher_file() {
    ::unsetenv("STARLING_LAUNCH_REQUESTS");
    ::munmap(m_word, sizeof(stop_word));
  }
  [[nodiscard]] stop_word& word() const { return *m_word; }
  [[nodiscard]] stop_state state() const { return stop_state{m_word->state.load()}; }
  void request() const { m_word->state = std::uint32_t(stop_state::wanted); }

 private:
  stop_word* m_word;
};

std::vector<std::string> checkpoints_in(const std::string& path) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (const std::string name = entry.path().filename(); name.starts_with("checkpoint."))
      found.push_back(name);
  return found;
}

/// Returns the default action, the handler of the program, or an error.
auto handler_of(int number) {
  struct sigaction current {};
  return ::sigaction(number, nullptr, &current) == 0 ? current.sa_handler : SIG_ERR;
}

class stop_at_checkpoint : public starling_test::on_clusters {
 protected:
  using program_task = std::function<task<>(cells_program&)>;
  void run(const cluster& on, int status, const program_task& work,
           const std::string& restart = "none") const {
    on.expect(status, [&](runtime& rt) -> task<int> { return rank_zero(rt, work, restart); });
  }
  starling_test::scratch_folder scratch;
  const std::string path = scratch.path() + "/saved";
  const launcher_file launcher{scratch.path() + "/requests"};

 private:
  task<int> rank_zero(runtime& rt, program_task work, std::string restart) const {
    auto p = co_await cells_program::begin(rt, path, {2, "test", restart});
    co_await work(p);
    co_return 0;
  }
};
INSTANTIATE_TEST_SUITE_P(on, stop_at_checkpoint,
                         testing::Values(cluster{1, 1}, cluster{1, 3}, cluster{2, 2}, cluster{5, 1},
                                         over_ucx({3, 1})),
                         starling_test::cluster_name);

TEST_P(stop_at_checkpoint, ends_the_run_on_all_ranks) {
  for (const bool is_signal : {true, false}) {
    std::vector<std::string> at_3, at_5;
    bool has_continued = false;
    launcher.word().state = std::uint32_t(stop_state::none);
    run(all, stopped_at_checkpoint, [&](cells_program& p) -> task<> {
      EXPECT_EQ(launcher.word().has_checkpoints, 1u);
      EXPECT_EQ(launcher.word().signal, SIGUSR1);
      EXPECT_FALSE(p.saved.stop_requested());
      co_await p.advance_to(2);
      auto written = co_await p.saved.take(2);  // an ordinary one
      static_cast<void>(co_await std::move(written));
      co_await p.advance_to(3);
      at_3 = co_await p.contents();
      if (is_signal)
        ::raise(SIGUSR1);
      else
        launcher.request();
      EXPECT_TRUE(p.saved.stop_requested());
      static_cast<void>(co_await p.saved.take(3));
      has_continued = true;
    });
    EXPECT_FALSE(has_continued);
    EXPECT_EQ(launcher.state(), stop_state::stopped);
    EXPECT_EQ(launcher.word().by_signal, is_signal ? 1u : 0u);
    EXPECT_EQ(handler_of(SIGUSR1), SIG_DFL);
    for (const cluster& other : {all, cluster{3, 1}})
      run(
          other, 0,
          [&](cells_program& p) -> task<> {
            EXPECT_EQ(p.saved.number(), launcher.word().number);
            EXPECT_EQ(p.saved.step(), 3u);
            EXPECT_EQ(co_await p.contents(), at_3);
            EXPECT_FALSE(p.saved.stop_requested());
            co_await p.advance_to(5);
            if (at_5.empty()) at_5 = co_await p.contents();
            EXPECT_EQ(co_await p.contents(), at_5);
          },
          "latest");
    std::filesystem::remove_all(path);
  }
}

TEST_P(stop_at_checkpoint, is_not_done_after_the_launcher_has_withdrawn_its_request) {
  run(all, 0, [&](cells_program& p) -> task<> {
    co_await p.advance_to(1);
    launcher.request();
    EXPECT_TRUE(p.saved.stop_requested());
    EXPECT_TRUE(detail::change_state(launcher.word(), stop_state::wanted, stop_state::none));
    auto written = co_await p.saved.take(1);
    EXPECT_EQ(co_await std::move(written), 1u);
  });
  EXPECT_EQ(launcher.state(), stop_state::none);
}

TEST_P(stop_at_checkpoint, is_not_done_where_it_cannot_be_written) {
  run(all, 0, [&](cells_program& p) -> task<> {
    auto first = co_await p.saved.take(0);
    static_cast<void>(co_await std::move(first));
    co_await p.advance_to(1);
    const std::string obstacle = path + "/checkpoint.000002";
    std::ofstream(obstacle).put('x');  // where the folder of the checkpoint has to be
    launcher.request();
    auto written = co_await p.saved.take(1);
    std::string why;
    try {
      static_cast<void>(co_await std::move(written));
    } catch (const checkpoint_error& e) {
      why = e.what();
    }
    EXPECT_NE(why, "");
    EXPECT_EQ(launcher.state(), stop_state::failed);
    EXPECT_FALSE(p.saved.stop_requested());
    std::filesystem::remove(obstacle);
    co_await p.advance_to(2);
    auto next = co_await p.saved.take(2);
    EXPECT_EQ(co_await std::move(next), 3u);
  });
}

constexpr int walkers = 7;

/// Goes in step with its neighbour. Checkpoints are far apart, with points between them.
struct patient_walker : chare<patient_walker> {
  explicit patient_walker(migrated) {}
  patient_walker(int last, int signal_at, int every)
      : m_last(last), m_signal_at(signal_at), m_every(every) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_step, m_last, m_value, m_signal_at, m_every);
  }
  void begin() { send(); }
  awaited take(int step, std::uint64_t value);
  task<> run() {
    while (m_step < m_last) {
      ++m_step;
      const std::uint64_t value = co_await when<&patient_walker::take>(m_step);
      m_value = mixed(m_value + value, std::uint64_t(m_step));
      if (m_step < m_last) send();
      if (m_step == m_signal_at && this_index() == 3) ::raise(SIGUSR1);
      if (m_every > 0 && m_step % m_every == 0)
        co_await checkpoint(std::uint64_t(m_step));
      else
        co_await checkpoint_if_requested(std::uint64_t(m_step));
    }
  }
  task<> resumed() { return run(); }
  std::vector<std::uint64_t> state() const { return {std::uint64_t(m_step), m_value}; }

 private:
  void send() {
    this_array()[(this_index() + 1) % walkers].invoke<&patient_walker::take>(m_step + 1, m_value);
  }
  int m_step = 0;
  int m_last = 0;
  std::uint64_t m_value = 1;
  int m_signal_at = 0;
  int m_every = 0;
};

using states = std::vector<std::vector<std::uint64_t>>;

class stop_of_elements : public starling_test::on_clusters {
 protected:
  states run(const cluster& on, int status, int signal_at, int every, std::string restart) const {
    states found;
    on.expect(status, [&](runtime& rt) -> task<int> {
      return rank_zero(rt, signal_at, every, restart, &found);
    });
    return found;
  }
  starling_test::scratch_folder scratch;
  bool fails_first = false;  // the first checkpoint cannot be written

 private:
  task<int> rank_zero(runtime& rt, int signal_at, int every, std::string restart,
                      states* found) const {
    auto saved = co_await checkpoints::open(rt, scratch.path(), {9, "", restart});
    const std::string obstacle = scratch.path() + "/checkpoint.000001";
    if (fails_first && !saved.is_restart()) std::ofstream(obstacle).put('x');
    const auto all = saved.create_array<patient_walker>("walkers", walkers, placement::block, 9,
                                                        signal_at, every);
    co_await saved.load();
    if (saved.is_restart()) {
      EXPECT_EQ(saved.step(), std::uint64_t(signal_at + (fails_first ? 1 : 0)));
    } else {
      all.invoke<&patient_walker::begin>();
      all.invoke<&patient_walker::run>();
    }
    co_await quiescence();
    for (int i = 0; i < walkers; ++i)
      found->push_back(co_await all[i].call<&patient_walker::state>());
    co_return 0;
  }
};
INSTANTIATE_TEST_SUITE_P(on, stop_of_elements,
                         testing::Values(cluster{1, 1}, cluster{1, 3}, cluster{2, 2}, cluster{5, 1},
                                         over_ucx({3, 1})),
                         starling_test::cluster_name);

TEST_P(stop_of_elements, is_decided_for_all_of_them) {
  const states whole = run(all, 0, 0, 0, "none");
  EXPECT_EQ(whole.size(), std::size_t(walkers));
  for (const auto& one : whole) EXPECT_EQ(one.at(0), 9u);
  EXPECT_TRUE(checkpoints_in(scratch.path()).empty()) << "a checkpoint that is not requested";
  for (const int every : {0, 4})
    for (const int signal_at : {1, 4, 9}) {
      EXPECT_EQ(run(all, stopped_at_checkpoint, signal_at, every, "none"), states());
      EXPECT_EQ(run(cluster{2, 1}, 0, signal_at, every, "latest"), whole)
          << every << " " << signal_at;
    }
}

TEST_P(stop_of_elements, is_done_at_the_next_point_where_the_first_one_cannot_be_written) {
  fails_first = true;
  EXPECT_EQ(run(all, stopped_at_checkpoint, 2, 0, "none"), states());
  std::filesystem::remove(scratch.path() + "/checkpoint.000001");
  const states continued = run(cluster{1, 2}, 0, 2, 0, "latest");
  fails_first = false;
  std::filesystem::remove_all(scratch.path() + "/checkpoint.000002");
  EXPECT_EQ(run(all, 0, 0, 0, "none"), continued);
}

class stop_signal : public testing::Test {
 protected:
  /// Runs `work` on one rank, with a value of option stop-signal; empty: the default.
  int run(const std::string& option, const std::function<task<>(checkpoints&)>& work) const {
    runtime_options options = starling_test::options_with(2);
    if (!option.empty()) options.extra["stop-signal"] = option;
    runtime rt(options);
    return starling::run(rt, rank_zero(rt, work));
  }
  starling_test::scratch_folder scratch;

 private:
  task<int> rank_zero(runtime& rt, std::function<task<>(checkpoints&)> work) const {
    auto saved = co_await checkpoints::open(rt, scratch.path());
    co_await work(saved);
    co_return 0;
  }
};

task<> take_one(checkpoints& saved) { static_cast<void>(co_await saved.take(1)); }

TEST_F(stop_signal, is_chosen_by_an_option) {
  for (const auto& [option, number] :
       {std::pair{"", SIGUSR1}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"TERM", SIGTERM}}) {
    EXPECT_EQ(run(option,
                  [number = number](checkpoints& saved) -> task<> {
                    EXPECT_FALSE(saved.stop_requested());
                    ::raise(number);
                    EXPECT_TRUE(saved.stop_requested());
                    co_await take_one(saved);
                  }),
              stopped_at_checkpoint)
        << option;
    EXPECT_EQ(handler_of(number), SIG_DFL) << option;
  }
  const auto change_nothing = [](checkpoints&) -> task<> {
    for (const int number : {SIGUSR1, SIGUSR2, SIGTERM}) EXPECT_EQ(handler_of(number), SIG_DFL);
    co_return;
  };
  EXPECT_EQ(run("none", change_nothing), 0);
  for (const char* wrong : {"usr1", "KILL", "10"})
    EXPECT_EQ(starling_test::message_of<option_error>(
                  [&] { static_cast<void>(run(wrong, change_nothing)); }),
              "--starling-stop-signal (or STARLING_STOP_SIGNAL): '" + std::string(wrong) +
                  "' is none of USR1, USR2, TERM, none");
}

volatile std::sig_atomic_t g_own_signals = 0;

TEST_F(stop_signal, is_left_to_a_program_with_a_handler_of_its_own) {
  const launcher_file launcher(scratch.path() + ".requests");
  std::signal(SIGUSR1, [](int) { g_own_signals = g_own_signals + 1; });
  g_own_signals = 0;
  EXPECT_EQ(run("",
                [&](checkpoints& saved) -> task<> {
                  EXPECT_EQ(launcher.word().has_checkpoints, 1u);
                  EXPECT_EQ(launcher.word().signal, 0);
                  ::raise(SIGUSR1);
                  EXPECT_FALSE(saved.stop_requested());
                  auto written = co_await saved.take(1);
                  static_cast<void>(co_await std::move(written));
                }),
            0);
  EXPECT_EQ(g_own_signals, 1);
  EXPECT_NE(handler_of(SIGUSR1), SIG_DFL);
  std::signal(SIGUSR1, SIG_DFL);
  std::filesystem::remove(scratch.path() + ".requests");
}

TEST_F(stop_signal, works_although_the_file_of_the_launcher_cannot_be_used) {
  const std::string file = scratch.path() + ".requests";
  const auto said = [&] {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run("",
                  [](checkpoints& saved) -> task<> {
                    ::raise(SIGUSR1);
                    co_await take_one(saved);
                  }),
              stopped_at_checkpoint);
    return testing::internal::GetCapturedStderr();
  };
  const launcher_file launcher(file);
  EXPECT_EQ(said(), "");  // the launcher says that the job has stopped
  launcher.word().mark = 7;
  for (const char* how : {"of another version", "cut", "missing"}) {
    if (how == std::string("cut")) std::filesystem::resize_file(file, 8);
    if (how == std::string("missing")) std::filesystem::remove(file);
    const std::string text = said();
    EXPECT_NE(text.find("`starling resize` will not reach this run"), text.npos) << how << text;
    EXPECT_NE(text.find("stopped at checkpoint "), text.npos) << how << text;
  }
}

}  // namespace
}  // namespace starling
