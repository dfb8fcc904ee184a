// SPDX-License-Identifier: Apache-2.0
// System resources of the runtime: threads, descriptors, cores, a share of processor time.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <starling/core/detail/system_resources.hpp>

#include "../../src/core/cpu_limit.hpp"
#include "support.hpp"
#include "support/sanitizers.hpp"

namespace {

namespace fs = std::filesystem;
using namespace starling;
using namespace starling_test;
using testing::ExitedWithCode;

// --- threads and descriptors

/// During its lifetime the system refuses new threads: their stacks would fill the address space.
class no_threads {
 public:
  no_threads() {
    pthread_getattr_default_np(&m_before);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t(1) << 47);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~no_threads() { pthread_setattr_default_np(&m_before); }
  no_threads(const no_threads&) = delete;
  no_threads& operator=(const no_threads&) = delete;

 private:
  pthread_attr_t m_before;
};

TEST(a_runtime_without_threads, names_the_number_of_threads_and_a_remedy) {
  std::string said;
  {
    const no_threads refused;
    said = message_of<resource_error>([] { const runtime rt(options_with(3)); });
  }
  for (const char* part : {"thread", "3 asked for, 0 given", "ulimit -u", "--starling-workers"})
    EXPECT_NE(said.find(part), said.npos) << said;
  const runtime rt(options_with(3));  // the failure has no effect on later runtimes
}

TEST(a_helper_thread_that_is_refused, is_named) {
  const no_threads refused;
  const std::string said = message_of<resource_error>(
      [] { static_cast<void>(detail::start_helper_thread("starling-test", [] {})); });
  EXPECT_NE(said.find("starling-test"), said.npos) << said;
  EXPECT_NE(said.find("1 asked for, 0 given"), said.npos) << said;
}

void allow_descriptors(rlim_t count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = count;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

TEST(a_runtime_without_descriptors, runs_and_names_the_missing_functions) {
  if (has_address_sanitizer) GTEST_SKIP() << "the sanitizers open files themselves";
  EXPECT_EXIT(
      {
        std::signal(SIGQUIT, SIG_DFL);
        allow_descriptors(3);
        runtime rt(options_with(2));
        std::exit(rt.sync_wait([]() -> task<int> { co_return 0; }()));
      },
      ExitedWithCode(0), "SIGQUIT will print no list: no descriptor .*ulimit -n");
}

TEST(an_event_descriptor_that_is_refused, is_named_with_the_limit) {
  if (has_address_sanitizer) GTEST_SKIP() << "the sanitizers open files themselves";
  EXPECT_EXIT(
      {
        allow_descriptors(3);
        const std::string said = message_of<resource_error>(
            [] { static_cast<void>(detail::make_event_descriptor("the test")); });
        std::fputs(said.c_str(), stderr);
        std::_Exit(0);
      },
      ExitedWithCode(0), "no descriptor for the test: 1 asked for.*may have 3 open.*ulimit -n");
}

// --- signals

fs::path task_named(const std::string& name) {
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) {
    std::ifstream comm(entry.path() / "comm");
    std::string found;
    if (comm >> found && found == name) return entry.path();
  }
  return {};
}

std::uint64_t blocked_signals(const fs::path& of_task) {
  std::ifstream status(of_task / "status");
  for (std::string word; status >> word;)
    if (word == "SigBlk:" && status >> word) return std::stoull(word, nullptr, 16);
  return 0;
}

TEST(a_helper_thread, leaves_signals_to_the_program) {
  std::atomic<bool> over{false};
  std::thread helper = detail::start_helper_thread("starling-test", [&] { over.wait(false); });
  const std::uint64_t blocked = blocked_signals(task_named("starling-test"));
  over = true;
  over.notify_one();
  helper.join();
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGQUIT, SIGCHLD})
    EXPECT_NE(blocked >> (number - 1) & 1, 0u) << "signal " << number;
  sigset_t mine;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGUSR1), 0);
}

// --- cores

cpu_set_t mask() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  return set;
}

cpu_set_t mask_of(runtime& rt, unsigned worker) {
  return rt.sync_wait(rt.on_worker(worker).spawn([]() -> task<cpu_set_t> { co_return mask(); }()));
}

