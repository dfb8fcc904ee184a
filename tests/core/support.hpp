// SPDX-License-Identifier: Apache-2.0
// Shared code of the tests of core: runtimes of a chosen size that obey STARLING_CHAOS.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <starling/core.hpp>

namespace starling_test {

/// Returns options from the environment (so that STARLING_CHAOS works) with `workers` workers.
inline starling::runtime_options options_with(unsigned workers) {
  starling::runtime_options options = starling::runtime_options::from_environment();
  options.workers = workers;
  options.bind = starling::binding::none;
  return options;
}

inline bool in_chaos() { return starling::runtime_options::from_environment().chaos.has_value(); }

/// Returns a number of repetitions: `chaotic` in chaos mode, which makes each one slow.
inline int many(int calm, int chaotic) { return in_chaos() ? chaotic : calm; }

/// Runs each test with one, two and four workers.
class with_workers : public testing::TestWithParam<unsigned> {
 protected:
  starling::runtime rt{options_with(GetParam())};
};

inline std::string worker_count_name(const testing::TestParamInfo<unsigned>& info) {
  return std::to_string(info.param) + (info.param == 1 ? "_worker" : "_workers");
}

inline const auto worker_counts = testing::Values(1u, 2u, 4u);

/// Returns the message of the exception that `f` throws, which must be an `Error`.
template <class Error, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another exception: " << e.what();
    return {};
  }
  ADD_FAILURE() << "no exception";
  return {};
}

/// Counts the existing objects of a test.
struct counted {
  explicit counted(int& alive) : m_alive(&alive) { add(1); }
  counted(const counted& other) : m_alive(other.m_alive) { add(1); }
  counted& operator=(const counted&) = delete;
  ~counted() { add(-1); }

 private:
  void add(int more) const { std::atomic_ref(*m_alive).fetch_add(more); }  // any thread
  int* m_alive;
};

}  // namespace starling_test
