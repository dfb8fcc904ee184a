// SPDX-License-Identifier: Apache-2.0
// Arrays and sections that are destroyed before the run ends, and the memory of an array per rank.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "cluster.hpp"
#include "names.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::cluster_sizes;
using starling_test::many;
using starling_test::numbers;
using starling_test::on_clusters;

std::atomic<int> s_alive{0};

/// The visits to all elements of all ranks, which are threads here.
struct visitors_book {
  void add(int element) {
    const std::lock_guard guard(m_mutex);
    m_visits.push_back(element);
  }
  /// Removes all visits and returns whether there were `times` of each of the elements.
  [[nodiscard]] bool take(std::vector<int> elements, int times) {
    const std::lock_guard guard(m_mutex);
    std::vector<int> visits = std::exchange(m_visits, {});
    std::ranges::sort(visits);
    std::vector<int> expected;
    for (const int each : elements) expected.insert(expected.end(), std::size_t(times), each);
    return visits == expected;
  }

 private:
  std::mutex m_mutex;
  std::vector<int> m_visits;
} s_visits;

struct guest : chare<guest> {
  guest() { ++s_alive; }
  ~guest() { --s_alive; }
  template <class Archive>
  void serialize(Archive&) {}
  void visit() { s_visits.add(this_index()); }
  int number() const { return this_index(); }
  void count(callback<int> to) { contribute(1, reduction::sum{}, to); }
  awaited letter(int number);
  /// Awaits a message that is never sent.
  task<> wait() { co_await when<&guest::letter>(); }
};

class array_destruction : public on_clusters {
 protected:
  void SetUp() override {
    on_clusters::SetUp();
    s_alive = 0;
    static_cast<void>(s_visits.take({}, 0));
  }
  void TearDown() override { EXPECT_EQ(s_alive, 0); }
};
INSTANTIATE_TEST_SUITE_P(of, array_destruction,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{2, 2},
                                         cluster{5, 1}),
                         starling_test::cluster_name);

TEST_P(array_destruction, follows_messages_sent_before) {
  all.expect(0, [](runtime& rt) -> task<int> {
    int wrong = 0;
    for (const auto how : {placement::block, placement::round_robin})
      for (int round = 0; round < many(20, 5); ++round) {
        const auto guests = create_array<guest>(rt, 50, how);
        guests.invoke<&guest::visit>();
        for (int i = 0; i < 50; ++i) guests[i].invoke<&guest::visit>();
        guests.destroy();
        co_await quiescence();
        wrong += !s_visits.take(numbers(0, 50), 2) || s_alive != 0;
      }
    co_return wrong;
  });
}

TEST_P(array_destruction, cancels_waits_of_its_elements) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto guests = create_array<guest>(rt, 20, placement::block);
    std::vector<future<>> waits;
    for (int i = 0; i < 20; ++i) waits.push_back(guests[i].call<&guest::wait>());
    guests.destroy();
    int wrong = 0;
    for (auto& each : waits) try {
        co_await std::move(each);
        ++wrong;
      } catch (const operation_cancelled&) {
      }
    co_return wrong;
  });
}

TEST_P(array_destruction, makes_later_messages_errors_that_name_the_element) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto guests = create_array<guest>(rt, 20, placement::round_robin);
    guests.destroy();
    int wrong = 0;
    for (int i = 0; i < 20; ++i) try {
        static_cast<void>(co_await guests[i].call<&guest::number>());
        ++wrong;
      } catch (const no_such_element& e) {
        wrong +=
            std::string(e.what()).find("guest[" + std::to_string(i) + "]") == std::string::npos;
      }
    guests.destroy();  // no effect: the array is already destroyed
    co_return wrong;
  });
}

TEST_P(array_destruction, refuses_insertions_and_messages_that_wait_for_them) {
  const auto ends = all.run([](runtime& rt) -> task<int> {
    const auto guests = create_empty_array<guest>(rt, 20, placement::block);
    auto early = guests[19].call<&guest::number>();
    guests.insert(3);
    guests.destroy();
    try {
      static_cast<void>(co_await std::move(early));
    } catch (const no_such_element&) {
      guests.insert(4);
    }
    co_await quiescence();
    co_return 0;
  });
  EXPECT_NE(cluster::text_of(ends[0]).find("takes no more elements"), std::string::npos)
      << cluster::text_of(ends[0]);
}

