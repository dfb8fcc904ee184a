// SPDX-License-Identifier: Apache-2.0
// Messages whose bytes do not match the type to unpack: refused with an error text that gives the
// reason, without a crash or an allocation beyond the number of elements that the bytes can hold.
#include <starling/objects/archive.hpp>

#include <algorithm>
#include <cstring>
#include <span>

#include <gtest/gtest.h>

#include "objects/archive_types.hpp"

namespace starling {
namespace {

using namespace travellers;
using bytes = std::vector<std::byte>;

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const archive_error& e) {
    return e.what();
  }
  return "no error";
}
template <class... T>
std::string unpack_error(std::span<const std::byte> from) {
  return error_of([from] { static_cast<void>(unpack<std::tuple<T...>>(from)); });
}
void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}
/// Packs `value` and overwrites the first length, flag or number of the message with `n`.
template <class T, class Number>
bytes with_first(const T& value, Number n) {
  bytes message = pack(value);
  std::memcpy(message.data() + sizeof(detail::archive_header), &n, sizeof(n));
  return message;
}

/// Unpacks and repacks the arguments; false if that throws archive_error.
template <class Tuple>
bool is_taken(std::span<const std::byte> from) {
  try {
    const auto values = unpack<Tuple>(from);
    std::apply([](const auto&... each) { static_cast<void>(pack(each...)); }, values);
    return true;
  } catch (const archive_error&) {
    return false;
  }
}

TEST(archive_errors, name_the_type_the_position_and_the_remaining_bytes) {
  bytes message = pack(1, std::vector<int>{1, 2, 3});
  message.resize(message.size() - 1);
  const std::string text = unpack_error<int, std::vector<int>>(message);
  expect_in(text, "cannot unpack std::vector<int>");
  expect_in(text, "3 elements of at least 4 bytes each");
  expect_in(text, "before byte 20 of the message, where 11 are left");
  message.resize(10);
  expect_in(unpack_error<int, std::vector<int>>(message),
            "cannot unpack int: it needs 4 bytes at byte 8 of the message, where 2 are left");
}

TEST(archive_errors, name_both_fingerprints_of_arguments_for_another_method) {
  const std::string text = unpack_error<int, double>(pack(1, 2));
  expect_in(text, "cannot unpack (int, double), whose fingerprint is 0x");
  expect_in(text, "holds other arguments, of fingerprint 0x");
  EXPECT_NE(unpack_error<std::uint32_t>(pack(1)), "no error");  // equal size, another type
}

TEST(archive_errors, name_both_formats_of_another_version) {
  bytes message = pack(1);
  message[0] = std::byte{2};
  EXPECT_EQ(unpack_error<int>(message),
            "cannot unpack (int): the message has format 2, this program reads format 1");
  std::reverse(message.begin(), message.begin() + 4);
  message[3] = std::byte{1};
  expect_in(unpack_error<int>(message), "of the other byte order");
}

TEST(archive_errors, name_the_number_of_unread_bytes) {
  bytes message = pack(1);
  message.resize(message.size() + 3);
  EXPECT_EQ(unpack_error<int>(message),
            "cannot unpack (int): they end at byte 12 of the message, and 3 bytes more are left "
            "over");
  expect_in(unpack_error<int>({}), "it needs 8 bytes at byte 0 of the message, where 0 are left");
}

TEST(archive_errors, arise_for_every_truncation) {
  engine e(7);
  for (int i = 0; i < 10; ++i) {
    const auto value = any<everything>(e);
    const bytes message = std::apply([](const auto&... each) { return pack(each...); }, value);
    for (std::size_t n = 0; n < message.size(); ++n) {
      // A copy, so that a sanitizer reports each read beyond its end.
      const bytes shorter(message.begin(), message.begin() + std::ptrdiff_t(n));
      ASSERT_THROW(static_cast<void>(unpack<everything>(shorter)), archive_error) << n;
    }
  }
}

template <class T>
void refuses_lengths(const T& value) {
  for (const std::uint64_t length : {~0ull, 1ull << 63, 1ull << 61, 1ull << 40, 1000ull})
    expect_in(unpack_error<T>(with_first(value, length)), "elements of at least");
}

