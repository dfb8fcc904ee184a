// SPDX-License-Identifier: Apache-2.0
#include <starling/core/detail/process_end.hpp>

#include <cxxabi.h>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include <starling/core/detail/error_text.hpp>
#include <starling/core/detail/worker.hpp>
#include <starling/core/error.hpp>
#include <starling/core/print_once.hpp>

namespace starling::detail {
namespace {

constexpr int wrong_option = 2;

std::atomic<bool> s_has_failed{false};  // relaxed: read at exit only
std::terminate_handler s_previous = nullptr;

/// The last error that `note_thrown_error` has recorded on this thread.
struct noted_error {
  std::exception_ptr error;
  bool is_printed = false;
};
thread_local noted_error t_noted;

/// Prints an exception of a run or of the runtime and ends the process; else returns.
void end_by(const std::exception_ptr& thrown) noexcept {
  const bool is_noted = thrown == t_noted.error;
  if (!is_noted && !is_a<error>(thrown)) return;
  std::cout.flush();
  std::fflush(nullptr);
  const bool is_wrong_option = is_a<option_error>(thrown);
  if (!is_noted || !t_noted.is_printed) {
    const std::string text = "starling: " + error_text(thrown);
    if (is_wrong_option)
      print_once_per_job(text);
    else
      std::fprintf(stderr, "%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
  }
  std::fflush(stderr);  // the program may have made stderr buffered
  std::_Exit(is_wrong_option ? wrong_option : EXIT_FAILURE);
}

[[noreturn]] void on_terminate() {
  const std::exception_ptr thrown = std::current_exception();
  // On a worker an uncaught exception is a fault of the program or the runtime: abort, so that a
  // core file is written.
  if (thrown != nullptr && worker::current() == nullptr) end_by(thrown);
  s_previous();
  std::abort();
}

/// Checks standard output and replaces exit code 0 after a failure. Called by `exit`, after all
/// other code of the runtime. An exit code other than 0, set by the program, is kept.
void check_output(int status, void*) noexcept {
  // stdio is flushed first: the flush of a synchronised cout would clear its error.
  const int code = std::fflush(stdout) == 0 ? 0 : errno;
  const bool was_good = std::cout.good();
  std::cout.flush();
  if (code != 0 || std::ferror(stdout) != 0 || (was_good && !std::cout.good())) {
    std::fprintf(stderr, "starling: standard output could not be written: %s\n",
                 code != 0 ? std::strerror(code) : "some of it is lost");
    fail_exit_code();
  }
  if (status != EXIT_SUCCESS || !s_has_failed.load(std::memory_order_relaxed)) return;
  std::fflush(nullptr);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

void prepare_process_end() noexcept {
  static const bool is_prepared = [] {
    if (std::get_terminate() == &__gnu_cxx::__verbose_terminate_handler)
      s_previous = std::set_terminate(&on_terminate);
    return ::on_exit(&check_output, nullptr) == 0;
  }();
  static_cast<void>(is_prepared);
}

void fail_exit_code() noexcept { s_has_failed.store(true, std::memory_order_relaxed); }

void note_thrown_error(bool is_printed) noexcept {
  t_noted = {std::current_exception(), is_printed};
}

}  // namespace starling::detail
