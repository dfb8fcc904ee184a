// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ways to run a kernel of the physics in tests.
#pragma once

#include <barrier>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "common/physics/group.hpp"
#include "common/submit.hpp"

namespace apps::test {

template <class Kernel, class Visit>
void for_each_group(const Kernel& k, Visit visit) {
  const auto n = k.range();
  for (int z = 0; z < n.z; ++z)
    for (int y = 0; y < n.y; ++y)
      for (int x = 0; x < n.x; ++x) visit(starling::index3{x, y, z});
}

/// Runs each group as one thread known at compile time: the form for processors.
struct one_thread {
  template <class Kernel>
  void operator()(const Kernel& k) const {
    alignas(64) std::byte scratch[4096];
    for_each_group(k, [&](starling::index3 i) {
      starling::host_group g(scratch, sizeof scratch);
      k(g, i);
    });
  }
};

/// A group of one thread whose size is known at run time only.
class small_group {
 public:
  [[nodiscard]] int size() const { return 1; }
  [[nodiscard]] int rank() const { return 0; }
  void sync() const {}
  template <class F>
  void for_each(int n, F&& f) const {
    for (int i = 0; i < n; ++i) f(i);
  }
};
static_assert(!single_thread<small_group> && single_thread<starling::host_group>);

/// Runs each group in the form for devices with many threads, but with one thread.
struct many_threads {
  template <class Kernel>
  void operator()(const Kernel& k) const {
    for_each_group(k, [&](starling::index3 i) {
      small_group g;
      k(g, i);
    });
  }
};

/// Submits each kernel to a stream of the host backend with two workers and awaits it.
class on_stream {
 public:
  on_stream() : m_runtime(std::make_shared<starling::runtime>(options())) {}
  template <class Kernel>
  void operator()(const Kernel& k) const {
    starling::stream s = starling::devices(*m_runtime).device(0).pool().acquire();
    submit(s, k);
    m_runtime->sync_wait(s.get_future());
  }

 private:
  static starling::runtime_options options() {
    starling::runtime_options o = starling::runtime_options::from_environment();
    o.workers = 2;
    o.extra["backend"] = "host";
    return o;
  }
  std::shared_ptr<starling::runtime> m_runtime;
};

/// A group whose threads are host threads.
class real_group {
 public:
  real_group(int rank, int size, void* scratch, std::barrier<>& all)
      : m_rank(rank), m_size(size), m_scratch(scratch), m_all(&all) {}
  [[nodiscard]] int size() const { return m_size; }
  [[nodiscard]] int rank() const { return m_rank; }
  void sync() const { m_all->arrive_and_wait(); }
  template <class F>
  void for_each(int n, F&& f) const {
    for (int i = m_rank; i < n; i += m_size) f(i);
  }
  template <class T>
  [[nodiscard]] T* scratch() const {
    return static_cast<T*>(m_scratch);
  }

 private:
  int m_rank, m_size;
  void* m_scratch;
  std::barrier<>* m_all;
};

/// Runs each group of a kernel with `threads` threads.
template <class Kernel>
void run_with_threads(const Kernel& k, int threads) {
  std::vector<pattern> scratch(std::size_t(threads), 0);
  std::barrier all(threads);
  std::vector<std::jthread> team;
  for (int rank = 0; rank < threads; ++rank)
    team.emplace_back([&, rank] {
      real_group g(rank, threads, scratch.data(), all);
      for_each_group(k, [&](starling::index3 i) {
        k(g, i);
        g.sync();
      });
    });
}

}  // namespace apps::test
