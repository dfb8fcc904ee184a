// SPDX-License-Identifier: Apache-2.0
// Damaged and random bytes for types of every kind that can be packed: they are unpacked or
// refused, and the memory allocated for them is proportional to their size.
#include <malloc.h>

#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "fuzz/fuzz.hpp"
#include "objects/archive_types.hpp"

namespace {

/// Bytes that this thread holds allocated now, and their maximum.
thread_local std::size_t t_allocated = 0;
thread_local std::size_t t_peak = 0;

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* const p = std::malloc(size);
  if (p == nullptr) return p;
  t_allocated += malloc_usable_size(p);
  t_peak = std::max(t_peak, t_allocated);
  return p;
}
void* operator new(std::size_t size) {
  if (void* const p = operator new(size, std::nothrow)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept {
  t_allocated -= malloc_usable_size(p);
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

namespace starling {
namespace {

using namespace travellers;
using fuzz::bytes;

struct sample {
  template <class T>
  static T of(engine& e) {
    return any<T>(e);
  }
};
template <>
tree sample::of<tree>(engine& e) {
  tree root{any<int>(e), nullptr, {}};
  for (std::size_t n = any_size(e); n > 0; --n) root.children.push_back({int(n), nullptr, {}});
  if (e() % 2 == 0) root.next = std::make_unique<tree>();
  return root;
}
template <>
mesh sample::of<mesh>(engine& e) {
  return {any<std::vector<cell>>(e), any<std::map<int, std::string>>(e)};
}
template <>
std::unique_ptr<std::string> sample::of<std::unique_ptr<std::string>>(engine& e) {
  return e() % 4 == 0 ? nullptr : std::make_unique<std::string>(any<std::string>(e));
}
template <>
std::array<std::string, 3> sample::of<std::array<std::string, 3>>(engine& e) {
  return {any<std::string>(e), any<std::string>(e), any<std::string>(e)};
}
template <>
nothing sample::of<nothing>(engine&) {
  return {};
}
template <>
silent sample::of<silent>(engine&) {
  return {};
}
template <>
std::vector<silent> sample::of<std::vector<silent>>(engine& e) {
  return std::vector<silent>(any_size(e));
}

template <class T>
class archives : public testing::Test {};
using kinds =
    testing::Types<int, bool, flags, nothing, handle, cell, mesh, tree, silent, std::vector<silent>,
                   std::vector<bool>, std::string, std::vector<double>, std::vector<flags>,
                   std::vector<std::vector<std::string>>, std::deque<std::string>,
                   std::list<std::pair<char, float>>, std::map<std::string, std::vector<cell>>,
                   std::unordered_map<int, std::optional<std::string>>, std::set<std::string>,
                   std::unordered_set<int>, std::multimap<int, bool>, std::array<std::string, 3>,
                   std::tuple<int, std::string>, std::optional<std::vector<long>>,
                   std::variant<std::string, std::vector<flags>>, std::unique_ptr<std::string>,
                   everything>;
TYPED_TEST_SUITE(archives, kinds);

/// Most bytes that may be allocated for one byte of input: it may encode a container's element,
/// with the memory that the container needs for an element.
constexpr std::size_t most_of_a_byte = 256;
template <class T>
constexpr std::size_t text_of_an_error = 4096 + 8 * detail::type_text<T>.size();

template <class T>
bool is_taken(const bytes& from) {
  t_peak = t_allocated;
  const std::size_t before = t_allocated;
  bool taken = false;
  try {
    static_cast<void>(pack(std::get<0>(unpack<std::tuple<T>>(from))));
    taken = true;
  } catch (const archive_error&) {
  }
  EXPECT_LE(t_peak - before, most_of_a_byte * from.size() + text_of_an_error<T>);
  return taken;
}

TYPED_TEST(archives, accept_or_refuse_damaged_bytes) {
  fuzz::engine e(fuzz::seed());
  for (int i = 0; i < 400; ++i) {
    const bytes whole = pack(sample::of<TypeParam>(e));
    ASSERT_TRUE(is_taken<TypeParam>(whole));
    for (int k = 0; k < 10 && !this->HasFailure(); ++k)
      static_cast<void>(is_taken<TypeParam>(fuzz::damaged(whole, e)));
  }
}

TYPED_TEST(archives, accept_or_refuse_random_bytes) {
  fuzz::engine e(fuzz::seed());
  const auto header = detail::arguments_pack<TypeParam>::header;
  for (int i = 0; i < 4000 && !this->HasFailure(); ++i) {
    bytes any(sizeof(header) + fuzz::below(e, 200));
    const std::uint64_t mask = i % 2 == 0 ? 0xff : 0x03;  // small lengths are unpacked further
    for (std::byte& b : any) b = std::byte(e() % 3 == 0 ? e() & mask : 0);
    std::memcpy(any.data(), &header, sizeof(header));
    static_cast<void>(is_taken<TypeParam>(any));
  }
}

}  // namespace
}  // namespace starling
