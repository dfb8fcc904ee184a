// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/archive.hpp>

#include <limits>
#include <span>
#include <string_view>

#include <gtest/gtest.h>

#include "objects/archive_types.hpp"
#include "support/huge_pages.hpp"

namespace starling {
namespace {

using namespace travellers;

template <class T>
T there_and_back(const T& value) {
  const std::vector<std::byte> bytes = pack(value);
  EXPECT_EQ(bytes.size(), packed_size(value));
  return std::get<0>(unpack<std::tuple<T>>(bytes));
}
template <class T>
void expect_one(const T& value) {
  EXPECT_EQ(there_and_back(value), value);
}
template <class... T>
void expect_same(const T&... values) {
  (expect_one(values), ...);
}

TEST(archives, return_numbers_and_enumerations) {
  expect_same(0, -1, 'x', true, false, 3.25, -0.5f, std::numeric_limits<std::uint64_t>::max(),
              std::numeric_limits<long double>::min(), L'y', std::byte{200});
  expect_same(face::right, second);
}

TEST(archives, return_plain_structs_byte_by_byte) {
  expect_same(flags{1, true, {1, 2, 3}, {true, false}, face::right},
              twelve{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, nothing{}, vec3(1, 2, 3));
  EXPECT_EQ(pack(vec3(1, 2, 3)).size(), 8 + sizeof(vec3));
}

TEST(archives, return_texts_and_containers) {
  expect_same(std::string(), std::string("text"), std::string(1000, 'x'), std::u16string(u"wide"));
  expect_same(std::vector<int>{}, std::vector<int>{1, 2, 3}, std::vector<std::string>{"", "b"},
              std::vector<std::vector<int>>{{}, {1}}, std::vector<flags>(3));
  expect_same(std::array{1, 2}, std::array<std::string, 2>{"a", "b"}, std::array<int, 0>{},
              std::deque<int>{1, 2}, std::list<std::string>{"a"});
  expect_same(std::map<int, std::string>{{1, "a"}, {2, "b"}}, std::set<std::string>{"a", "b"},
              std::multiset<int>{1, 1}, std::unordered_map<std::string, int>{{"a", 1}},
              std::unordered_set<int>{1, 2}, std::multimap<int, int>{{1, 1}, {1, 2}});
}

TEST(archives, return_vectors_wherever_their_bytes_begin) {
  for (std::size_t before = 0; before < 17; ++before)
    expect_same(std::string(before, 'x'), std::vector<double>{1.5, -2, 0.25},
                std::vector<long double>{0.1L, -3}, std::vector<std::byte>(3, std::byte{7}),
                std::u16string(u"wide"), std::vector<short>{1, -2, 3}, std::vector<char>{'a'});
}

TEST(archives, return_vectors_of_bool_of_every_length) {
  for (std::size_t n = 0; n < 40; ++n) {
    std::vector<bool> bits(n);
    for (std::size_t i = 0; i < n; ++i) bits[i] = i % 3 == 0;
    expect_same(bits);
    EXPECT_EQ(pack(bits).size(), 16 + (n + 7) / 8);
  }
}

TEST(archives, return_vocabulary_types) {
  expect_same(std::pair(1, std::string("a")), std::tuple(1, 2.0, std::string("c")), std::tuple(),
              std::optional<int>(), std::optional<int>(3), std::optional<std::string>("x"),
              std::variant<int, std::string>(1), std::variant<int, std::string>("a"),
              std::variant<std::monostate, int>(), std::complex<double>(1, 2),
              std::chrono::nanoseconds(5), std::chrono::duration<double>(0.5));
}

TEST(archives, return_objects_owned_by_pointers) {
  EXPECT_EQ(there_and_back(std::vector<int>{1}), std::vector<int>{1});
  EXPECT_EQ(*std::get<0>(unpack<std::tuple<std::unique_ptr<std::string>>>(
                pack(std::make_unique<std::string>("owned")))),
            "owned");
  EXPECT_EQ(std::get<0>(unpack<std::tuple<std::unique_ptr<int>>>(pack(std::unique_ptr<int>()))),
            nullptr);
  const auto handles = unpack<std::tuple<std::unique_ptr<const handle>>>(
      pack(std::unique_ptr<const handle>(new handle(4))));
  EXPECT_EQ(std::get<0>(handles)->id(), 4);
}

TEST(archives, return_types_by_their_serialize) {
  const cell c("c", {1, 2});
  expect_same(c, mesh{{c, cell()}, {{1, "a"}}});
  EXPECT_TRUE(there_and_back(c).was_read);
  EXPECT_FALSE(c.was_read);
}

TEST(archives, return_types_by_their_codec_where_they_have_no_default_constructor) {
  expect_same(handle(7), std::vector{handle(1), handle(2)}, std::optional(handle(3)),
              std::pair(handle(4), handle(5)), std::map<int, handle>{{1, handle(6)}},
              std::variant<handle, int>(handle(8)));
}

TEST(archives, return_elements_that_write_nothing) {
  expect_same(silent(), std::vector<silent>(5), std::vector<std::vector<silent>>{{}, {{}, {}}},
              std::deque<std::tuple<>>(3));
  const std::vector<std::array<silent, 0>> none(2);
  EXPECT_EQ(there_and_back(none).size(), 2u);
}

TEST(archives, return_trees) {
  tree root{1, std::make_unique<tree>(), {}};
  root.next->value = 2;
  root.children.resize(2);
  root.children[1].children.resize(3);
  root.children[1].children[2].value = 9;
  const auto [back] = unpack<std::tuple<tree>>(pack(root));
  EXPECT_EQ(back.next->value, 2);
  EXPECT_EQ(back.next->next, nullptr);
  ASSERT_EQ(back.children.size(), 2u);
  EXPECT_EQ(back.children[1].children.at(2).value, 9);
}

TEST(archives, return_many_arguments_in_order_and_move_only_ones) {
  auto [n, text, p, empty] =
      unpack<std::tuple<int, std::string, std::unique_ptr<int>, std::vector<cell>>>(
          pack(1, std::string("two"), std::make_unique<int>(3), std::vector<cell>()));
  EXPECT_EQ(n, 1);
  EXPECT_EQ(text, "two");
  EXPECT_EQ(*p, 3);
  EXPECT_TRUE(empty.empty());
  EXPECT_EQ(unpack<std::tuple<>>(pack()), std::tuple<>());
}

TEST(archives, return_random_values) {
  engine e(20240601);
  for (int i = 0; i < 300; ++i) {
    const auto value = any<everything>(e);
    expect_same(value);
    const auto bytes = std::apply([](const auto&... each) { return pack(each...); }, value);
    EXPECT_EQ(unpack<everything>(bytes), value);
    EXPECT_EQ(std::apply([](const auto&... each) { return pack(each...); }, value), bytes);
  }
}

TEST(archives, write_into_the_callers_memory) {
  std::array<std::byte, 100> memory{};
  const std::size_t size = pack_into(memory, 1, std::string("text"));
  EXPECT_EQ(size, packed_size(1, std::string("text")));
  const auto back = unpack<std::tuple<int, std::string>>(std::span(memory).first(size));
  EXPECT_EQ(back, std::tuple(1, std::string("text")));
}

TEST(archives, grow_without_a_counted_size) {
  std::vector<std::byte> bytes;
  output_archive out(bytes);
  out(1, std::string("text"));
  out& mesh{{cell("a", {1})}, {}};
  EXPECT_EQ(out.position(), bytes.size());
  input_archive in(bytes);
  int n = 0;
  std::string text = "overwritten";
  in(n);
  in& text;
  EXPECT_EQ(n, 1);
  EXPECT_EQ(text, "text");
  EXPECT_EQ(in.read<mesh>().cells.at(0), cell("a", {1}));
  EXPECT_EQ(in.left(), 0u);
}

TEST(archives, have_room_for_small_values_behind_large_ones) {
  std::vector<std::byte> bytes;
  output_archive out(bytes);
  out(std::vector<std::uint64_t>(100'000, 5));
  const std::byte* const before = bytes.data();
  for (std::uint64_t i = 0; i < 1000; ++i) out(i);
  EXPECT_EQ(bytes.data(), before) << "the large value was copied again";
}

TEST(archives, have_huge_pages_where_their_memory_is_large) {
  if (!starling_test::shows_huge_pages()) GTEST_SKIP() << starling_test::no_huge_pages;
  std::vector<std::byte> bytes;
  output_archive out(bytes);
  out(std::vector<std::uint64_t>((std::size_t(40) << 20) / 8));
  EXPECT_TRUE(starling_test::has_huge_pages(bytes.data() + bytes.size() / 2));
}

TEST(archives, overwrite_old_values) {
  std::vector<std::byte> bytes;
  output_archive{bytes}(std::vector<std::string>{"a"}, std::optional<int>(), std::vector<bool>{},
                        std::unique_ptr<int>(), std::map<int, int>{{1, 1}});
  std::vector<std::string> texts{"x", "y"};
  std::optional<int> maybe = 3;
  std::vector<bool> bits{true};
  auto pointer = std::make_unique<int>(1);
  std::map<int, int> map{{7, 7}};
  input_archive{bytes}(texts, maybe, bits, pointer, map);
  EXPECT_EQ(texts, std::vector<std::string>{"a"});
  EXPECT_EQ(maybe, std::nullopt);
  EXPECT_TRUE(bits.empty());
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(map, (std::map<int, int>{{1, 1}}));
}

TEST(archives, distinguish_types_by_their_fingerprints) {
  const std::set<std::uint32_t> all{
      archive_fingerprint<>,
      archive_fingerprint<int>,
      archive_fingerprint<unsigned>,
      archive_fingerprint<int, int>,
      archive_fingerprint<std::tuple<int, int>>,
      archive_fingerprint<std::vector<int>>,
      archive_fingerprint<std::vector<flags>>,
      archive_fingerprint<flags>,
      archive_fingerprint<twelve>,
      archive_fingerprint<cell>,
      archive_fingerprint<tree>,
      archive_fingerprint<std::map<int, cell>>,
      archive_fingerprint<std::unordered_map<int, cell>>,
  };
  EXPECT_EQ(all.size(), 13u);
}

struct no_state {
  bool operator==(const no_state&) const = default;
};
/// Its base and its last member share an address, or nearly.
struct with_empty_base : no_state {
  int number = 0;
  [[no_unique_address]] no_state last;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(number, static_cast<no_state&>(*this), last);
  }
};
struct padded {
  long number = 1;
  char letter = 'a';
};
struct in_the_padding : padded {
  char other = 'b';
  template <class Archive>
  void serialize(Archive& ar) {
    ar(other, static_cast<padded&>(*this));
    if constexpr (Archive::is_reading) other_was = other;
  }
  char other_was = 0;
};

TEST(archives, return_bases_without_members_in_their_padding) {
  with_empty_base value;
  value.number = 0x01020304;
  EXPECT_EQ(there_and_back(value).number, 0x01020304);
  const auto message = pack(in_the_padding());
  in_the_padding changed;
  changed.other = 'c';
  input_archive in(std::span<const std::byte>(message).subspan(8));
  in(changed);
  EXPECT_EQ(changed.other, 'b');
  EXPECT_EQ(changed.letter, 'a');
  // Reading `padded` alone does not change a member that the derived class keeps in its padding.
  std::vector<std::byte> alone;
  output_archive{alone}(padded());
  for (std::byte& b : alone)
    if (b == std::byte{0}) b = std::byte{7};
  changed.other = 'd';
  input_archive{alone}(static_cast<padded&>(changed));
  EXPECT_EQ(changed.other, 'd');
  expect_same(std::vector<no_state>(3), std::pair(no_state(), 5));
}

/// Types that the library does not inspect; they are declared to travel as bytes.
union number_or_letter {
  int number;
  char letter;
};
struct opaque {
  void* handle;
  bool operator==(const opaque&) const = default;
};

}  // namespace
template <>
inline constexpr bool travels_as_bytes<number_or_letter> = true;
template <>
inline constexpr bool travels_as_bytes<opaque> = true;
namespace {

TEST(archives, return_types_declared_to_travel_as_bytes) {
  expect_same(opaque{nullptr});
  EXPECT_EQ(there_and_back(number_or_letter{5}).number, 5);
}

TEST(archives, return_constant_arguments) {
  EXPECT_EQ((unpack<std::tuple<const int, std::string>>(pack(1, std::string("a")))),
            (std::tuple<const int, std::string>(1, "a")));
}

}  // namespace
}  // namespace starling
