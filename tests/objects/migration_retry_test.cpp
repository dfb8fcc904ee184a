// SPDX-License-Identifier: Apache-2.0
// Elements that arrive before an object that their state or their messages name, and messages that
// stay held until the end of a run.
#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "cluster.hpp"
#include "named_array.hpp"

namespace starling {
namespace {

using detail::object_id;
using starling_test::cluster;
using starling_test::named_array;

/// What the ranks, which are threads of this process, have in common.
struct noted {
  std::atomic<int> packed{0};  // elements that were sent to another rank
  std::atomic<int> alive{0};
  std::optional<future<int>> answer;
};
noted* now = nullptr;

struct guest : chare<guest> {
  guest() { ++now->alive; }
  explicit guest(migrated) {
    ++now->alive;
    m_later = spawn(later());
  }
  ~guest() { --now->alive; }
  template <class Archive>
  void serialize(Archive&) {
    if constexpr (!Archive::is_reading) ++now->packed;
  }

  void go(int to) { migrate_to(std::size_t(to)); }
  void nothing() {}
  int value() { return 42; }
  void take(named_array) {}
  int place() { return int(this_worker()); }
  object_id make_array() {
    return create_array<guest>(*runtime::current(), 3, placement::block).state().id();
  }
  /// Holds, behind a message of the home that has not arrived, a call and a message that names an
  /// array.
  void hold(object_id id) {
    promise<int> reply;
    now->answer.emplace(reply.get_future());
    detail::array_of<guest>& array = this_array().state();
    const detail::address<guest> here{&array.local(0), std::uint32_t(this_index())};
    using call = detail::entry_message<&guest::value, guest, promise<int>>;
    using taking = detail::entry_message<&guest::take, guest>;
    auto& next = array.entry(0, here.to).homed[std::size_t(priority::high)];
    keep(here, *new call(here, std::move(reply)), next + 2);
    keep(here, *new taking(here, detail::no_reply(), named_array{id}), next + 3);
  }

 private:
  static task<> later() { co_await yield(); }
  template <class Message>
  void keep(const detail::address<guest>& here, Message& m, std::uint64_t number) {
    const detail::ticket at{.home_number = number, .priority = priority::high};
    auto& kept =
        *new detail::tracked_message<guest>(here, m, at, detail::functions_of<guest, Message>);
    kept.queued().home = here.local->home;
    EXPECT_TRUE(element_state().tracked->order.add(kept));
  }

  future<void> m_later;
};

class arrivals : public testing::Test {
 protected:
  arrivals() { now = &m_noted; }
  ~arrivals() override { now = nullptr; }
  noted m_noted;
};

/// Lets element 0, whose home is rank 0, hold a call and a message that names array `id`.
task<> prepare(chare_array<guest> all, object_id id) {
  for (const int to : {1, 0}) {  // so that it is tracked, and back
    all[0].invoke<&guest::go>(to);
    co_await quiescence();
  }
  co_await all[0].call<&guest::hold>(id);
}

TEST_F(arrivals, are_repeated_without_an_effect_on_calls_that_were_read) {
  cluster{3, 1}.expect(0, [](runtime& rt) -> task<int> {
    starling_test::stay_in_place(rt, "names the workers");
    const auto all = create_array<guest>(rt, 3, placement::block);
    const object_id next = (object_id{2} << detail::object_counter_bits) + 1;  // made by rank 2
    co_await prepare(all, next);
    const int packed = now->packed;
    all[0].invoke<&guest::go>(1);
    while (now->packed == packed) co_await yield();
    EXPECT_EQ(co_await all[1].call<&guest::place>(), 1);  // behind the element
    EXPECT_FALSE(now->answer->is_ready());
    EXPECT_EQ(co_await all[2].call<&guest::make_array>(), next);
    all.urgent()[0].invoke<&guest::nothing>();  // the message for which they wait
    EXPECT_EQ(co_await std::move(*now->answer), 42);
    EXPECT_EQ(co_await all[0].call<&guest::place>(), 1);
    co_return 0;
  });
  EXPECT_EQ(m_noted.alive, 0);
}

TEST_F(arrivals, that_miss_an_object_leave_nothing_behind) {
  const auto ends = cluster{2, 1}.run([](runtime& rt) -> task<int> {
    starling_test::stay_in_place(rt, "names the workers");
    const auto all = create_array<guest>(rt, 2, placement::block);
    co_await prepare(all, all.state().id() + 1);
    all[0].invoke<&guest::go>(1);
    co_await quiescence();
    co_return 0;
  });
  const std::string error = starling_test::error_of_rank_0<archive_error>(ends);
  EXPECT_NE(error.find("is named, but was not created"), std::string::npos) << error;
  m_noted.answer.reset();
  EXPECT_EQ(m_noted.alive, 0);
}

TEST_F(arrivals, that_hold_messages_at_the_end_are_listed) {
  testing::internal::CaptureStderr();
  cluster{2, 1}.expect(0, [](runtime& rt) -> task<int> {
    starling_test::stay_in_place(rt, "names the workers");
    const auto all = create_array<guest>(rt, 2, placement::block);
    co_await prepare(all, all.state().id());
    all[0].invoke<&guest::go>(1);
    co_await quiescence();
    co_return 0;
  });
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("starling: messages left over on rank 1, 1: 2 to guest[0] that wait for "
                      "earlier ones\n"),
            std::string::npos)
      << text;
  m_noted.answer.reset();
}

}  // namespace
}  // namespace starling