TEST(archive_errors, arise_for_lengths_that_the_message_cannot_have) {
  refuses_lengths(std::string("text"));
  refuses_lengths(std::vector<int>{1, 2});
  refuses_lengths(std::vector<flags>(2));
  refuses_lengths(std::vector<std::string>{"a"});
  refuses_lengths(std::vector<silent>(3));
  refuses_lengths(std::deque<int>{1});
  refuses_lengths(std::list<std::tuple<>>(2));
  refuses_lengths(std::map<int, int>{{1, 2}});
  refuses_lengths(std::unordered_set<std::string>{"a"});
  for (const std::uint64_t bits : {~0ull, 1ull << 63, 1000ull})
    expect_in(unpack_error<std::vector<bool>>(with_first(std::vector<bool>{true}, bits)),
              "elements of at least");
}

TEST(archive_errors, arise_for_values_that_a_type_does_not_have) {
  const unsigned char seven = 7;
  expect_in(unpack_error<bool>(with_first(true, seven)),
            "a bool is neither 0 nor 1, before byte 9");
  expect_in(unpack_error<std::optional<int>>(with_first(std::optional(1), seven)),
            "a flag is neither 0 nor 1");
  expect_in(unpack_error<std::unique_ptr<int>>(with_first(std::make_unique<int>(1), seven)),
            "a flag is neither 0 nor 1");
  expect_in(unpack_error<std::variant<int, char>>(
                with_first(std::variant<int, char>(1), std::uint64_t(2))),
            "there is no such alternative");
  bytes message = pack(flags(), std::vector<flags>(2));
  const std::size_t last = message.size() - sizeof(flags) + offsetof(flags, sides);
  message[last] = std::byte{2};
  expect_in((unpack_error<flags, std::vector<flags>>(message)), "a bool is neither 0 nor 1");
}

TEST(archive_errors, arise_for_garbage) {
  engine e(11);
  for (int i = 0; i < 4000; ++i) {
    bytes message(8 + e() % 200);
    // Small numbers now and then, so that lengths and flags are often valid.
    const std::uint64_t mask = i % 2 == 0 ? 0xff : 0x01;
    for (std::byte& b : message) b = std::byte(e() % 3 == 0 ? e() & mask : 0);
    const detail::archive_header header = detail::pack_of_tuple<everything>::header;
    std::memcpy(message.data(), &header, sizeof(header));
    static_cast<void>(is_taken<everything>(message));
    const detail::archive_header of_tree = detail::arguments_pack<tree, mesh>::header;
    std::memcpy(message.data(), &of_tree, sizeof(header));
    static_cast<void>(is_taken<std::tuple<tree, mesh>>(message));
  }
}

void mutate(bytes& message, engine& e) {
  const auto at = message.begin() + std::ptrdiff_t(8 + e() % (message.size() - 8));
  switch (e() % 5) {
    case 0:
      *at ^= std::byte(1u << e() % 8);
      break;
    case 1:
      *at = std::byte(e());
      break;
    case 2:
      message.erase(at);
      break;
    case 3:
      message.insert(at, std::byte(e()));
      break;
    default:
      std::fill(at, at + std::min<std::ptrdiff_t>(8, message.end() - at), std::byte(e()));
  }
}

TEST(archive_errors, arise_for_changed_messages) {
  engine e(13);
  int taken = 0;
  for (int i = 0; i < 300; ++i) {
    const auto value = any<everything>(e);
    const bytes message = std::apply([](const auto&... each) { return pack(each...); }, value);
    for (int k = 0; k < 10; ++k) {
      bytes changed = message;
      for (std::uint64_t n = e() % 3; n < 3; ++n) mutate(changed, e);
      if (is_taken<everything>(changed)) ++taken;
    }
  }
  EXPECT_GT(taken, 0);  // a changed number or letter cannot be detected
  EXPECT_LT(taken, 3000);
}

/// Returns a chain of `length` nodes.
tree chain(int length) {
  tree root;
  tree* last = &root;
  for (int i = 1; i < length; ++i) {
    last->next = std::make_unique<tree>();
    last = last->next.get();
  }
  return root;
}

