// SPDX-License-Identifier: Apache-2.0
// Exceptions while elements contribute, are called, migrate, arrive and are destroyed: no wait, no
// reply and no element is left behind.
#include <atomic>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::cluster;
using starling_test::message_of;

// --- waits

/// Reads what the calling coroutine's frame has recorded about its wait. Does not suspend.
struct recorded_wait {
  await_kind kind = await_kind::running;
  bool await_ready() const noexcept { return false; }
  template <detail::runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    kind = h.promise().kind.load();
    return false;
  }
  await_kind await_resume() const noexcept { return kind; }
};

/// A value whose next moves throw while `fails` is set.
struct immovable {
  static inline std::atomic<bool> fails{false};
  immovable() = default;
  immovable(const immovable&) = default;
  immovable(immovable&&) {
    if (fails) throw std::range_error("not moved");
  }
  immovable& operator=(const immovable&) = default;
  template <class Archive>
  void serialize(Archive&) {}
};
constexpr auto first = [](immovable a, const immovable&) { return a; };

struct giver : chare<giver> {
  giver() = default;
  void go(int to) { migrate_to(std::size_t(to)); }
  task<bool> give() {
    auto result = reduce(immovable(), first);
    immovable::fails = true;
    bool has_failed = false;
    try {
      co_await result;
    } catch (const std::range_error&) {
      has_failed = true;
    }
    immovable::fails = false;
    EXPECT_EQ(co_await recorded_wait{}, await_kind::running);
    co_return has_failed;
  }
  template <class Archive>
  void serialize(Archive&) {}
};

class failed_contributions : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, failed_contributions,
                         testing::Values(cluster{1, 1}, cluster{1, 2}, cluster{2, 1}),
                         starling_test::ranks_name);

TEST_P(failed_contributions, leave_no_record_of_a_wait) {
  const auto all = create_array<giver>(rt, 1, placement::block);
  rt.sync_wait([](chare_array<giver> all, int workers) -> task<> {
    EXPECT_TRUE(co_await all[0].call<&giver::give>());
    all[0].invoke<&giver::go>(workers - 1);
    co_await quiescence();
    EXPECT_TRUE(co_await all[0].call<&giver::give>());
  }(all, int(total_worker_count(rt))));
}

// --- replies

/// An argument that cannot be packed while `fails` is set.
struct unpackable {
  static inline std::atomic<bool> fails{false};
  template <class Archive>
  void serialize(Archive&) {
    if (!Archive::is_reading && fails) throw std::range_error("not packed");
  }
};

struct asked : chare<asked> {
  void go(int to) { migrate_to(std::size_t(to)); }
  int take(unpackable) { return 7; }
  template <class Archive>
  void serialize(Archive&) {}
};

template <auto Entry, class... Args>
future<int> call_tracked(const element<asked>& to, Args... args) {
  using message = detail::entry_message<Entry, asked, promise<int>>;
  promise<int> reply;
  future<int> answer = reply.get_future();
  EXPECT_TRUE(to.address().local->has_tracked());
  EXPECT_THROW(detail::send_specially(
                   to.address(), *new message(to.address(), std::move(reply), std::move(args)...),
                   detail::functions_of<asked, message>, to.priority()),
               std::range_error);
  return answer;
}

TEST(failed_calls, give_the_error_to_their_future_and_can_be_repeated) {
  cluster{2, 1}.expect(0, [](runtime& rt) -> task<int> {
    starling_test::stay_in_place(rt, "the message must leave its rank");
    const auto all = create_array<asked>(rt, 2, placement::block);
    for (const int to : {0, 1}) {  // so that rank 0 numbers its messages to element 1
      all[1].invoke<&asked::go>(to);
      co_await quiescence();
    }
    unpackable::fails = true;
    future<int> answer = call_tracked<&asked::take>(all[1], unpackable());
    EXPECT_TRUE(answer.is_ready());
    unpackable::fails = false;
    if (!answer.is_ready()) co_return 1;
    EXPECT_THROW(co_await std::move(answer), std::range_error);
    EXPECT_EQ(co_await all[1].call<&asked::take>(unpackable()), 7);
    co_return 0;
  });
}

// --- elements

