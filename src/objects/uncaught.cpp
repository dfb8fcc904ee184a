// SPDX-License-Identifier: Apache-2.0
#include "uncaught.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>

#include <starling/core/detail/error_text.hpp>

namespace starling::detail {
namespace {

/// What `run` has thrown last on this thread.
struct thrown_error {
  std::exception_ptr error;
  std::exception_ptr told;
};
thread_local thrown_error t_thrown;

std::terminate_handler g_earlier_handler = nullptr;  // set once, before the handler below

[[noreturn]] void end_program() noexcept {
  const std::exception_ptr error = std::current_exception();
  if (error != nullptr && error == t_thrown.error) {
    std::cout.flush();
    if (error != t_thrown.told) std::fprintf(stderr, "starling: %s\n", error_text(error).c_str());
    std::fflush(nullptr);
    std::_Exit(EXIT_FAILURE);  // workers run on, and may use what destructors would end
  }
  g_earlier_handler();
  std::abort();
}

}  // namespace

void watch_uncaught_errors() noexcept {
  static const bool is_set = [] {
    g_earlier_handler = std::get_terminate();
    std::set_terminate(&end_program);
    return true;
  }();
  static_cast<void>(is_set);
}

void note_thrown_error() noexcept { t_thrown.error = std::current_exception(); }

void note_told_error() noexcept { t_thrown.told = std::current_exception(); }

}  // namespace starling::detail
