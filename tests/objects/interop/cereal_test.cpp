// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/interop/cereal.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <cereal/types/deque.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/polymorphic.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>

#include <gtest/gtest.h>

namespace cereal_users {

enum class colour { red, green };

/// Has a name, a version and shared pointers, which only cereal supports.
struct mesh {
  std::string name;
  std::vector<double> points;
  std::map<std::string, std::optional<int>> labels;
  std::shared_ptr<int> first;
  std::shared_ptr<int> second;
  colour tint = colour::red;
  bool is_closed = false;

  template <class Archive>
  void serialize(Archive& ar, std::uint32_t version) {
    if (version != 3) throw cereal::Exception("an old mesh");
    ar(cereal::make_nvp("name", name), CEREAL_NVP(points), labels, first, second, tint, is_closed);
  }
};

/// Serialized by separate save and load functions; those of `temperature` convert to a double.
struct temperature {
  double kelvin = 0;
};
template <class Archive>
double save_minimal(const Archive&, const temperature& t) {
  return t.kelvin;
}
template <class Archive>
void load_minimal(const Archive&, temperature& t, const double& kelvin) {
  t.kelvin = kelvin;
}
struct table {
  std::deque<temperature> rows;
};
template <class Archive>
void save(Archive& ar, const table& t) {
  ar(t.rows);
}
template <class Archive>
void load(Archive& ar, table& t) {
  ar(t.rows);
}

struct figure {
  virtual ~figure() = default;
  [[nodiscard]] virtual double area() const = 0;
};
struct square final : figure {
  double side = 0;
  [[nodiscard]] double area() const override { return side * side; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(side);
  }
};
struct drawing {
  std::vector<std::unique_ptr<figure>> figures;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(figures);
  }
};

/// A recursive type.
struct chain {
  std::unique_ptr<chain> next;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(next);
  }
};
/// Shared objects of two types; the message contains their numbers.
struct pair_of_types {
  std::shared_ptr<std::uint8_t> small;
  std::shared_ptr<std::vector<std::uint8_t>> large;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(small, large);
  }
};
struct switches {
  bool all[4] = {true, false, true, false};
  template <class Archive>
  void serialize(Archive& ar) {
    ar(cereal::binary_data(&all[0], sizeof(all)));
  }
};
struct rows {
  std::vector<std::vector<std::string>> all;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(all);
  }
};

}  // namespace cereal_users

CEREAL_CLASS_VERSION(cereal_users::mesh, 3)
CEREAL_REGISTER_TYPE(cereal_users::square)
CEREAL_REGISTER_POLYMORPHIC_RELATION(cereal_users::figure, cereal_users::square)

static_assert(!starling::travels<cereal_users::table>);

template <>
struct starling::codec<cereal_users::mesh> : starling::cereal_codec<cereal_users::mesh> {};
template <>
struct starling::codec<cereal_users::temperature>
    : starling::cereal_codec<cereal_users::temperature> {};
template <>
struct starling::codec<cereal_users::drawing> : starling::cereal_codec<cereal_users::drawing> {};
template <>
struct starling::codec<cereal_users::chain> : starling::cereal_codec<cereal_users::chain> {};
template <>
struct starling::codec<cereal_users::pair_of_types>
    : starling::cereal_codec<cereal_users::pair_of_types> {};
template <>
struct starling::codec<cereal_users::switches> : starling::cereal_codec<cereal_users::switches> {};
template <>
struct starling::codec<cereal_users::rows> : starling::cereal_codec<cereal_users::rows> {};
static_assert(starling::travels<cereal_users::mesh>);
static_assert(starling::travels<cereal_users::drawing>);

