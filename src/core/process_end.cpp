// SPDX-License-Identifier: Apache-2.0
#include "process_end.hpp"

#include <cxxabi.h>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>

#include <starling/core/detail/worker.hpp>
#include <starling/core/error.hpp>

namespace starling::detail {
namespace {

constexpr int wrong_option = 2;

std::atomic<bool> s_has_failed{false};  // relaxed: exit looks after everything else
std::terminate_handler s_previous = nullptr;

/// Prints what the runtime threw; the exit code, 0 for an exception of others.
int tell_error() noexcept {
  int code = 0;
  const char* text = nullptr;
  const std::exception_ptr thrown = std::current_exception();
  if (thrown == nullptr) return 0;
  try {
    std::rethrow_exception(thrown);
  } catch (const option_error& e) {
    code = wrong_option;
    text = e.what();
  } catch (const error& e) {
    code = EXIT_FAILURE;
    text = e.what();
  } catch (...) {
    return 0;
  }
  std::cout.flush();
  std::fflush(nullptr);
  const std::size_t length = std::strlen(text);
  std::fprintf(stderr, "starling: %s%s", text, length > 0 && text[length - 1] == '\n' ? "" : "\n");
  return code;
}

[[noreturn]] void on_terminate() {
  // On a worker it is a fault of the program or the runtime, for which a core file is wanted.
  if (worker::current() == nullptr)
    if (const int code = tell_error(); code != 0) std::_Exit(code);
  s_previous();
  std::abort();
}

/// By `exit`, as the last thing that runtimes have to do with the process. A status of failure
/// stays what the program has made it.
void check_output(int status, void*) noexcept {
  // stdio first: the flush of a synchronised cout would take its error along.
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

}  // namespace starling::detail
