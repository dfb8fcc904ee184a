// SPDX-License-Identifier: Apache-2.0
// The queue between the thread that writes a share and the task that sends it.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <starling/core.hpp>

#include "core/support.hpp"
#include "objects/checkpoint/byte_store.hpp"
#include "objects/checkpoint/piece_queue.hpp"

namespace starling {
namespace {

using detail::file_piece;
using detail::piece_queue;

file_piece made(std::uint32_t value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return file_piece(std::move(bytes));
}

std::uint32_t value_of(const file_piece& of) {
  std::uint32_t value = 0;
  EXPECT_EQ(of.size(), sizeof value);
  std::memcpy(&value, of.data(), sizeof value);
  return value;
}

task<std::vector<std::uint32_t>> take_all(piece_queue& from) {
  std::vector<std::uint32_t> taken;
  for (;;) {
    future<file_piece> coming = from.next();
    const file_piece piece = co_await std::move(coming);
    if (piece.empty()) co_return taken;
    taken.push_back(value_of(piece));
  }
}

TEST(piece_queue, gives_the_pieces_in_order) {
  for (const std::size_t most : {1, 2, 7}) {
    piece_queue queue(most);
    runtime rt(starling_test::options_with(2));
    std::jthread writer([&queue, until_the_end = rt.hold_external_work()] {
      for (std::uint32_t i = 0; i < 1000; ++i) queue.put(made(i));
      queue.end();
    });
    const auto taken = rt.sync_wait(take_all(queue));
    EXPECT_TRUE(rt.sync_wait(take_all(queue)).empty()) << "after the end";
    writer.join();
    ASSERT_EQ(taken.size(), 1000u) << most;
    for (std::uint32_t i = 0; i < 1000; ++i) ASSERT_EQ(taken[i], i) << most;
  }
}

TEST(piece_queue, holds_no_more_pieces_than_it_may) {
  constexpr std::uint32_t most = 3;
  piece_queue queue(most);
  std::atomic<std::uint32_t> given{0};
  runtime rt(starling_test::options_with(1));
  std::jthread writer([&, until_the_end = rt.hold_external_work()] {
    for (std::uint32_t i = 0; i < 500; ++i) {
      ++given;
      queue.put(made(i));
    }
    queue.end();
  });
  rt.sync_wait([](piece_queue& from, std::atomic<std::uint32_t>& before) -> task<> {
    for (std::uint32_t taken = 0;; ++taken) {
      future<file_piece> coming = from.next();
      const file_piece piece = co_await std::move(coming);
      if (piece.empty()) break;
      // Besides those that wait: this one, and one that is being put.
      EXPECT_LE(before.load(), taken + most + 2);
    }
  }(queue, given));
  writer.join();
  EXPECT_EQ(given.load(), 500u);
}

TEST(piece_queue, lets_the_thread_go_on_once_it_is_closed) {
  piece_queue queue(2);
  const auto owner = std::make_shared<std::byte>();
  std::atomic<int> given{0};
  std::jthread writer([&] {
    for (int i = 0; i < 1000; ++i) {
      ++given;
      given.notify_one();
      queue.put(file_piece({owner.get(), 1}, owner));
    }
    queue.end();
  });
  for (int now = given; now < 3; now = given)
    given.wait(now);  // this put waits, or will find it closed
  queue.close();
  writer.join();
  EXPECT_EQ(owner.use_count(), 1) << "pieces are kept";
}

struct list_sink final : detail::byte_sink {
  void write(std::span<const std::byte> bytes) override {
    sizes.push_back(bytes.size());
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::size_t> sizes;
  std::vector<std::byte> all;
};

TEST(tee_sink, gives_the_same_bytes_to_both) {
  std::vector<std::byte> bytes(3 * detail::piece_size + 77);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i * 7 + i / 1000);
  for (const std::size_t each : {std::size_t{1000}, detail::piece_size, bytes.size()}) {
    list_sink first, second;
    detail::tee_sink both(first, [&](detail::owned_bytes piece) {
      EXPECT_NE(piece.owner, nullptr);
      second.write(piece.bytes);
    });
    for (std::size_t at = 0; at < bytes.size(); at += each)
      both.write(std::span(bytes).subspan(at, std::min(each, bytes.size() - at)));
    both.finish();
    EXPECT_EQ(first.all, bytes) << each;
    EXPECT_EQ(second.all, bytes) << each;
    const std::size_t whole = detail::piece_size;
    EXPECT_EQ(first.sizes, (std::vector<std::size_t>{whole, whole, whole, 77})) << each;
    EXPECT_EQ(second.sizes, first.sizes) << each;
  }
}

}  // namespace
}  // namespace starling