namespace starling {
namespace {

using namespace cereal_users;
using bytes = std::vector<std::byte>;

mesh some_mesh() {
  mesh m{"sphere",      {1, 2, 3}, {{"a", 1}, {"b", {}}}, std::make_shared<int>(5), {},
         colour::green, true};
  m.second = m.first;
  return m;
}

TEST(cereal_types, return_as_they_were) {
  auto [number, all] =
      unpack<std::tuple<int, std::vector<mesh>>>(pack(1, std::vector{some_mesh(), mesh()}));
  ASSERT_EQ(all.size(), 2u);
  const mesh m = all[0], expected = some_mesh();
  EXPECT_EQ(number, 1);
  EXPECT_EQ(m.name, expected.name);
  EXPECT_EQ(m.points, expected.points);
  EXPECT_EQ(m.labels, expected.labels);
  EXPECT_EQ(*m.first, 5);
  EXPECT_EQ(m.first, m.second);  // still shared
  EXPECT_EQ(m.tint, colour::green);
  EXPECT_TRUE(m.is_closed);
  EXPECT_TRUE(all[1].points.empty());
}

TEST(cereal_types, may_convert_and_may_be_members_of_other_types) {
  const auto back =
      unpack<std::tuple<std::optional<temperature>>>(pack(std::optional(temperature{273.15})));
  EXPECT_EQ(std::get<0>(back)->kelvin, 273.15);
}

TEST(cereal_types, may_be_pointed_to_by_their_bases) {
  drawing d;
  auto s = std::make_unique<square>();
  s->side = 3;
  d.figures.push_back(std::move(s));
  const auto [back] = unpack<std::tuple<drawing>>(pack(d));
  EXPECT_EQ(back.figures.at(0)->area(), 9);
}

TEST(cereal_types, that_throw_are_errors_of_the_archive) {
  bytes message = pack(some_mesh());
  message[8] = std::byte{4};
  try {
    static_cast<void>(unpack<std::tuple<mesh>>(message));
    FAIL();
  } catch (const archive_error& e) {
    EXPECT_NE(std::string(e.what()).find("an old mesh"), std::string::npos) << e.what();
  }
}

template <class T>
std::string unpack_error(const bytes& message) {
  try {
    static_cast<void>(unpack<std::tuple<T>>(message));
  } catch (const archive_error& e) {
    return e.what();
  }
  return "no error";
}

TEST(cereal_types, do_not_overflow_the_stack) {
  bytes message = pack(chain());
  message.insert(message.begin() + 8, 1'000'000, std::byte{1});
  EXPECT_NE(unpack_error<chain>(message).find("more than 400 levels"), std::string::npos);
  chain first;
  chain* last = &first;
  const auto lengthen = [&last](int n) {
    for (; n > 0; --n, last = last->next.get()) last->next = std::make_unique<chain>();
  };
  lengthen(300);
  EXPECT_NO_THROW(static_cast<void>(unpack<std::tuple<chain>>(pack(first))));
  lengthen(200);
  EXPECT_THROW(static_cast<void>(pack(first)), archive_error);
}

TEST(cereal_types, are_not_taken_for_shared_objects_of_another_type) {
  pair_of_types value{std::make_shared<std::uint8_t>(std::uint8_t(1)), {}};
  bytes message = pack(value);
  ASSERT_EQ(message.size(), 8u + 4 + 1 + 4);
  message[13] = std::byte{1};  // the number of the first object
  EXPECT_NE(unpack_error<pair_of_types>(message).find("of another type"), std::string::npos);
}

TEST(cereal_types, may_not_have_invalid_bools) {
  bytes message = pack(switches());
  EXPECT_EQ(unpack_error<switches>(message), "no error");
  message.back() = std::byte{2};
  EXPECT_NE(unpack_error<switches>(message).find("a bool"), std::string::npos);
}

TEST(cereal_types, may_not_announce_more_than_the_message_has) {
  rows value{{{"a", "b"}, {}, {"c"}}};
  bytes message = pack(value);
  EXPECT_EQ(unpack_error<rows>(message), "no error");
  message.resize(message.size() + 1000);
  message[8] = std::byte{200};  // number of rows
  message[9] = std::byte{2};
  message[16] = std::byte{200};  // number of columns of the first row
  message[17] = std::byte{2};
  EXPECT_NE(unpack_error<rows>(message).find("712 elements"), std::string::npos);
}

TEST(cereal_types, are_refused_when_truncated_or_changed) {
  const bytes message = pack(some_mesh());
  for (std::size_t n = 0; n < message.size(); ++n)
    ASSERT_THROW(static_cast<void>(unpack<std::tuple<mesh>>(
                     bytes(message.begin(), message.begin() + std::ptrdiff_t(n)))),
                 archive_error);
  std::mt19937_64 e(5);
  for (int i = 0; i < 3000; ++i) {
    bytes changed = message;
    for (std::uint64_t n = e() % 3; n < 3; ++n)
      changed[8 + e() % (changed.size() - 8)] = std::byte(e());
    try {
      static_cast<void>(unpack<std::tuple<mesh>>(changed));
    } catch (const archive_error&) {
    }
  }
}

}  // namespace
}  // namespace starling
