// SPDX-License-Identifier: Apache-2.0
// Arguments and results of entry methods: by value, by reference, moved, copied, large, and thrown.
#include <array>
#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

#include <starling/core.hpp>
#include <starling/objects.hpp>

#include "on_ranks.hpp"

namespace starling {
namespace {

using starling_test::message_of;
using starling_test::stay_in_place;

class arguments : public starling_test::on_ranks {};
INSTANTIATE_TEST_SUITE_P(on, arguments, starling_test::some_ranks, starling_test::ranks_name);
/// Not between ranks: there, an argument is not copied, and a view of local memory is invalid.
class arguments_within_a_rank : public arguments {};
INSTANTIATE_TEST_SUITE_P(on, arguments_within_a_rank, starling_test::one_rank,
                         starling_test::ranks_name);

/// Counts its copies.
struct parcel {
  explicit parcel(int c) : content(c) {}
  parcel(const parcel& other) : content(other.content), copies(other.copies + 1) {}
  parcel(parcel&&) noexcept = default;
  parcel& operator=(const parcel&) = delete;
  int content;
  int copies = 0;
};

struct hands {
  int shake() const { return 5; }
};

struct porter : chare<porter>, hands {
  static constexpr bool one_rank = true;  // parcels and views cannot travel
  int by_value(parcel p) { return p.copies; }
  int by_reference(const parcel& p) { return p.copies; }
  int by_rvalue(parcel&& p) { return parcel(std::move(p)).copies; }
  task<int> coroutine_by_value(parcel p) {
    co_await yield();
    co_return p.copies;
  }
  /// The message keeps the referenced argument alive until the coroutine ends.
  task<int> coroutine_by_reference(const parcel& p) {
    for (int i = 0; i < 10; ++i) co_await yield();
    co_return 1000 * p.content + p.copies;
  }
  std::unique_ptr<int> twice(std::unique_ptr<int> n) { return std::make_unique<int>(2 * *n); }
  task<std::unique_ptr<int>> thrice(std::unique_ptr<int> n) {
    co_await yield();
    *n *= 3;
    co_return n;
  }
  std::array<int, 20'000> large(std::array<int, 20'000> a) {
    for (int& each : a) ++each;
    return a;
  }
  std::size_t long_text(const std::string& text) const noexcept { return text.size(); }
  std::string many_kinds(char c, double d, const std::vector<int>& v, std::pair<int, bool> p,
                         const std::string& text) {
    return c + std::to_string(int(d)) + std::to_string(v.size()) + std::to_string(p.first) +
           (p.second ? "y" : "n") + text;
  }
  std::size_t view(std::string_view text) { return text.size(); }
  void keep(parcel p) { m_copies = p.copies; }
  void look(const parcel& p) { m_copies = p.copies; }
  int copies() const { return m_copies; }
  void set(int n) { m_copies = n; }
  void set(std::string text) { m_copies = int(text.size()); }
  template <class V>
  V same(V v) {
    return v;
  }
  virtual int kind() { return 1; }
  virtual ~porter() = default;

  void throw_plain(int) { throw std::out_of_range("plain"); }
  task<> throw_later() {
    co_await yield();
    throw std::out_of_range("later");
  }
  task<> throw_at_once() { throw std::out_of_range("at once"); }
  void throw_number() { throw 17; }

