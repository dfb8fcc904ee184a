// SPDX-License-Identifier: Apache-2.0
// Invalid messages: the run ends with an error that names their sender and their content.
#include <cstring>
#include <vector>

#include "cluster.hpp"

namespace starling {
namespace {

using starling_test::cluster;

struct plain : chare<plain> {
  void take(int) {}
  task<int> sum() { co_return co_await reduce(1, reduction::sum()); }
};
struct other : chare<other> {
  void take(int) {}
};

using detail::make_remote;
using detail::object_id;
using take_plain = detail::remote_invocation<&plain::take, plain>;
using take_other = detail::remote_invocation<&other::take, other>;
using int_argument = std::tuple<int>;

struct scene {
  chare_array<plain> plains;  // elements 0 and 1 on rank 0, 2 and 3 on rank 1
  chare_array<other> others;
  read_only<int> number;
  [[nodiscard]] object_id id() const { return plains.state().id(); }
  [[nodiscard]] object_id of_nobody(std::uint64_t count) const { return id() + count; }
};

/// Returns the error of a run in which rank 0 sends `forge(scene)` to rank 1.
template <class Error = archive_error, class Forge>
std::string error_of(const Forge& forge) {
  const auto ends = cluster{2, 1}.run([&forge](runtime& rt) -> task<int> {
    const auto make = forge;
    const scene s{create_array<plain>(rt, 4, placement::block),
                  create_array<other>(rt, 4, placement::block), make_read_only(rt, 5)};
    co_await quiescence();
    rt.service<detail::object_space>().current_job()->send(1, make(s));
    co_await quiescence();
    co_return 0;
  });
  EXPECT_EQ(ends[1].status, 1);
  return starling_test::error_of_rank_0<Error>(ends);
}

void expect_refused(const std::string& error, const std::string& why) {
  EXPECT_NE(error.find("a message of rank 0"), std::string::npos) << error;
  EXPECT_NE(error.find(why), std::string::npos) << error;
}

template <class Change>
message with_header(message m, const Change& change) {
  detail::remote_header h;
  std::memcpy(&h, m.data(), sizeof h);
  change(h);
  std::memcpy(m.data(), &h, sizeof h);
  return m;
}
message sound(const scene& s) { return make_remote<take_plain>({}, s.id(), 2u, int_argument(1)); }

TEST(forged_messages, of_a_function_that_does_not_exist) {
  expect_refused(error_of([](const scene& s) {
                   return with_header(sound(s), [](auto& h) { h.function = 99999; });
                 }),
                 "function 99999, which does not exist");
}

TEST(forged_messages, for_a_worker_that_does_not_exist) {
  expect_refused(
      error_of([](const scene& s) { return with_header(sound(s), [](auto& h) { h.worker = 7; }); }),
      "it is for worker 7 of 1");
}

TEST(forged_messages, with_another_flag_for_quiescence) {
  expect_refused(error_of([](const scene& s) {
                   return with_header(sound(s), [](auto& h) { h.is_counted = 0; });
                 }),
                 "its header is invalid");
}

TEST(forged_messages, that_are_shorter_than_a_header) {
  expect_refused(error_of([](const scene&) { return message(3); }), "it has 3 bytes");
}

TEST(forged_messages, that_have_another_length_than_they_were_sent_with) {
  for (const int more : {-1, 1})
    expect_refused(error_of([more](const scene& s) {
                     return with_header(sound(s), [more](auto& h) { h.size += more; });
                   }),
                   "were sent");
}

TEST(forged_messages, to_an_array_of_other_chares) {
  const std::string error = error_of(
      [](const scene& s) { return make_remote<take_other>({}, s.id(), 2u, int_argument(1)); });
  expect_refused(error, "is an array of plain, not of other");
  expect_refused(error, "remote_invocation");
}

TEST(forged_messages, to_an_object_that_is_no_array) {
  expect_refused(error_of([](const scene& s) {
                   return make_remote<take_plain>({}, s.number.id(), 2u, int_argument(1));
                 }),
                 "which is an object of another kind");
}

TEST(forged_messages, to_an_object_that_does_not_exist) {
  expect_refused(error_of([](const scene& s) {
                   return make_remote<take_plain>({}, s.of_nobody(99), 2u, int_argument(1));
                 }),
                 "of rank 0 is named, but was not created");
  expect_refused(error_of([](const scene&) {
                   return make_remote<take_plain>({}, (object_id{9} << 40) + 1, 2u,
                                                  int_argument(1));
                 }),
                 "object 1 of rank 9 is named");
}

TEST(forged_messages, to_elements_that_do_not_exist) {
  expect_refused(error_of([](const scene& s) {
                   return make_remote<take_plain>({}, s.id(), 4u, int_argument(1));
                 }),
                 "an element's number: there is none such");
  expect_refused(error_of([](const scene& s) {
                   return make_remote<take_plain>({}, s.id(), 0u, int_argument(1));
                 }),
                 "it is for an element of another worker");
}

TEST(forged_messages, with_too_few_or_too_many_bytes) {
  expect_refused(error_of([](const scene& s) { return make_remote<take_plain>({}, s.id(), 2u); }),
                 "cannot unpack int");
  expect_refused(error_of([](const scene& s) {
                   return make_remote<take_plain>({}, s.id(), 2u, int_argument(1), 'x');
                 }),
                 "1 bytes are left behind its arguments");
}

TEST(forged_messages, that_create_objects_with_ids_of_another_rank) {
  using keep = detail::remote_value<int>;
  const std::string why = "the number of something new: it is another's";
  expect_refused(error_of([](const scene& s) { return make_remote<keep>({}, s.id(), 1); }), why);
  expect_refused(
      error_of([](const scene&) { return make_remote<keep>({}, (object_id{1} << 40) + 1, 1); }),
      why);
}

TEST(forged_messages, with_values_of_another_type) {
  struct taker {
    static void run(detail::received_call& a) {
      input_archive ar = a.arguments();
      static_cast<void>(ar.read<read_only<double>>());
    }
  };
  expect_refused(error_of([](const scene& s) { return make_remote<taker>({}, s.number.id()); }),
                 "is a int, not a double");
}

TEST(forged_messages, with_callbacks_for_results_of_another_type) {
  struct taker {
    static void run(detail::received_call& a) {
      input_archive ar = a.arguments();
      static_cast<void>(ar.read<callback<double>>());
    }
  };
  expect_refused(error_of([](const scene& s) {
                   return make_remote<taker>({}, s.plains[0].to<&plain::take, int>());
                 }),
                 "it takes results of another type");
}

TEST(forged_messages, with_an_invalid_address_for_the_result) {
  using call = detail::remote_call<&plain::sum, plain>;
  expect_refused(
      error_of([](const scene& s) {
        return make_remote<call>({}, detail::reply_address{5, 0, 1}, s.id(), 2u, std::tuple<>());
      }),
      "where a result goes: there is no such worker");
  const auto ends = cluster{2, 1}.run([](runtime& rt) -> task<int> {
    rt.service<detail::object_space>().current_job()->send(
        1, detail::make_reply_message(detail::reply_address{1, 0, 77}, 3));
    co_await quiescence();
    co_return 0;
  });
  EXPECT_NE(cluster::text_of(ends[0]).find("a message of rank 0"), std::string::npos);
  EXPECT_NE(cluster::text_of(ends[0]).find("two results for one reply"), std::string::npos);
}

TEST(forged_messages, that_make_arrays_of_another_size) {
  using make = detail::remote_array<plain, detail::placement_rule, std::tuple<>>;
  const auto array = [](int extent, std::uint64_t elements, detail::placement_rule map) {
    return [=](const scene& s) {
      return make_remote<make>({}, s.of_nobody(50), std::tuple<>(),
                               detail::sent_shape<int>{extent, elements}, map);
    };
  };
  const auto block = placement::block;
  expect_refused(error_of(array(1 << 30, 4, {block, 2, 4})), "another number of elements");
  expect_refused(error_of(array(0, 0, {block, 2, 0})), "another number of elements");
  expect_refused(error_of(array(4, 4, {block, 2, 0})), "it is not for such an array");
  expect_refused(error_of(array(4, 4, {block, 9, 4})), "it is not for such an array");
}

TEST(forged_messages, that_give_results_of_reductions_of_another_type) {
  const std::string error = error_of<entry_error>([](const scene& s) {
    for (int i = 2; i < 4; ++i) s.plains.urgent()[i].invoke<&plain::sum>();
    return make_remote<detail::remote_result<std::string>>({}, s.id(), 0u, std::string("text"));
  });
  EXPECT_NE(error.find("where int is awaited"), std::string::npos) << error;
}

}  // namespace
}  // namespace starling
