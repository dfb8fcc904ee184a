// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include "suite.hpp"

namespace starling::bench {
namespace {

using std::uint64_t;

uint64_t fib_of(int n) {
  if (n < 2) return static_cast<uint64_t>(n);
  uint64_t first = 0;
#pragma omp task shared(first) firstprivate(n)
  first = fib_of(n - 1);
  const uint64_t second = fib_of(n - 2);
#pragma omp taskwait
  return first + second;
}

/// Computes a chain. Not in a lambda: g++ 12 crashes on `taskwait depend` inside a lambda.
uint64_t ready_chain(uint64_t value, uint64_t length) {
  for (uint64_t k = 0; k < length; ++k) {
#pragma omp task shared(value) depend(inout : value)
    value += 1;
#pragma omp taskwait depend(in : value)
  }
  return value;
}

/// Returns a value that one task promises, by not completing before its event, and another task
/// provides. g++ 12 does not store the event of a detached task that captures nothing, hence
/// `begun`.
uint64_t promised(uint64_t i) {
  uint64_t value = 0;
  [[maybe_unused]] bool begun = false;
  omp_event_handle_t promise;
#pragma omp task shared(begun) detach(promise)
  begun = true;
  const omp_event_handle_t event = promise;
#pragma omp task shared(value) firstprivate(i, event)
  {
    value = i;
    omp_fulfill_event(event);
  }
#pragma omp taskwait
  return value;
}

/// Competitor: OpenMP 5.0 tasks, with `depend` for continuations and `detach` for promises.
///
/// No channel: a task cannot wait for the next value of another task, since `taskyield` may do
/// nothing. No join_pending: the events would belong to more unfinished tasks than libgomp defers
/// (64 per thread); beyond that it runs a task in place and waits there for its event.
class openmp {
 public:
  static constexpr const char* name = "openmp";
  static constexpr int max_workers = 4096;
  static std::string version() { return fmt::format("OpenMP {}, {}", _OPENMP, __VERSION__); }
  static sizes defaults() { return {}; }

  explicit openmp(int workers) : m_workers(workers) {}

  uint64_t spawn(const counting_problem& p) {
    return in_team([&p] {
      uint64_t sum = 0;
      for (uint64_t i = 0; i < p.count; ++i) {
        uint64_t value = 0;
#pragma omp task shared(value) firstprivate(i)
        value = i;
#pragma omp taskwait
        sum += value;
      }
      return sum;
    });
  }

  uint64_t child(const counting_problem& p) {
    return in_team([&p] {
      uint64_t sum = 0;
      for (uint64_t i = 0; i < p.count; ++i) {
#pragma omp task if (false) shared(sum) firstprivate(i)
        sum += i;
      }
      return sum;
    });
  }

  uint64_t continuation_ready(const chain_problem& p) {
    return in_team([&p] {
      uint64_t sum = 0;
      for (uint64_t c = 0; c < p.chains; ++c) sum += ready_chain(c, p.length);
      return sum;
    });
  }

  uint64_t continuation_pending(const chain_problem& p) {
    if (p.length >= 64) throw std::invalid_argument("libgomp defers 64 tasks per thread at most");
    return in_team([&p] {
      uint64_t sum = 0;
      for (uint64_t c = 0; c < p.chains; ++c) {
        uint64_t value = 0;
        omp_event_handle_t input;
#pragma omp task shared(value) firstprivate(c) depend(out : value) detach(input)
        value = c;
        for (uint64_t k = 0; k < p.length; ++k) {
#pragma omp task shared(value) depend(inout : value)
          value += 1;
        }
        omp_fulfill_event(input);
#pragma omp taskwait
        sum += value;
      }
      return sum;
    });
  }

  uint64_t join(const counting_problem& p) {
    return in_team([&p] {
      std::vector<uint64_t> values(p.count);
      for (uint64_t i = 0; i < p.count; ++i) {
#pragma omp task shared(values) firstprivate(i)
        values[i] = i;
      }
#pragma omp taskwait
      uint64_t sum = 0;
      for (const uint64_t value : values) sum += value;
      return sum;
    });
  }

  uint64_t pending(const counting_problem& p) {
    return in_team([&p] {
      uint64_t sum = 0;
      for (uint64_t i = 0; i < p.count; ++i) sum += promised(i);
      return sum;
    });
  }

  uint64_t fib(const fib_problem& p) {
    return in_team([&p] { return fib_of(p.n); });
  }

  uint64_t heat(heat_problem& p) {
    return in_team([&p] {
      // One token per partition and line: the writer of a line waits for its readers.
      const uint64_t parts = p.partitions();
      std::vector<char> tokens(2 * parts);
      for (uint64_t step = 0; step < p.steps(); ++step) {
        [[maybe_unused]] const char* from = tokens.data() + step % 2 * parts;
        [[maybe_unused]] const char* to = tokens.data() + (step + 1) % 2 * parts;
        for (uint64_t i = 0; i < parts; ++i) {
          [[maybe_unused]] const uint64_t l = p.left(i);
          [[maybe_unused]] const uint64_t r = p.right(i);
// clang-format off
#pragma omp task shared(p) firstprivate(step, i) \
    depend(in : from[l], from[i], from[r]) depend(out : to[i])
          // clang-format on
          p.update(step, i);
        }
      }
#pragma omp taskwait
      return p.items();
    });
  }

 private:
  /// Runs `body` in one thread of a team, which produces the tasks, and returns its value.
  template <class Body>
  uint64_t in_team(Body body) const {
    uint64_t answer = 0;
#pragma omp parallel num_threads(m_workers)
#pragma omp single
    answer = body();
    return answer;
  }

  int m_workers;
};

}  // namespace
}  // namespace starling::bench

int main(int argc, char** argv) {
  return starling::bench::run_suite<starling::bench::openmp>(argc, argv);
}