TEST(archive_errors, arise_for_chains_that_would_overflow_the_stack) {
  EXPECT_NO_THROW(static_cast<void>(unpack<std::tuple<tree>>(pack(chain(400)))));
  expect_in(error_of([] { static_cast<void>(pack(chain(401))); }), "more than 400 levels deep");
  bytes message(1'000'000, std::byte{1});  // value, next, value, next, …
  const detail::archive_header header = detail::arguments_pack<tree>::header;
  std::memcpy(message.data(), &header, sizeof(header));
  expect_in(unpack_error<tree>(message), "more than 400 levels deep");
}

/// Each nesting level of this type takes much stack.
struct large {
  double much[3000] = {};
  std::unique_ptr<large> next;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(next);
  }
};

TEST(archive_errors, arise_for_few_large_objects_that_would_overflow_the_stack) {
  const auto of_length = [](int n) {
    auto first = std::make_unique<large>();
    for (large* last = first.get(); --n > 0; last = last->next.get())
      last->next = std::make_unique<large>();
    return first;
  };
  EXPECT_NO_THROW(static_cast<void>(unpack<std::tuple<large>>(pack(*of_length(40)))));
  expect_in(error_of([&] { static_cast<void>(pack(*of_length(60))); }), "more than 1048576 bytes");
  bytes message = pack(large());
  message.insert(message.begin() + 8, 300, std::byte{1});
  expect_in(unpack_error<large>(message), "more than 1048576 bytes");
}

/// Number of bytes that `counting_allocator` has allocated.
std::size_t allocated = 0;
template <class T>
struct counting_allocator {
  using value_type = T;
  counting_allocator() = default;
  template <class U>
  explicit counting_allocator(const counting_allocator<U>&) noexcept {}
  T* allocate(std::size_t n) {
    allocated += n * sizeof(T);
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) noexcept { std::allocator<T>().deallocate(p, n); }
  bool operator==(const counting_allocator&) const = default;
};
struct bush {
  std::vector<bush, counting_allocator<bush>> children;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(children);
  }
};

TEST(archive_errors, arise_before_every_level_has_reserved_the_size_of_the_message) {
  bytes message(1'000'000);
  const detail::archive_header header = detail::arguments_pack<bush>::header;
  std::memcpy(message.data(), &header, sizeof(header));
  for (std::size_t at = 8; at + 8 <= message.size(); at += 8) {
    const std::uint64_t count = message.size() - at - 8;
    std::memcpy(message.data() + at, &count, sizeof(count));
  }
  allocated = 0;
  expect_in(unpack_error<bush>(message), "more than 400 levels deep");
  EXPECT_LE(allocated, 2 * message.size());
}

enum class answer : bool { no, yes };

TEST(archive_errors, arise_for_enumerations_that_are_bools) {
  expect_in(unpack_error<answer>(with_first(answer::yes, std::uint8_t(7))),
            "a bool is neither 0 nor 1");
}

TEST(archive_errors, arise_for_memory_that_is_too_small) {
  std::array<std::byte, 13> memory{};
  EXPECT_EQ(pack_into(memory, 1), 12u);
  expect_in(error_of([&] { pack_into(std::span(memory).first(11), 1); }),
            "the memory ends at byte 11, and 12 bytes are needed at byte 0");
  expect_in(error_of([&] { pack_into(memory, std::string("text")); }),
            "the memory ends at byte 13, and 8 bytes are needed at byte 8");
}

struct thrower {
  thrower() = default;
  explicit thrower(int n) { throw n; }
  std::string text;
  template <class Archive>
  void serialize(Archive&) {}
};

TEST(archive_errors, arise_for_variants_without_a_value) {
  std::variant<int, thrower> value;
  EXPECT_THROW(value.emplace<1>(1), int);
  ASSERT_TRUE(value.valueless_by_exception());
  expect_in(error_of([&] { static_cast<void>(pack(value)); }), "it holds no value");
}

/// Writes fewer values each time.
struct fickle {
  int times = 2;
  template <class Archive>
  void serialize(Archive& ar) {
    for (int i = 0; i < times; ++i) ar(i);
    --times;
  }
};

TEST(archive_errors, arise_for_types_that_write_less_than_was_counted) {
  fickle f;
  expect_in(error_of([&] { static_cast<void>(pack(f)); }), "wrote 4 bytes less than when");
}

TEST(archive_errors, are_errors_of_starling) {
  EXPECT_THROW(static_cast<void>(unpack<std::tuple<int>>({})), starling::error);
}

}  // namespace
}  // namespace starling
