// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <complex>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <starling/objects/archive.hpp>

/// Example user types, and random values of these types and of the standard types.
namespace travellers {

enum class face : std::uint8_t { left, right };
enum old_kind { first, second };

struct flags {
  int level = 0;
  bool leaf = false;
  double corners[3] = {};
  std::array<bool, 2> sides{};
  face towards = face::left;
  bool operator==(const flags&) const = default;
};
static_assert(starling::travels<flags>);

struct twelve {
  int a, b, c, d, e, f, g, h, i, j, k, l;
  bool operator==(const twelve&) const = default;
};
static_assert(starling::travels<twelve>);

struct nothing {
  bool operator==(const nothing&) const = default;
};
static_assert(starling::travels<nothing>);

class vec3 {
 public:
  vec3() = default;
  vec3(double x, double y, double z) : m_x(x), m_y(y), m_z(z) {}
  bool operator==(const vec3&) const = default;

 private:
  double m_x = 0;
  double m_y = 0;
  double m_z = 0;
};

/// Serialized by a member function.
class cell {
 public:
  cell() = default;
  cell(std::string name, std::vector<double> values)
      : m_name(std::move(name)), m_values(std::move(values)) {}
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_name, m_values, m_weights);
    if constexpr (Archive::is_reading) was_read = true;
  }
  bool operator==(const cell& b) const {
    return m_name == b.m_name && m_values == b.m_values && m_weights[2] == b.m_weights[2];
  }
  bool was_read = false;

 private:
  std::string m_name;
  std::vector<double> m_values;
  std::string m_weights[3] = {"a", "b", "c"};
};
static_assert(starling::travels<cell>);

/// Serialized by a free function.
struct mesh {
  std::vector<cell> cells;
  std::map<int, std::string> names;
  bool operator==(const mesh&) const = default;
};
template <class Archive>
void serialize(Archive& ar, mesh& m) {
  ar& m.cells& m.names;
}
static_assert(starling::travels<mesh>);

/// Its `serialize` passes nothing to the archive.
struct silent {
  template <class Archive>
  void serialize(Archive&) {}
  bool operator==(const silent&) const = default;
};
static_assert(starling::travels<silent>);

/// A recursive type.
struct tree {
  int value = 0;
  std::unique_ptr<tree> next;
  std::vector<tree> children;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(value, next, children);
  }
};
static_assert(starling::travels<tree>);

/// Has no default constructor, hence a codec.
class handle {
 public:
  explicit handle(int id) : m_id(id) {}
  [[nodiscard]] int id() const { return m_id; }
  bool operator==(const handle&) const = default;

 private:
  int m_id;
};

}  // namespace travellers

template <>
inline constexpr bool starling::travels_as_bytes<travellers::vec3> = true;
static_assert(starling::travels<travellers::vec3>);

template <>
struct starling::codec<travellers::handle> {
  template <class Archive>
  static void save(Archive& ar, const travellers::handle& h) {
    ar(h.id());
  }
  static travellers::handle load(input_archive& ar) { return travellers::handle(ar.read<int>()); }
};
static_assert(starling::travels<travellers::handle>);

namespace travellers {

using engine = std::mt19937_64;

template <class T>
struct random_value;
template <class T>
T any(engine& e) {
  return random_value<T>{}(e);
}
inline std::size_t any_size(engine& e) { return e() % 5; }

template <class T>
requires std::is_arithmetic_v<T>
struct random_value<T> {
  T operator()(engine& e) const { return static_cast<T>(std::int64_t(e() >> 40) - (1 << 23)); }
};
template <>
struct random_value<bool> {
  bool operator()(engine& e) const { return e() % 2 == 0; }
};
template <>
struct random_value<std::string> {
  std::string operator()(engine& e) const { return std::string(e() % 40, char('a' + e() % 26)); }
};
template <>
struct random_value<flags> {
  flags operator()(engine& e) const {
    return {any<int>(e), any<bool>(e), {1, any<double>(e), 3}, {true, any<bool>(e)}, face::right};
  }
};
template <>
struct random_value<cell> {
  cell operator()(engine& e) const {
    return {any<std::string>(e), {any<double>(e), any<double>(e)}};
  }
};
template <>
struct random_value<handle> {
  handle operator()(engine& e) const { return handle(any<int>(e)); }
};
template <class T>
requires(starling::detail::is_sequence<T> &&
         !std::is_same_v<T, std::string>) struct random_value<T> {
  T operator()(engine& e) const {
    T made;
    for (std::size_t n = any_size(e); n > 0; --n) made.push_back(any<typename T::value_type>(e));
    return made;
  }
};
template <starling::detail::is_map T>
struct random_value<T> {
  T operator()(engine& e) const {
    T made;
    for (std::size_t n = any_size(e); n > 0; --n)
      made.emplace(any<typename T::key_type>(e), any<typename T::mapped_type>(e));
    return made;
  }
};
template <starling::detail::is_set T>
struct random_value<T> {
  T operator()(engine& e) const {
    T made;
    for (std::size_t n = any_size(e); n > 0; --n) made.insert(any<typename T::key_type>(e));
    return made;
  }
};
template <class... T>
struct random_value<std::tuple<T...>> {
  std::tuple<T...> operator()(engine& e) const { return {any<T>(e)...}; }
};
template <class T, class U>
struct random_value<std::pair<T, U>> {
  std::pair<T, U> operator()(engine& e) const { return {any<T>(e), any<U>(e)}; }
};
template <class T>
struct random_value<std::optional<T>> {
  std::optional<T> operator()(engine& e) const {
    return e() % 2 == 0 ? std::nullopt : std::optional<T>(any<T>(e));
  }
};
template <class T, class U>
struct random_value<std::variant<T, U>> {
  std::variant<T, U> operator()(engine& e) const {
    if (e() % 2 == 0) return std::variant<T, U>(std::in_place_index<0>, any<T>(e));
    return std::variant<T, U>(std::in_place_index<1>, any<U>(e));
  }
};

/// Many combinations of nested types.
using everything =
    std::tuple<int, double, bool, std::string, std::vector<bool>, std::vector<int>,
               std::vector<flags>, std::vector<std::vector<std::string>>, flags,
               std::map<std::string, std::vector<cell>>,
               std::unordered_map<int, std::optional<std::string>>, std::set<std::string>,
               std::unordered_set<int>, std::multimap<int, bool>,
               std::deque<std::pair<int, std::string>>, std::list<std::tuple<char, float>>,
               std::optional<std::vector<long>>, std::variant<std::string, std::vector<flags>>,
               std::vector<std::variant<int, cell>>, std::vector<handle>>;

}  // namespace travellers