 private:
  int m_copies = 0;
};

TEST_P(arguments_within_a_rank, are_moved_into_the_message_and_out_of_it) {
  const auto porters = create_array<porter>(rt, 2, placement::round_robin);
  rt.sync_wait([](element<porter> p) -> task<> {
    EXPECT_EQ(co_await p.call<&porter::by_value>(parcel(1)), 0);
    EXPECT_EQ(co_await p.call<&porter::by_reference>(parcel(1)), 0);
    EXPECT_EQ(co_await p.call<&porter::by_rvalue>(parcel(1)), 0);
    EXPECT_EQ(co_await p.call<&porter::coroutine_by_value>(parcel(1)), 0);
    EXPECT_EQ(co_await p.call<&porter::coroutine_by_reference>(parcel(7)), 7000);
    const parcel mine(3);
    EXPECT_EQ(co_await p.call<&porter::by_value>(mine), 1);
    EXPECT_EQ(co_await p.call<&porter::coroutine_by_reference>(mine), 3001);
  }(porters[1]));
}

TEST_P(arguments_within_a_rank,
       of_broadcasts_are_shared_and_copied_only_for_methods_that_take_values) {
  stay_in_place(rt, "broadcasts are copied for each migrated element");
  const auto porters = create_array<porter>(rt, 10, placement::round_robin);
  rt.sync_wait([](chare_array<porter> a) -> task<> {
    a.invoke<&porter::look>(parcel(1));
    co_await quiescence();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(co_await a[i].call<&porter::copies>(), 0);
    a.invoke<&porter::keep>(parcel(1));
    co_await quiescence();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(co_await a[i].call<&porter::copies>(), 1);
  }(porters));
}

TEST_P(arguments, and_results_may_be_move_only) {
  const auto porters = create_array<porter>(rt, 2, placement::round_robin);
  rt.sync_wait([](element<porter> p) -> task<> {
    EXPECT_EQ(*co_await p.call<&porter::twice>(std::make_unique<int>(21)), 42);
    EXPECT_EQ(*co_await p.call<&porter::thrice>(std::make_unique<int>(14)), 42);
  }(porters[1]));
}

TEST_P(arguments, and_results_may_be_large) {
  const auto porters = create_array<porter>(rt, 2, placement::round_robin);
  std::array<int, 20'000> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = int(i);
  const auto result = rt.sync_wait(porters[1].call<&porter::large>(numbers));
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(result[i], int(i) + 1);
  const std::string text(1 << 20, 'x');
  EXPECT_EQ(rt.sync_wait(porters[1].call<&porter::long_text>(text)), text.size());
}

TEST_P(arguments, may_be_of_many_kinds) {
  const auto porters = create_array<porter>(rt, 2, placement::round_robin);
  auto text = porters[1].call<&porter::many_kinds>('a', 2, std::vector<int>{1, 2},
                                                   std::pair(3, true), "end");
  EXPECT_EQ(rt.sync_wait(std::move(text)), "a223yend");
}

TEST_P(arguments_within_a_rank, may_be_views) {
  const auto porters = create_array<porter>(rt, 2, placement::round_robin);
  EXPECT_EQ(rt.sync_wait(porters[1].call<&porter::view>("end")), 3U);
}

TEST_P(arguments, choose_overloads_templates_and_members_of_bases) {
  const auto porters = create_array<porter>(rt, 2, placement::round_robin);
  rt.sync_wait([](element<porter> p) -> task<> {
    p.invoke<static_cast<void (porter::*)(int)>(&porter::set)>(4);
    EXPECT_EQ(co_await p.call<&porter::copies>(), 4);
    p.invoke<static_cast<void (porter::*)(std::string)>(&porter::set)>("seven");
    EXPECT_EQ(co_await p.call<&porter::copies>(), 5);
    EXPECT_EQ(co_await p.call<&porter::same<double>>(1.5), 1.5);
    EXPECT_EQ(co_await p.call<&hands::shake>(), 5);
    EXPECT_EQ(co_await p.call<&porter::kind>(), 1);
  }(porters[1]));
}

TEST_P(arguments, of_calls_that_throw_bring_the_error_back) {
  const auto porters = create_array<porter>(rt, 2, placement::round_robin);
  rt.sync_wait([](element<porter> p) -> task<> {
    std::vector<future<>> failing;
    failing.push_back(p.call<&porter::throw_plain>(1));
    failing.push_back(p.call<&porter::throw_later>());
    failing.push_back(p.call<&porter::throw_at_once>());
    for (auto& each : failing) {
      bool thrown = false;
      try {
        co_await std::move(each);
      } catch (const std::out_of_range&) {
        thrown = true;
      }
      EXPECT_TRUE(thrown);
    }
    bool number = false;
    try {
      co_await p.call<&porter::throw_number>();
    } catch (int n) {
      number = n == 17;
    } catch (const remote_error&) {  // another rank transfers its text only
      number = true;
    }
    EXPECT_TRUE(number);
  }(porters[1]));
}

/// Runs until an error ends the run, after calling `f`, which sends a message; returns the error's
/// text. `f` holds no references, as it may still be sending when the run has ended.
template <class F>
std::string error_of(starling_test::first_rank& rt, F f) {
  return message_of<entry_error>([&] {
    rt.sync_wait([](F f) -> task<> {
      promise<> never;
      f();
      co_await never.get_future();
    }(f));
  });
}

TEST_P(arguments, of_messages_that_throw_end_the_run_with_the_name_of_the_method) {
  const auto porters = create_array<porter>(rt, 2, placement::round_robin);
  const std::string text = error_of(rt, [porters] { porters[1].invoke<&porter::throw_later>(); });
  EXPECT_NE(text.find("porter[1].throw_later: later"), std::string::npos) << text;
}

TEST_P(arguments, of_broadcasts_that_throw_name_an_element) {
  const auto porters = create_array<porter>(rt, 4, placement::round_robin);
  const std::string text = error_of(rt, [porters] { porters.invoke<&porter::throw_plain>(3); });
  EXPECT_NE(text.find("porter["), std::string::npos) << text;
  EXPECT_NE(text.find("].throw_plain: plain"), std::string::npos) << text;
}

TEST_P(arguments, of_methods_that_throw_no_exception_object_end_the_run) {
  const auto porters = create_array<porter>(rt, 2, placement::round_robin);
  const std::string text = error_of(rt, [porters] { porters[0].invoke<&porter::throw_number>(); });
  EXPECT_NE(text.find("porter[0].throw_number: an exception that is no std::exception"),
            std::string::npos)
      << text;
}

struct fragile : chare<fragile> {
  explicit fragile(int broken) {
    if (this_index() == broken) throw std::invalid_argument("cracked");
  }
  fragile(int, std::unique_ptr<int> value) : m_value(std::move(value)) {}
  int value() const { return *m_value; }
  void nothing() {}

 private:
  std::unique_ptr<int> m_value;
};

TEST_P(arguments, that_constructors_refuse_end_the_run) {
  std::string text = message_of<entry_error>([&] {
    rt.sync_wait([](runtime& rt) -> task<> {
      promise<> never;
      static_cast<void>(create_array<fragile>(rt, 20, placement::round_robin, 13));
      co_await never.get_future();
    }(rt));
  });
  EXPECT_NE(text.find("fragile[13].constructor: cracked"), std::string::npos) << text;
}

TEST_P(arguments, of_insertions_may_be_move_only) {
  const auto vases = create_empty_array<fragile>(rt, 5, placement::round_robin);
  vases.insert(3, 0, std::make_unique<int>(99));
  EXPECT_EQ(rt.sync_wait(vases[3].call<&fragile::value>()), 99);
}

TEST_P(arguments, of_chares_made_by_hand_are_refused) { EXPECT_THROW(fragile(0), usage_error); }

}  // namespace
}  // namespace starling
