// SPDX-License-Identifier: Apache-2.0
// Invalid broadcasts: the run ends with an error that names their sender and their content.
#include <cstring>
#include <mutex>

#include "cluster.hpp"
#include "objects/job_impl.hpp"
#include "tapped_transport.hpp"

namespace starling {
namespace {

using starling_test::cluster;

constexpr int ranks = 5;
constexpr int victim = 1;  // receives broadcasts of rank 0 and forwards them to ranks 3 and 4

using text = std::string;

struct plain : chare<plain> {
  void take(const text&) {}
};

using detail::make_remote;
using detail::object_id;
using take_plain = detail::remote_broadcast<&plain::take, plain, detail::all_elements>;

/// Returns an id of `rank` that is not in use.
object_id id_of(int rank, std::uint64_t count = 1000) {
  return (object_id(rank) << detail::object_counter_bits) + count;
}

/// The parts of a valid broadcast message; a test changes one of them.
struct parts {
  object_id id;
  std::vector<int> listed;
  message call;
  std::uint32_t count = std::uint32_t(listed.size());

  [[nodiscard]] message load() const {
    message m = call.behind(16 + (4 * listed.size() + 15) / 16 * 16);
    const std::uint32_t counts[] = {count, 0};
    std::memcpy(m.data(), &id, 8);
    std::memcpy(m.data() + 8, counts, 8);
    if (!listed.empty()) std::memcpy(m.data() + 16, listed.data(), 4 * listed.size());
    return m;
  }
};

message call_of(object_id array) {
  return make_remote<take_plain>({detail::remote_header::every_worker, priority::normal}, array,
                                 std::uint8_t(0), std::tuple<text>("a text"));
}

/// Returns the error of a run in which rank 0 sends `forge(array id)` to the victim, `times` times.
template <class Forge>
std::string error_of(const Forge& forge, int times = 1) {
  const auto ends = cluster{ranks, 1}.run([&](runtime& rt) -> task<int> {
    const auto make = forge;
    const int count = times;
    const auto plains = create_array<plain>(rt, 10, placement::block);
    co_await quiescence();
    auto& job = static_cast<detail::job_impl&>(*rt.service<detail::object_space>().current_job());
    for (int i = 0; i < count; ++i) job.send_load(victim, make(plains.state().id()));
    co_await quiescence();
    co_return 0;
  });
  EXPECT_EQ(ends[victim].status, 1);
  return starling_test::error_of_rank_0<archive_error>(ends);
}

template <class Forge>
void expect_refused(const Forge& forge, const std::string& why, int times = 1) {
  const std::string error = error_of(forge, times);
  EXPECT_NE(error.find("a message of rank "), std::string::npos) << error;
  EXPECT_NE(error.find(why), std::string::npos) << error;
}

TEST(forged_broadcasts, that_are_cut_off) {
  expect_refused([](object_id) { return message(0); }, "a broadcast is cut off");
  expect_refused([](object_id) { return message(23); }, "a broadcast is cut off");
}

TEST(forged_broadcasts, of_ranks_that_do_not_exist) {
  const auto of = [](object_id id) {
    return [id](object_id a) { return parts{id, {}, call_of(a)}.load(); };
  };
  expect_refused(of(id_of(ranks)), "of a rank that does not exist");
  expect_refused(of(~object_id{0}), "of a rank that does not exist");
  expect_refused(of(id_of(0, 0)), "of a rank that does not exist");
}

TEST(forged_broadcasts, that_arrive_from_the_wrong_rank) {
  const auto with = [](int origin, std::vector<int> listed) {
    return [=](object_id a) { return parts{id_of(origin), listed, call_of(a)}.load(); };
  };
  const text other_way = "from another rank than the one above",
             others = "does not include this rank";
  expect_refused(with(4, {}), other_way, 1);
  expect_refused(with(2, {0, 1, 3, 4}), other_way);
  expect_refused(with(victim, {}), others);
  expect_refused(with(0, {2, 3, 4}), others);
}

TEST(forged_broadcasts, with_invalid_lists_of_ranks) {
  const auto for_these = [](std::vector<int> listed) {
    return [=](object_id a) { return parts{id_of(0), listed, call_of(a)}.load(); };
  };
  const text why = "for ranks that cannot be";
  expect_refused(for_these({1, 1, 2}), why);
  expect_refused(for_these({2, 1, 3}), why);
  expect_refused(for_these({0, 1, 2}), why);
  expect_refused(for_these({-1, 1, 2}), why);
  expect_refused(for_these({1, 2, ranks}), why);
  expect_refused(
      [](object_id a) {
        return parts{id_of(0), {}, call_of(a), 0xffffffff}.load();
      },
      "more ranks than there are");
  expect_refused(
      [](object_id) {
        return parts{id_of(0), {}, message(sizeof(detail::remote_header)), 4}.load();
      },
      "more ranks than there are");
}

TEST(forged_broadcasts, of_functions_that_cannot_be_broadcast) {
  const auto with = [](auto change) {
    return [=](object_id a) {
      message call = call_of(a);
      detail::remote_header h;
      std::memcpy(&h, call.data(), sizeof h);
      change(h);
      std::memcpy(call.data(), &h, sizeof h);
      return parts{id_of(0), {}, std::move(call)}.load();
    };
  };
  expect_refused(with([](auto& h) { h.function = 99999; }), "function 99999, which does not exist");
  expect_refused(with([](auto& h) { h.worker = 7; }), "it is for worker 7 of 1");
  expect_refused(with([](auto& h) { h.is_counted = 0; }), "its header is invalid");
}

TEST(forged_broadcasts, that_arrive_twice) {
  expect_refused(
      [](object_id a) {
        return parts{id_of(0), {}, call_of(a)}.load();
      },
      "a broadcast has come before", 2);
}

TEST(forged_broadcasts, without_a_mark) {
  expect_refused(
      [](object_id a) {
        return parts{id_of(0), {}, call_of(a)}.load();
      },
      "object 1000 of rank 0 is a broadcast without its mark");
}

/// Returns the error of a run in which `change` alters a broadcast from rank 0 to the victim.
template <class Change>
std::string error_when_changed(const Change& change) {
  const text words(20'000, 'w');
  const auto ends = cluster{ranks, 1}.run(
      [words](runtime& rt) -> task<int> {
        const text said = words;
        create_array<plain>(rt, 10, placement::block).invoke<&plain::take>(said);
        co_await quiescence();
        co_return 0;
      },
      [&](std::unique_ptr<transport> t) {
        const bool is_victim = t->rank() == victim;
        return std::make_unique<starling_test::tapped_transport>(std::move(t), [=](message m) {
          if (is_victim && m.size() >= words.size()) change(m);
          return m;
        });
      });
  return starling_test::error_of_rank_0<archive_error>(ends);
}

TEST(forged_broadcasts, whose_marks_name_other_broadcasts) {
  const std::string error = error_when_changed([](message& m) {
    const object_id other = id_of(0);
    std::memcpy(m.data(), &other, sizeof other);
  });
  EXPECT_NE(error.find("a message of rank "), std::string::npos) << error;
  EXPECT_TRUE(error.find("is named, but was not created") != std::string::npos ||
              error.find("is a broadcast without its mark") != std::string::npos)
      << error;
}

TEST(forged_broadcasts, whose_marks_are_for_other_workers_or_priorities) {
  const auto expect_other = [](auto change) {
    const std::string error = error_when_changed([change](message& m) {
      detail::remote_header h;
      std::memcpy(&h, m.data() + 16, sizeof h);
      change(h);
      std::memcpy(m.data() + 16, &h, sizeof h);
    });
    EXPECT_NE(error.find("a broadcast to another worker or of another priority"), std::string::npos)
        << error;
  };
  expect_other([](detail::remote_header& h) { h.priority = 0; });
  expect_other([](detail::remote_header& h) { h.worker = 0; });  // the mark is for every worker
}

TEST(forged_broadcasts, of_an_array_that_does_not_exist) {
  const std::string error = error_when_changed([](message& m) {
    const object_id other = id_of(0);
    std::memcpy(m.data() + 16 + sizeof(detail::remote_header), &other, sizeof other);
  });
  EXPECT_NE(error.find("object 1000 of rank 0"), std::string::npos) << error;
}

}  // namespace
}  // namespace starling
