// SPDX-License-Identifier: Apache-2.0
// References to arrays, elements and host mailboxes of another program or of none: each is refused
// with an error that names the requested and the existing objects.
#include <cstdint>

#include "support.hpp"

namespace starling_test {
namespace {

template <class Cx>
struct clerk : resident::chare {
  constexpr void nothing(Cx&) {}
  constexpr void tell(Cx& cx, resident::host_mailbox<int> to) { cx.send(to, 1); }
  constexpr void tell_sum(Cx& cx, resident::host_mailbox<int> to) {
    cx.contribute(1, resident::reduction::sum, to);
  }
  struct entries : resident::entries<&clerk::nothing, &clerk::tell, &clerk::tell_sum> {};
};
template <class Cx>
struct porter : resident::chare {
  constexpr void nothing(Cx&) {}
  struct entries : resident::entries<&porter::nothing> {};
};

using office = resident::system<resident::program<clerk, porter>>;
using clerk_host = clerk<office::context>;
using porter_host = porter<office::context>;

/// A program of three clerks and a host mailbox of `int`, and calls with a wrong reference.
class resident_references : public testing::Test {
 protected:
  runtime rt{options_with(2)};
  office program{rt, {.schedulers = 2}};
  resident::chare_array<clerk> clerks = program.create<clerk>(3);
  resident::host_mailbox<int> box = program.make_host_mailbox<int>();

  /// Returns the text of the error with which a call is refused.
  template <class Awaitable>
  std::string refused(Awaitable call) {
    return rt.sync_wait(error_of<starling::usage_error>(std::move(call)));
  }
  template <template <class> class Chare, auto Method>
  task<int> invoke(resident::element_ref<Chare> to, resident::entry_name<Method> what) {
    co_await program.invoke(to, what);
    co_return 0;
  }
  template <template <class> class Chare, auto Method>
  task<int> broadcast(resident::chare_array<Chare> to, resident::entry_name<Method> what) {
    co_await program.broadcast(to, what);
    co_return 0;
  }
  /// Returns the error that ends a program whose elements send to the host mailbox `to`.
  template <auto Method>
  std::string end_after(resident::entry_name<Method> what, resident::host_mailbox<int> to) {
    const auto body = [&]() -> task<std::string> {
      co_await program.broadcast(clerks, what, to);
      co_return co_await error_of<starling::resident_error>(program.receive(box));
    };
    return rt.sync_wait(body());
  }
};

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), text.npos) << text;
}

TEST_F(resident_references, to_a_missing_element_name_array_index_and_limit) {
  rt.sync_wait(program.start());
  expect_part(refused(invoke(clerks[3], entry<&clerk_host::nothing>)),
              "element 3 of array 0 (clerk): it has 3 elements");
  expect_part(refused(invoke(resident::element_ref<clerk>(0, 7, 0), entry<&clerk_host::nothing>)),
              "element 7 of array 0 (clerk): it has 3 elements");
}

TEST_F(resident_references, to_a_missing_array_name_it_and_the_limit) {
  rt.sync_wait(program.start());
  office other(rt);
  static_cast<void>(other.create<clerk>(3));
  const auto foreign = other.create<clerk>(3);  // the second array
  expect_part(refused(invoke(foreign[1], entry<&clerk_host::nothing>)),
              "array 1: this program has 1");
  expect_part(refused(broadcast(foreign, entry<&clerk_host::nothing>)),
              "array 1: this program has 1");
}

TEST_F(resident_references, to_an_array_of_another_system_name_both_sizes) {
  rt.sync_wait(program.start());
  office other(rt);
  const auto foreign = other.create<clerk>(5);
  expect_part(refused(invoke(foreign[4], entry<&clerk_host::nothing>)),
              "element 4 of array 0 (clerk): it has 3 elements");
  expect_part(refused(invoke(foreign[1], entry<&clerk_host::nothing>)),
              "array 0 (clerk) as one of 5 elements: it has 3");
  expect_part(refused(broadcast(foreign, entry<&clerk_host::nothing>)),
              "array 0 (clerk) as one of 5 elements: it has 3");
}

TEST_F(resident_references, to_an_array_of_other_chares_name_both) {
  rt.sync_wait(program.start());
  const resident::chare_array<porter> wrong(0, 3);
  expect_part(refused(invoke(wrong[1], entry<&porter_host::nothing>)),
              "array 0 as one of porter: it is one of clerk");
  expect_part(refused(broadcast(wrong, entry<&porter_host::nothing>)),
              "array 0 as one of porter: it is one of clerk");
}

TEST_F(resident_references, to_a_missing_mailbox_name_it_and_the_limit) {
  rt.sync_wait(program.start());
  expect_part(refused(program.receive(resident::host_mailbox<int>(1))),
              "host mailbox 1: this program has 1");
  expect_part(refused(program.receive(resident::host_mailbox<int>(4000000000))),
              "host mailbox 4000000000: this program has 1");
}

TEST_F(resident_references, to_a_mailbox_of_values_of_another_size_name_both_sizes) {
  rt.sync_wait(program.start());
  expect_part(refused(program.receive(resident::host_mailbox<double>(0))),
              "host mailbox 0 for values of 8 bytes: its values have 4");
}

TEST_F(resident_references, of_elements_to_a_mailbox_are_not_cut_to_its_lowest_bits) {
  rt.sync_wait(program.start());
  expect_part(end_after(entry<&clerk_host::tell>, resident::host_mailbox<int>(256)),
              "sent to host mailbox 256");
}
TEST_F(resident_references, of_reductions_to_a_mailbox_are_not_cut_to_its_lowest_bits) {
  rt.sync_wait(program.start());
  expect_part(end_after(entry<&clerk_host::tell_sum>, resident::host_mailbox<int>(512)),
              "sent to host mailbox 512");
}
TEST_F(resident_references, of_elements_to_a_mailbox_of_another_size_name_both_sizes) {
  static_cast<void>(program.make_host_mailbox<double>());
  rt.sync_wait(program.start());
  expect_part(end_after(entry<&clerk_host::tell>, resident::host_mailbox<int>(1)),
              "4 bytes to host mailbox 1, whose values have 8");
}

}  // namespace
}  // namespace starling_test