runtime_options bound(binding how, unsigned workers) {
  runtime_options options = options_with(workers);
  options.bind = how;
  return options;
}

TEST(two_runtimes, are_bound_to_different_cores) {
  const cpu_set_t all = mask();
  runtime first(bound(binding::core, 1));
  const cpu_set_t of_first = mask_of(first, 0);
  if (CPU_EQUAL(&of_first, &all)) GTEST_SKIP() << "the process has one core, or cannot bind";
  runtime second(bound(binding::core, 1));
  const cpu_set_t of_second = mask_of(second, 0);
  cpu_set_t common;
  CPU_AND(&common, &of_first, &of_second);
  EXPECT_EQ(CPU_COUNT(&common), 0);
}

TEST(two_runtimes, of_the_default_size_do_not_share_cores_by_binding) {
  const cpu_set_t all = mask();
  const runtime first(bound(binding::core, 1));
  runtime second(bound(binding::automatic, 0));
  for (unsigned w = 0; w < second.worker_count(); ++w) {
    const cpu_set_t of_second = mask_of(second, w);
    EXPECT_TRUE(CPU_EQUAL(&of_second, &all)) << "worker " << w << " is bound";
  }
}

TEST(two_runtimes, one_after_the_other_are_bound_alike) {
  cpu_set_t masks[2];
  for (cpu_set_t& m : masks) {
    runtime rt(bound(binding::core, 1));
    m = mask_of(rt, 0);
  }
  EXPECT_TRUE(CPU_EQUAL(&masks[0], &masks[1]));
}

// --- control groups

/// A folder with files like those of /proc and /sys.
class false_root {
 public:
  false_root() {
    std::string name = (fs::temp_directory_path() / "starling_root_XXXXXX").string();
    m_path = ::mkdtemp(name.data());
  }
  ~false_root() { fs::remove_all(m_path); }
  false_root(const false_root&) = delete;
  false_root& operator=(const false_root&) = delete;
  false_root& with(const std::string& file, const std::string& text) {
    const fs::path path = m_path / file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return *this;
  }
  [[nodiscard]] unsigned limit() const { return detail::cpu_limit(m_path.string()); }

 private:
  fs::path m_path;
};

TEST(a_cpu_limit, of_version_2_is_rounded_up) {
  false_root root;
  root.with("proc/self/cgroup", "0::/user/job\n");
  EXPECT_EQ(root.limit(), 0u);  // no files: no limit
  EXPECT_EQ(root.with("sys/fs/cgroup/user/job/cpu.max", "max 100000\n").limit(), 0u);
  EXPECT_EQ(root.with("sys/fs/cgroup/user/job/cpu.max", "250000 100000\n").limit(), 3u);
  EXPECT_EQ(root.with("sys/fs/cgroup/user/job/cpu.max", "5000 100000\n").limit(), 1u);
}

TEST(a_cpu_limit, of_a_group_above_counts_if_it_is_less) {
  false_root root;
  root.with("proc/self/cgroup", "0::/user/job\n")
      .with("sys/fs/cgroup/user/job/cpu.max", "800000 100000\n");
  EXPECT_EQ(root.limit(), 8u);
  EXPECT_EQ(root.with("sys/fs/cgroup/user/cpu.max", "200000 100000\n").limit(), 2u);
  EXPECT_EQ(root.with("sys/fs/cgroup/user/cpu.max", "900000 100000\n").limit(), 8u);
}

TEST(a_cpu_limit, of_version_1_is_found_by_its_controller) {
  false_root root;
  root.with("proc/self/cgroup", "7:cpuset:/other\n4:cpu,cpuacct:/job\n0::/\n")
      .with("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(root.with("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n").limit(), 0u);
  EXPECT_EQ(root.with("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "75000\n").limit(), 2u);
}

TEST(a_cpu_limit, of_a_container_that_sees_only_its_own_group_is_found) {
  false_root root;
  root.with("proc/self/cgroup", "4:cpu,cpuacct:/docker/0123\n")
      .with("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n")
      .with("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(root.limit(), 4u);
}

}  // namespace