/// An index, of which copy number `left` throws std::bad_alloc; 0: none.
struct fickle {
  static inline std::atomic<int> left{0};
  explicit fickle(int number = 0) : n(number) {}
  fickle(const fickle& other) : n(other.n) {
    if (left != 0 && --left == 0) throw std::bad_alloc();
  }
  fickle(fickle&&) noexcept = default;
  fickle& operator=(const fickle&) = default;
  friend bool operator==(const fickle& a, const fickle& b) noexcept { return a.n == b.n; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(n);
  }
  int n;
};

}  // namespace
}  // namespace starling

template <>
struct std::hash<starling::fickle> {
  std::size_t operator()(const starling::fickle& i) const noexcept { return std::size_t(i.n); }
};

namespace starling {
namespace {

struct wanderer : chare<wanderer, fickle> {
  static inline std::atomic<int> alive{0};
  wanderer() { ++alive; }
  ~wanderer() { --alive; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_copies);
  }
  awaited letter();
  task<> wait() { co_await when<&wanderer::letter>(); }
  void go(int to, int copies) {
    m_copies = copies;
    migrate_to(std::size_t(to));
  }
  void before_migration() { fickle::left = std::exchange(m_copies, 0); }
  void after_migration() { fickle::left = 0; }
  void arm(int copies) { fickle::left = copies; }

 private:
  int m_copies = 0;
};

/// Lets copy number `copies` of an index throw while an element that waits for a message departs,
/// and another one while it is destroyed far from its home.
task<int> move_and_destroy(runtime& rt, int on_departure, int on_destruction) {
  starling_test::stay_in_place(rt, "counts the copies of an index");
  fickle::left = 0;
  const auto all = create_sparse_array<wanderer>(rt, [](const fickle&) { return 0; });
  const fickle one(1);
  all.insert(one);
  all.done_inserting();
  co_await quiescence();
  const auto e = all[one];
  if (rank_count() == 1) e.invoke<&wanderer::wait>();
  e.invoke<&wanderer::go>(1, on_departure);
  co_await quiescence();
  e.invoke<&wanderer::arm>(on_destruction);
  e.destroy();
  co_await quiescence();
  fickle::left = 0;
  co_return 0;
}

class failed_migrations : public testing::TestWithParam<cluster> {};
INSTANTIATE_TEST_SUITE_P(on, failed_migrations, testing::Values(cluster{1, 2}, cluster{2, 1}),
                         starling_test::ranks_name);

/// Returns how often an exception was thrown.
int count_failures(const cluster& all, const std::function<task<int>(runtime&, int)>& main) {
  int failures = 0;
  for (int copies = 1; copies <= 40; ++copies) {
    const auto ends = all.run([&](runtime& rt) { return main(rt, copies); });
    const std::string error = cluster::text_of(ends[0]);
    failures += error.empty() ? 0 : 1;
    EXPECT_TRUE(error.empty() || error.find("bad_alloc") != std::string::npos) << error;
    EXPECT_EQ(wanderer::alive.load(), 0) << "copy " << copies;
    wanderer::alive = 0;
  }
  return failures;
}

TEST_P(failed_migrations, leave_no_element_behind) {
  EXPECT_GT(
      count_failures(GetParam(), [](runtime& rt, int n) { return move_and_destroy(rt, n, 0); }), 2);
}

TEST_P(failed_migrations, leave_no_element_behind_that_is_destroyed) {
  EXPECT_GT(
      count_failures(GetParam(), [](runtime& rt, int n) { return move_and_destroy(rt, 0, n); }), 2);
}

/// Its constructor on another rank fails.
struct stillborn : chare<stillborn> {
  stillborn() = default;
  explicit stillborn(migrated) { throw std::runtime_error("no life here"); }
  void go(int to) { migrate_to(std::size_t(to)); }
  template <class Archive>
  void serialize(Archive&) {}
};

TEST(constructors_of_migrated_elements, that_fail_end_the_run_and_name_the_element) {
  const auto ends = cluster{2, 1}.run([](runtime& rt) -> task<int> {
    const auto one = create_array<stillborn>(rt, 1, placement::block);
    one[0].invoke<&stillborn::go>(1);
    co_await quiescence();
    co_return 0;
  });
  const std::string error = starling_test::error_of_rank_0<entry_error>(ends);
  EXPECT_NE(error.find("stillborn[0].constructor: no life here"), std::string::npos) << error;
}

}  // namespace
}  // namespace starling
