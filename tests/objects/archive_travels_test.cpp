// SPDX-License-Identifier: Apache-2.0
// Which types travel and which are refused; refused/archive.cpp tests the compiler's messages.
#include <starling/objects/archive.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include <gtest/gtest.h>

#include "objects/archive_types.hpp"

namespace starling {
namespace {

using namespace travellers;

struct holder {
  int number;
  int* pointer;
};
struct outer {
  std::array<holder, 2> holders;
};
struct in_array {
  double numbers[3];
  void (*functions[2])();
};
struct derived : flags {
  int more;
};
struct viewer {
  std::string_view text;
};
struct referrer {
  int& to;
};
struct constant {
  const int value = 0;
};
struct with_text {
  std::string text;
};
union either {
  int number;
  int* pointer;
};
struct thirteen {
  int a, b, c, d, e, f, g, h, i, j, k, l, m;
};
struct named_bits {
  unsigned low : 3;
  bool high : 1;
};
struct base {
  virtual ~base() = default;
  template <class Archive>
  void serialize(Archive&) {}
};
struct last final : base {};

struct field : std::vector<double> {
  int nx = 0, ny = 0;
};
struct itself {
  ~itself();
  using value_type = itself;
  itself *begin(), *end();
  void clear();
  void push_back(itself&&);
  [[nodiscard]] std::size_t size() const;
};
template <class T>
struct self_of {
  ~self_of();
  using value_type = self_of;
  self_of *begin(), *end();
  void clear();
  void push_back(self_of&&);
  [[nodiscard]] std::size_t size() const;
};
struct proxy {
  using value_type = double;
  double* both[1];
  float more[2];
  [[nodiscard]] double real() const;
  [[nodiscard]] double imag() const;
};
class hidden_proxy {
 public:
  using value_type = double;
  [[nodiscard]] double real() const;
  [[nodiscard]] double imag() const;

 private:
  double* m_real;
  double* m_imaginary;
};
struct no_codec {
  int number;
};
struct unmovable {
  unmovable() = default;
  unmovable(unmovable&&) = delete;
  template <class Archive>
  void serialize(Archive&) {}
};

}  // namespace
template <>
struct codec<no_codec> {
  static void save(output_archive&, const no_codec&);  // there is no `load`
};
namespace {

[[maybe_unused]] int somewhere = 0;
[[maybe_unused]] const auto capturing = [p = &somewhere] { return *p; };

template <class... T>
constexpr bool none_travels = (!travels<T> && ...);

static_assert(
    none_travels<int*, const char*, void*, void (*)(int), int flags::*, int&, std::nullptr_t,
                 std::span<int>, std::string_view, std::reference_wrapper<int>,
                 std::function<void()>, decltype(capturing)>);
static_assert(none_travels<std::vector<int*>, std::map<std::string_view, int>, std::pair<int, int*>,
                           std::optional<int*>, std::variant<int, int*>, std::array<int*, 2>,
                           std::tuple<std::span<int>>, std::unique_ptr<int*>>);
static_assert(none_travels<holder, outer, in_array, derived, viewer, referrer, constant, with_text,
                           either, thirteen, std::shared_ptr<int>, std::unique_ptr<base>,
                           std::unique_ptr<int[]>, std::chrono::steady_clock::time_point>);
static_assert(none_travels<field, itself, self_of<int>, proxy, hidden_proxy, no_codec>);
static_assert(none_travels<std::map<int, int, bool (*)(int, int)>,
                           std::set<int, std::function<bool(int, int)>>,
                           std::unordered_set<int, std::size_t (*)(int)>, std::vector<unmovable>,
                           std::tuple<unmovable>, std::optional<unmovable>, std::tuple<int[3]>>);
static_assert(travels<unmovable> && travels<std::unique_ptr<unmovable>>);
static_assert(travels<named_bits> && travels<std::unique_ptr<last>> && travels<const int>);

TEST(types_that_travel_as_bytes, may_have_bit_fields) {
  const auto [back] = unpack<std::tuple<named_bits>>(pack(named_bits{5, true}));
  EXPECT_EQ(back.low, 5u);
  EXPECT_TRUE(back.high);
}

}  // namespace
}  // namespace starling