/// Each member destroys an array of its neighbour, of which its rank may have no record yet.
struct host : chare<host> {
  template <class Archive>
  void serialize(Archive&) {}
  void open(chare_array<host> all) {
    const auto guests = create_array<guest>(*runtime::current(), 30, placement::round_robin);
    all[(this_index() + 1) % all.extent().extent()].invoke<&host::close>(guests);
  }
  void close(chare_array<guest> guests) {
    guests.invoke<&guest::visit>();
    guests.destroy();
  }
};

TEST_P(array_destruction, may_be_called_by_ranks_that_did_not_create_the_array) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto hosts = create_rank_group<host>(rt);
    hosts.invoke<&host::open>(hosts);
    co_await quiescence();
    co_return int(!s_visits.take(numbers(0, 30), rank_count()) || s_alive != 0);
  });
}

TEST_P(array_destruction, frees_all_elements_of_many_arrays) {
  all.expect(0, [](runtime& rt) -> task<int> {
    for (int round = 0; round < many(300, 30); ++round) {
      const auto guests = create_array<guest>(rt, 10, placement::block);
      auto [to, sum] = make_reply<int>();
      guests.invoke<&guest::count>(to);
      if (co_await std::move(sum) != 10) co_return 1;
      guests.destroy();
    }
    co_await quiescence();
    co_return s_alive.load();
  });
}

// --- sections

/// Records the ranks' states of the sections that their elements have used. Ranks are threads here.
struct kept_sections {
  void add(std::weak_ptr<const void> parts) {
    const std::lock_guard guard(m_mutex);
    m_parts.push_back(std::move(parts));
  }
  void clear() {
    const std::lock_guard guard(m_mutex);
    m_parts.clear();
  }
  [[nodiscard]] bool are_gone() {
    const std::lock_guard guard(m_mutex);
    return m_parts.empty() == (rank_count() == 1) &&
           std::ranges::all_of(m_parts, [](const auto& p) { return p.expired(); });
  }

 private:
  std::mutex m_mutex;
  std::vector<std::weak_ptr<const void>> m_parts;
} s_kept;

/// An element of sections that the tests make and destroy.
struct member : chare<member> {
  template <class Archive>
  void serialize(Archive&) {}
  void visit() { s_visits.add(this_index()); }
  void count(section<member> all, callback<int> to) {
    contribute(all, 1, reduction::sum{}, to);
    note(all);
  }
  /// Reduces over the section; element 1 destroys the section as soon as it has the result.
  task<int> count_and_end(section<member> all) {
    note(all);
    const int sum = co_await reduce(all, 1, reduction::sum{});
    if (this_index() == 1) all.destroy();
    co_return sum;
  }
  /// Sends to a section of which its rank may have no record yet, and destroys it.
  void visit_and_end(section<member> all) {
    note(all);
    all.invoke<&member::visit>();
    all.destroy();
  }

 private:
  static void note(const section<member>& s) {
    if (rank_count() == 1) return;  // on one rank, the section's last copy keeps the state
    s_kept.add(detail::section_of<member>(s.state().array.space(), s.state().reductions.id()));
  }
};
const std::vector<int> some_members{1, 2, 3, 5, 8, 13, 21, 34};

class section_destruction : public on_clusters {
 protected:
  void SetUp() override {
    on_clusters::SetUp();
    static_cast<void>(s_visits.take({}, 0));
    s_kept.clear();
  }
};
INSTANTIATE_TEST_SUITE_P(of, section_destruction,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{2, 1}, cluster{2, 2},
                                         cluster{5, 2}),
                         starling_test::cluster_name);

TEST_P(section_destruction, follows_messages_sent_before) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto members = create_array<member>(rt, 50, placement::round_robin);
    for (int round = 0; round < many(20, 5); ++round) {
      const auto some = make_section(members, some_members);
      some.invoke<&member::visit>();
      some.destroy();
    }
    co_await quiescence();
    co_return int(!s_visits.take(some_members, many(20, 5)));
  });
}

TEST_P(section_destruction, may_be_called_by_ranks_that_did_not_create_the_section) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto members = create_array<member>(rt, 50, placement::round_robin);
    for (int round = 0; round < many(20, 5); ++round)
      members[round].invoke<&member::visit_and_end>(make_section(members, some_members));
    co_await quiescence();
    co_return int(!s_visits.take(some_members, many(20, 5)) || !s_kept.are_gone());
  });
}

