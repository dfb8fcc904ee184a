// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/stop_requests.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include <starling/core/error.hpp>
#include <starling/core/runtime.hpp>
#include <starling/objects/ranks.hpp>

#include "net/bootstrap/local/unique_fd.hpp"

namespace starling::detail {
namespace {

/// Set by the signal handler. Relaxed: it publishes no data.
std::atomic<bool> s_is_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// The runtimes of the process that take each signal.
struct taken_signals {
  std::mutex mutex;
  std::map<int, int> runtimes;
};
taken_signals& taken() {
  static taken_signals of_process;
  return of_process;
}

void on_signal(int) { s_is_requested.store(true, std::memory_order_relaxed); }

/// Returns the handler of a signal; SIG_ERR if it is unknown.
auto handler_of(int signal) noexcept {
  struct sigaction current {};
  return ::sigaction(signal, nullptr, &current) == 0 ? current.sa_handler : SIG_ERR;
}

/// Maps the file that the launcher has made. Returns null if it is none of this version.
stop_word* map_word(const char* path) {
  const unique_fd file(::open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) ||
      about.st_uid != ::geteuid() || about.st_size != off_t(sizeof(stop_word)))
    return nullptr;
  void* const shared =
      ::mmap(nullptr, sizeof(stop_word), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (shared == MAP_FAILED) return nullptr;
  auto* const word = static_cast<stop_word*>(shared);
  if (word->mark == stop_word::expected_mark) return word;
  ::munmap(shared, sizeof(stop_word));
  return nullptr;
}

}  // namespace

int stop_signal_of(const runtime_options& options) {
  const std::string name = options.get("stop-signal", "USR1");
  constexpr std::array<std::pair<const char*, int>, 4> known{
      {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"TERM", SIGTERM}, {"none", 0}}};
  for (const auto& [text, signal] : known)
    if (name == text) return signal;
  throw option_error("--starling-stop-signal (or STARLING_STOP_SIGNAL): '" + name +
                     "' is none of USR1, USR2, TERM, none");
}

stop_requests::~stop_requests() {
  if (m_word != nullptr) ::munmap(m_word, sizeof(stop_word));
  if (m_signal == 0) return;
  taken_signals& all = taken();
  const std::lock_guard lock(all.mutex);
  if (--all.runtimes[m_signal] > 0) return;
  all.runtimes.erase(m_signal);
  if (handler_of(m_signal) == &on_signal) std::signal(m_signal, SIG_DFL);
}

bool stop_requests::take(int signal) {
  if (signal == 0 || m_signal != 0) return signal == m_signal;
  taken_signals& all = taken();
  const std::lock_guard lock(all.mutex);
  if (!all.runtimes.contains(signal)) {
    if (handler_of(signal) != SIG_DFL) return false;
    if (all.runtimes.empty()) s_is_requested.store(false, std::memory_order_relaxed);
    struct sigaction ours {};
    ours.sa_handler = &on_signal;
    ours.sa_flags = SA_RESTART;
    if (::sigaction(signal, &ours, nullptr) != 0) return false;
  }
  ++all.runtimes[signal];
  m_signal = signal;
  return true;
}

void stop_requests::connect(int signal) {
  const char* const path = std::getenv("STARLING_LAUNCH_REQUESTS");
  if (path == nullptr || m_word != nullptr) return;
  m_word = map_word(path);
  if (m_word == nullptr) {
    std::fprintf(stderr,
                 "starling: `starling resize` will not reach this run, as the file '%s' of its "
                 "launcher cannot be used\n",
                 path);
    return;
  }
  m_word->signal.store(signal, std::memory_order_relaxed);
  m_word->has_checkpoints.store(1, std::memory_order_release);
}

bool stop_requests::is_requested() const noexcept {
  if (m_signal != 0 && s_is_requested.load(std::memory_order_relaxed)) return true;
  // Relaxed: `accept` decides.
  return m_word != nullptr && m_word->state.load(std::memory_order_relaxed) ==
                                  static_cast<std::uint32_t>(stop_state::wanted);
}

bool stop_requests::accept() noexcept {
  const bool by_launcher =
      m_word != nullptr && change_state(*m_word, stop_state::wanted, stop_state::accepted);
  return by_launcher || (m_signal != 0 && s_is_requested.load(std::memory_order_relaxed));
}

void stop_requests::fail() noexcept {
  if (m_word != nullptr)
    static_cast<void>(change_state(*m_word, stop_state::accepted, stop_state::failed));
}

bool stop_requests::complete(std::uint64_t number) noexcept {
  if (m_word == nullptr) return false;
  const bool by_signal = m_signal != 0 && s_is_requested.load(std::memory_order_relaxed);
  m_word->by_signal.store(by_signal ? 1 : 0, std::memory_order_relaxed);
  m_word->number.store(number, std::memory_order_relaxed);
  // Release: publishes the two values. The launcher does not change the state any more.
  m_word->state.store(static_cast<std::uint32_t>(stop_state::stopped), std::memory_order_release);
  return true;
}

bool take_stop_signal(int signal) {
  return space_here().owner().service<stop_requests>().take(signal);
}

}  // namespace starling::detail
