// SPDX-License-Identifier: Apache-2.0
// Checkpoints that the elements of an array take together.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "checkpoint_cells.hpp"
#include "support/scratch_folder.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::mixed;
using starling_test::over_ucx;
using starling_test::stay_in_place;

constexpr int walkers = 7;
constexpr int every = 3;

/// Goes in step with its neighbour, whose messages arrive one step ahead, and checkpoints itself.
struct walker : chare<walker> {
  explicit walker(migrated) {}
  walker(int last, bool migrates) : m_last(last), m_migrates(migrates) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_step, m_last, m_value, m_migrates);
  }
  void begin() { send(); }
  awaited take(int step, std::uint64_t value);
  task<> run() {
    while (m_step < m_last) {
      ++m_step;
      const std::uint64_t value = co_await when<&walker::take>(m_step);
      m_value = mixed(m_value + value, std::uint64_t(m_step));
      if (m_step < m_last) send();
      if (m_migrates) migrate_to(std::size_t(this_index() + m_step) % workers());
      if (m_step % every == 0) co_await checkpoint(std::uint64_t(m_step));
    }
  }
  task<> resumed() {
    ++m_resumed;
    return run();
  }
  std::vector<std::uint64_t> state() const {
    return {std::uint64_t(m_step), m_value, std::uint64_t(m_resumed)};
  }

 private:
  [[nodiscard]] static std::size_t workers() { return total_worker_count(*runtime::current()); }
  void send() {
    this_array()[(this_index() + 1) % walkers].invoke<&walker::take>(m_step + 1, m_value);
  }
  int m_step = 0;
  int m_last = 0;
  std::uint64_t m_value = 1;
  bool m_migrates = false;
  int m_resumed = 0;
};

using states = std::vector<std::vector<std::uint64_t>>;

class checkpoint_of_elements : public starling_test::on_clusters {
 protected:
  /// Runs to step `last`, or on from a checkpoint. Returns the states of all elements.
  states run(const cluster& on, int last, std::string restart, bool migrates = false) const {
    states found;
    on.expect(0, [&](runtime& rt) -> task<int> {
      return rank_zero(rt, last, restart, migrates, &found);
    });
    return found;
  }
  starling_test::scratch_folder scratch;

  /// Runs two arrays that take checkpoints at the same time.
  task<int> two(runtime& rt, int last, std::string restart, states* found) const {
    auto saved = co_await checkpoints::open(rt, scratch.path(), {9, "", restart});
    std::vector<chare_array<walker>> arrays;
    for (const char* name : {"first", "second"})
      arrays.push_back(
          saved.create_array<walker>(name, walkers, placement::round_robin, last, false));
    co_await saved.load();
    for (const auto& one : arrays)
      if (!saved.is_restart()) {
        one.invoke<&walker::begin>();
        one.invoke<&walker::run>();
      }
    co_await quiescence();
    for (const auto& one : arrays)
      for (int i = 0; i < walkers; ++i) found->push_back(co_await one[i].call<&walker::state>());
    co_return 0;
  }

 private:
  task<int> rank_zero(runtime& rt, int last, std::string restart, bool migrates,
                      states* found) const {
    if (!migrates) stay_in_place(rt, "counts the calls of resumed() after a restart");
    auto saved = co_await checkpoints::open(rt, scratch.path(), {9, "", restart});
    const auto all =
        saved.create_array<walker>("walkers", walkers, placement::block, last, migrates);
    co_await saved.load();
    if (!saved.is_restart()) {
      all.invoke<&walker::begin>();
      all.invoke<&walker::run>();
    }
    co_await quiescence();
    for (int i = 0; i < walkers; ++i) found->push_back(co_await all[i].call<&walker::state>());
    co_return 0;
  }
};
INSTANTIATE_TEST_SUITE_P(on, checkpoint_of_elements,
                         testing::Values(cluster{1, 1}, cluster{1, 3}, cluster{2, 2}, cluster{5, 1},
                                         over_ucx({3, 1})),
                         starling_test::cluster_name);

TEST_P(checkpoint_of_elements, continues_by_resumed) {
  states whole = run(all, 8, "none");
  for (const auto& one : whole) EXPECT_EQ(one.at(0), 8u);
  for (auto& one : whole) one.at(2) = 1;  // calls of resumed()
  for (const char* number : {"1", "2"})
    for (const cluster& other : {all, cluster{1, 2}, cluster{3, 1}})
      EXPECT_EQ(run(other, 0, number), whole) << number << " on " << other;
}

TEST_P(checkpoint_of_elements, is_the_same_while_elements_migrate) {
  // How often `resumed()` has been called depends on the workers.
  const auto steps_and_values = [](states all) {
    for (auto& one : all) one.at(2) = 0;
    return all;
  };
  const states whole = steps_and_values(run(all, 8, "none", true));
  EXPECT_EQ(steps_and_values(run(all, 0, "1")), whole);
  EXPECT_EQ(steps_and_values(run(cluster{2, 1}, 0, "latest")), whole);
}

TEST_P(checkpoint_of_elements, of_two_arrays_are_taken_one_after_the_other) {
  const auto both = [this](const cluster& on, int last, std::string restart) {
    states found;
    on.expect(0, [&](runtime& rt) -> task<int> { return two(rt, last, restart, &found); });
    return found;
  };
  states whole = both(all, 8, "none");
  for (auto& one : whole) one.at(2) = 0;
  for (const cluster& other : {all, cluster{1, 2}}) {
    states again = both(other, 0, "latest");
    for (auto& one : again) one.at(2) = 0;
    EXPECT_EQ(again, whole) << other;
  }
}

/// Cannot be continued.
struct lost_walker : chare<lost_walker> {
  template <class Archive>
  void serialize(Archive&) {}
  task<> run() { co_await checkpoint(1); }
};

class refused_checkpoint_of_elements : public starling_test::on_clusters {};
INSTANTIATE_TEST_SUITE_P(on, refused_checkpoint_of_elements,
                         testing::Values(cluster{1, 2}, cluster{2, 1}),
                         starling_test::cluster_name);

TEST_P(refused_checkpoint_of_elements, ends_the_run) {
  starling_test::scratch_folder scratch;
  const auto error_of = [&](bool is_named) {
    const auto ends = all.run([&](runtime& rt) -> task<int> {
      auto saved = co_await checkpoints::open(rt, scratch.path());
      const auto some = is_named ? saved.create_array<lost_walker>("lost", 3, placement::block)
                                 : create_array<lost_walker>(rt, 3, placement::block);
      some.invoke<&lost_walker::run>();
      co_await quiescence();
      co_return 0;
    });
    return cluster::text_of(ends[0]);
  };
  EXPECT_NE(error_of(true).find("has no entry method resumed()"), std::string::npos)
      << error_of(true);
  EXPECT_NE(error_of(false).find("was not created by starling::checkpoints"), std::string::npos)
      << error_of(false);
}

}  // namespace
}  // namespace starling