TEST_P(section_destruction, lets_results_arrive_that_members_await) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto members = create_array<member>(rt, 50, placement::round_robin);
    int wrong = 0;
    for (int round = 0; round < many(100, 20); ++round) {
      const auto some = make_section(members, some_members);
      std::vector<future<int>> sums;
      for (const int i : some_members)
        sums.push_back(members[i].call<&member::count_and_end>(some));
      for (auto& sum : sums) wrong += co_await std::move(sum) != int(some_members.size());
    }
    co_await quiescence();
    co_return wrong + !s_kept.are_gone();
  });
}

TEST_P(section_destruction, follows_results_that_a_task_awaits) {
  all.expect(0, [](runtime& rt) -> task<int> {
    const auto members = create_array<member>(rt, 50, placement::block);
    int wrong = 0;
    for (int round = 0; round < many(100, 20); ++round) {
      const auto some = make_section(members, some_members);
      auto [to, sum] = make_reply<int>();
      for (const int i : some_members) members[i].invoke<&member::count>(some, to);
      wrong += co_await std::move(sum) != int(some_members.size());
      some.destroy();
    }
    co_await quiescence();
    co_return wrong + !s_kept.are_gone();
  });
}

std::string error_after_end(void (*use)(const section<member>&)) {
  const auto ends = cluster{2, 1}.run([use](runtime& rt) -> task<int> {
    const auto then = use;
    const auto members = create_array<member>(rt, 50, placement::round_robin);
    const auto some = make_section(members, some_members);
    some.destroy();
    co_await quiescence();
    then(some);
    co_await quiescence();
    co_return 0;
  });
  return cluster::text_of(ends[0]);
}

/// Returns whether the error is that of the rank that has destroyed the section, or of another one.
bool names_the_end(const std::string& error) {
  return error.find("used after its destroy") != error.npos ||
         error.find("has been destroyed") != error.npos;
}

TEST(a_destroyed_section, refuses_messages) {
  const std::string error =
      error_after_end([](const auto& s) { s.template invoke<&member::visit>(); });
  EXPECT_NE(error.find("has been destroyed"), std::string::npos) << error;
}

TEST(a_destroyed_section, refuses_contributions) {
  const std::string error = error_after_end([](const auto& s) {
    auto [to, sum] = make_reply<int>();
    chare_array<member>(s.state().array)[2].template invoke<&member::count>(s, to);
  });
  EXPECT_TRUE(names_the_end(error)) << error;  // the element may have migrated to another rank
}

TEST(a_destroyed_section, is_not_destroyed_again) {
  const std::string error = error_after_end([](const auto& s) { s.destroy(); });
  EXPECT_TRUE(names_the_end(error)) << error;  // of the caller's rank, or of a faster one
}

// --- memory per rank of an array

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t virtual_pages = 0, resident_pages = 0;
  statm >> virtual_pages >> resident_pages;
  return resident_pages * std::size_t(::sysconf(_SC_PAGESIZE));
}

int grown_mib() {
  int grown = -1;
  cluster{8, 1}.expect(0, [&grown](runtime& rt) -> task<int> {
    const std::size_t before = resident_bytes();
    const auto wide = create_empty_array<guest>(rt, 8 << 20, placement::block);
    wide.insert(8 << 19);
    co_await quiescence();
    grown = int((resident_bytes() - before) >> 20);
    wide.destroy();
    co_await quiescence();
    co_return 0;
  });
  return grown;
}

// Each rank has a pointer for each of its own elements: 64 MiB in all, where a table of all
// elements on each rank would take 768 MiB. Sanitizers take up to four times as much in addition.
// In its own process: memory freed by earlier tests would be reused without growth.
TEST(the_memory_of_an_array, grows_with_the_elements_of_each_rank) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto measure = [] {
    const int grown = grown_mib();
    std::fprintf(stderr, "grown by %d MiB\n", grown);
    std::exit(grown > 32 && grown < 600 ? 0 : 1);
  };
  EXPECT_EXIT(measure(), testing::ExitedWithCode(0), "grown by [0-9]+ MiB");
}

}  // namespace
}  // namespace starling
