// SPDX-License-Identifier: Apache-2.0
// Channels between chares whose data is in the memory of CUDA devices.
#include <starling/objects.hpp>

#include "fixture.hpp"

namespace starling::gpu_test {
namespace {

constexpr std::size_t few = 5000;      // read in place from a peer
constexpr std::size_t many = 300'000;  // copied: more than 1 MiB
constexpr std::uint64_t first_value(int round) { return 1000 + std::uint64_t(round); }

/// Two elements, each with a stream and device memory on the device of its worker.
struct end : chare<end> {
  explicit end(std::size_t count)
      : m_at(devices(*runtime::current()).here().make_stream()),
        m_memory(m_at.device().allocate<std::uint64_t>(memory_kind::device, count, m_at)),
        m_result(m_at.device().allocate<std::uint64_t>(memory_kind::pinned, count)),
        m_channel(*this, this_array()[1 - this_index()]) {}

  /// Overwrites the sent data as soon as the send has completed.
  task<> send(int rounds) {
    for (int r = 0; r < rounds; ++r) {
      m_at.fill(m_memory, first_value(r));
      for (int i = 0; i < 20; ++i)
        m_at.submit(range{int(m_memory.size())}, affine{m_memory.data(), 1, 1});
      co_await m_channel.send(m_memory.span(), m_at);
      m_at.fill(m_memory, 0);
    }
    co_await m_at.completion();
  }
  task<int> receive(int rounds) {
    int right = 0;
    for (int r = 0; r < rounds; ++r) {
      co_await m_channel.receive(m_memory.span(), m_at);
      right += co_await holds(m_memory.span(), first_value(r) + 20);
    }
    co_return right;
  }
  task<int> borrow(int rounds) {
    int right = 0;
    for (int r = 0; r < rounds; ++r) {
      const borrowed<std::uint64_t> lent = co_await m_channel.borrow(m_at, m_memory.size());
      right += co_await holds(lent.span(), first_value(r) + 20);
    }
    co_return right;
  }
  /// Returns the address of the elements of a message, read in place up to `most_in_place` bytes.
  task<std::uintptr_t> borrow_from(std::size_t most_in_place) {
    const borrowed<std::uint64_t> lent =
        co_await m_channel.borrow(m_at, m_memory.size(), most_in_place);
    EXPECT_EQ(co_await holds(lent.span(), first_value(0) + 20), 1);
    co_return reinterpret_cast<std::uintptr_t>(lent.data());
  }
  std::uintptr_t sent_from() const { return reinterpret_cast<std::uintptr_t>(m_memory.data()); }
  /// Waits on the host only for the last round.
  task<int> borrow_ahead(int rounds) {
    for (int r = 0; r < rounds; ++r) {
      const borrowed<std::uint64_t> lent = co_await m_channel.borrow(m_at, m_memory.size());
      m_at.copy(m_result, lent.span());
    }
    co_await m_at.completion();
    co_return m_result.span().back() == first_value(rounds - 1) + 20 ? 1 : 0;
  }

 private:
  task<int> holds(std::span<const std::uint64_t> memory, std::uint64_t value) {
    m_at.copy(m_result, memory);
    co_await m_at.completion();
    co_return std::ranges::all_of(m_result, [=](std::uint64_t v) { return v == value; }) ? 1 : 0;
  }

  stream m_at;
  buffer<std::uint64_t> m_memory, m_result;
  chare_channel<std::uint64_t> m_channel;
};

task<> exchange(runtime& rt, std::size_t count) {
  constexpr int rounds = 10;
  const auto a = create_array<end>(rt, 2, placement::round_robin, count);
  for (const int sender : {0, 1}) {
    auto sent = a[sender].call<&end::send>(rounds);
    EXPECT_EQ((co_await a[1 - sender].call<&end::receive>(rounds)), rounds);
    co_await std::move(sent);
    sent = a[sender].call<&end::send>(rounds);
    EXPECT_EQ((co_await a[1 - sender].call<&end::borrow>(rounds)), rounds);
    co_await std::move(sent);
    sent = a[sender].call<&end::send>(rounds);
    EXPECT_EQ((co_await a[1 - sender].call<&end::borrow_ahead>(rounds)), 1);
    co_await std::move(sent);
  }
}

/// Memory lent by another device is read in place if that device is reachable and the size is at
/// most the reader's limit.
task<> read_in_place(runtime& rt, bool reached) {
  const auto a = create_array<end>(rt, 2, placement::round_robin, few);
  constexpr std::size_t bytes = few * sizeof(std::uint64_t);
  const std::uintptr_t there = co_await a[0].call<&end::sent_from>();
  for (const std::size_t most : {bytes, bytes - 1}) {
    auto sent = a[0].call<&end::send>(1);
    const std::uintptr_t here = co_await a[1].call<&end::borrow_from>(most);
    EXPECT_EQ(here == there, reached && most == bytes);
    co_await std::move(sent);
  }
}

class cuda_channels : public gpu {};

TEST_F(cuda_channels, carry_device_memory_in_the_order_of_streams) {
  for (const std::size_t count : {few, many}) rt().sync_wait(exchange(rt(), count));
}

/// The test does not enable peer access: the channel does, where it is possible.
TEST_F(cuda_channels, carry_device_memory_between_peer_devices) {
  runtime_options two = cuda_options();
  two.extra.insert_or_assign("devices", "2");
  try {
    start(two);
  } catch (const option_error&) {
    GTEST_SKIP() << "one CUDA device here; two are needed";
  }
  device& one = all().device(0);
  device& other = all().device(1);
  EXPECT_FALSE(one.reaches(other) || other.reaches(one));
  for (const std::size_t count : {few, many}) rt().sync_wait(exchange(rt(), count));
  const bool there = one.reaches(other), back = other.reaches(one);
  EXPECT_EQ(there, one.enable_peer_access(other));
  EXPECT_EQ(back, other.enable_peer_access(one));
  rt().sync_wait(read_in_place(rt(), other.reaches(one)));
}

}  // namespace
}  // namespace starling::gpu_test
