// SPDX-License-Identifier: Apache-2.0
// Invalid messages about channels whose elements migrate, from another rank.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cluster.hpp"

namespace starling {
namespace {

using detail::make_remote;
using detail::memory_way;
using detail::offer_note;
using detail::offer_position;
using starling_test::cluster;

struct linked : chare<linked> {
  linked() { m_channel = {*this, this_array()[1 - this_index()]}; }
  explicit linked(migrated) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_channel);
  }
  void go(int to) { migrate_to(std::size_t(to)); }
  task<int> receive() {
    int value = 0;
    co_await m_channel.receive(std::span(&value, 1));
    co_return value;
  }

 private:
  chare_channel<int> m_channel;
};
/// Its channels are of another type.
struct stranger : chare<stranger> {
  explicit stranger(element<linked> to) : m_channel(*this, to) {}
  std::vector<std::byte> pack() {
    const detail::loading_state here(*this);
    std::vector<std::byte> bytes;
    output_archive ar(bytes);
    ar(m_channel);
    return bytes;
  }

 private:
  chare_channel<int> m_channel;
};

using pair = chare_array<linked>;
constexpr detail::remote_way to_element_1{0, priority::high};

/// Returns the text of the error of a run in which `forge(array, job)`, a task of rank 0, sends
/// messages about element 1 to rank 1.
template <class Forge>
std::string error_of(const Forge& forge) {
  const auto ends = cluster{2, 1}.run([&forge](runtime& rt) -> task<int> {
    const auto send = forge;
    const pair both = create_array<linked>(rt, 2, placement::round_robin);
    co_await quiescence();
    co_await send(both, *rt.service<detail::object_space>().current_job());
    co_await quiescence();
    co_return 0;
  });
  return cluster::text_of(ends[0]);
}

void expect_error(const std::string& error, const std::string& why) {
  EXPECT_NE(error.find(why), std::string::npos) << error;
}

/// Returns an offer of element 0 to element 1 whose data are in the message.
message offer_of(const pair& both, const offer_position& position, const int& value) {
  const offer_note note{sizeof value,       0,    position, detail::element_type<int>,
                        memory_way::inside, false};
  return make_remote<detail::remote_offer<linked, linked>>(
      to_element_1, both.state().id(), both[1].address().to, both.state().id(),
      both[0].address().to, 0, note, detail::last_bytes{std::as_bytes(std::span(&value, 1))});
}
/// Returns an offer as it is sent to an element that has migrated.
message tracked_offer_of(const pair& both, const detail::ticket& at,
                         const std::vector<std::byte>& from, const int& value) {
  const offer_note note{sizeof value,       0,    {7, 1, true}, detail::element_type<int>,
                        memory_way::inside, false};
  return make_remote<detail::remote_tracked_offer<linked>>(
      to_element_1, both.state().id(), both[1].address().to, at, from, note,
      detail::last_bytes{std::as_bytes(std::span(&value, 1))});
}

TEST(forged_channels, with_an_offer_that_arrives_twice) {
  for (const offer_position& second :
       {offer_position{7, 1, false}, {7, 1, true}, {7, 0, false}, {9, 0, true}})
    expect_error(error_of([second](pair both, detail::job& j) -> task<> {
                   j.send(1, offer_of(both, {7, 1, false}, 5));
                   j.send(1, offer_of(both, second, 6));
                   co_return;
                 }),
                 "channel 0 of linked[1] to linked[0]: an offer of memory has arrived twice");
}

TEST(forged_channels, with_an_early_offer_that_arrives_twice) {
  expect_error(error_of([](pair both, detail::job& j) -> task<> {
                 for (int i = 0; i < 2; ++i) j.send(1, offer_of(both, {7, 3, true}, 5));
                 co_return;
               }),
               "an offer of memory has arrived twice");
}

TEST(forged_channels, with_an_offer_whose_predecessors_never_come) {
  expect_error(error_of([](pair both, detail::job& j) -> task<> {
                 j.send(1, offer_of(both, {7, 1000, true}, 5));
                 static_cast<void>(co_await both[1].call<&linked::receive>());
               }),
               "channel 0 of linked[1] to linked[0]: receive");
}

TEST(forged_channels, with_the_name_of_an_end_that_does_not_exist) {
  std::vector<std::byte> number(1 + sizeof(std::uint32_t), std::byte{0xff});
  number[0] = std::byte{1};
  for (const std::vector<std::byte>& from : {std::vector<std::byte>(), number})
    expect_error(error_of([from](pair both, detail::job& j) -> task<> {
                   j.send(1, tracked_offer_of(both, {}, from, 5));
                   co_return;
                 }),
                 "a message of rank 0");
}

TEST(forged_channels, with_the_position_of_a_sender_that_does_not_exist) {
  expect_error(error_of([](pair both, detail::job& j) -> task<> {
                 const auto from = detail::save_channel_name(detail::channel_name());
                 j.send(1, tracked_offer_of(both, {.sender = 77}, from, 5));
                 co_return;
               }),
               "there is none such");
}

TEST(forged_channels, with_a_state_that_has_channels_of_another_class) {
  expect_error(error_of([](pair both, detail::job& j) -> task<> {
                 const auto other =
                     create_array<stranger>(*runtime::current(), 1, placement::block, both[1]);
                 const auto state = co_await other[0].call<&stranger::pack>();
                 j.send(1, make_remote<detail::remote_element<linked>>(
                               to_element_1, both.state().id(), both[0].address().to,
                               detail::location{1, 1}, false, shared_buffer<std::byte>(state),
                               detail::exported_memory(both.state().space(), 1)));
               }),
               "it is for elements of another type");
}

TEST(channels_in_archives, are_refused_outside_the_state_of_their_chare) {
  std::vector<std::byte> bytes;
  {
    output_archive ar(bytes);
    ar(std::vector<std::byte>(3));
  }
  input_archive ar(bytes);
  chare_channel<int> end;
  EXPECT_NE(starling_test::message_of<usage_error>([&] {
              ar(end);
            }).find("by the serialize of its chare only"),
            std::string::npos);
}

}  // namespace
}  // namespace starling
