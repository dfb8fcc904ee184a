// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/value_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <starling/objects/detail/remote.hpp>

namespace starling::detail {
namespace {

template <class... V>
std::vector<std::byte> bytes_of(const V&... values) {
  std::vector<std::byte> bytes;
  output_archive ar(bytes);
  (save_value(ar, values), ...);
  return bytes;
}

TEST(value_writer, counts_and_writes_the_bytes_of_its_values) {
  const std::string text = "some text";
  const auto expected = bytes_of(7, text, std::vector<int>{1, 2, 3});
  std::vector<std::byte> written;
  std::size_t counted = 0;
  use_values(
      [&](const value_writer& values) {
        counting_archive count;
        values(count);
        counted = count.position();
        output_archive ar(written);
        values(ar);
      },
      7, text, std::vector<int>{1, 2, 3});
  EXPECT_EQ(written, expected);
  EXPECT_EQ(counted, expected.size());
}

TEST(value_writer, is_one_of_the_values_of_a_message) {
  const std::string text = "inner";
  const auto write = [&text](auto& ar) { save_value(ar, text); };
  EXPECT_EQ(bytes_of(1, value_writer(write), 2), bytes_of(1, text, 2));
}

TEST(value_writer, makes_a_message_with_a_header) {
  const auto write = [](auto& ar) { save_value(ar, std::uint64_t{5}); };
  const message m = pack_call({3, true}, {2, priority::normal}, value_writer(write));
  const std::span<const std::byte> bytes = m.bytes();
  ASSERT_EQ(bytes.size(), sizeof(remote_header) + sizeof(std::uint64_t));
  input_archive ar(bytes);
  remote_header header;
  ar.read(&header, sizeof header);
  EXPECT_EQ(header.function, 3U);
  EXPECT_EQ(header.size, bytes.size());
  EXPECT_EQ(header.worker, 2);
  EXPECT_EQ(header.priority, std::uint8_t(priority::normal));
  EXPECT_EQ(header.is_counted, 1);
  EXPECT_EQ(ar.read<std::uint64_t>(), 5U);
}

/// Values of which one call writes `first` bytes and the next one `later` bytes.
auto changing(std::size_t first, std::size_t later) {
  return [first, later, calls = std::make_shared<int>(0)](auto& ar) {
    const std::vector<std::byte> bytes(++*calls == 1 ? first : later);
    ar.write(bytes.data(), bytes.size());
  };
}

TEST(value_writer, values_that_change_after_they_are_counted_are_refused) {
  const auto grows = changing(4, 5), shrinks = changing(5, 4);
  EXPECT_THROW(static_cast<void>(pack_call({0, true}, {}, value_writer(grows))), archive_error);
  EXPECT_THROW(static_cast<void>(pack_call({0, true}, {}, value_writer(shrinks))), archive_error);
}

}  // namespace
}  // namespace starling::detail
