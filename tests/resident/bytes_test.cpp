// SPDX-License-Identifier: Apache-2.0
// Copies of whole words, by one thread and by several.
#include <starling/resident/detail/bytes.hpp>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace starling_test {
namespace {

namespace detail = starling::resident::detail;

/// One of several threads, with the interface of a group.
struct one_thread {
  std::uint32_t number, of;
  [[nodiscard]] int rank() const { return int(number); }
  [[nodiscard]] int size() const { return int(of); }
  template <class F>
  void for_each(std::uint32_t n, F&& f) const {
    for (std::uint32_t i = number; i < n; i += of) f(i);
  }
};

/// `count` numbers with 8 further numbers behind, aligned or `shift` elements after an aligned
/// address.
template <class T>
struct place {
  std::vector<detail::quad> memory;
  T* at;

  place(std::size_t count, std::size_t shift)
      : memory((count + shift + 8) * sizeof(T) / sizeof(detail::quad) + 1),
        at(reinterpret_cast<T*>(memory.data()) + shift) {
    std::fill_n(at, count + 8, T(-1));
  }
};

template <class T>
void expect_whole_copies() {
  for (const std::uint32_t threads : {1u, 7u, 128u})
    for (const std::size_t count : {0, 1, 3, 4, 5, 31, 32, 33, 127, 1000, 4099})
      for (const std::size_t shift : {0, 1}) {
        place<T> from(count, shift), to(count, shift);
        std::iota(from.at, from.at + count, T(1));
        for (std::uint32_t rank = 0; rank < threads; ++rank)
          detail::copy_by_all(one_thread{rank, threads}, to.at, std::span<const T>(from.at, count));
        EXPECT_TRUE(std::equal(from.at, from.at + count + 8, to.at))
            << count << " elements, by " << threads << ", shifted by " << shift;
      }
}

TEST(resident_bytes, are_copied_by_all_threads_within_their_bounds) {
  expect_whole_copies<std::uint32_t>();
  expect_whole_copies<double>();
  expect_whole_copies<std::uint8_t>();
}

TEST(resident_bytes, of_blocks_are_copied_in_whole_quads) {
  for (std::uint32_t bytes = 0; bytes <= 600; ++bytes) {
    const std::uint32_t whole = (bytes + 15) / 16 * 16;
    place<std::uint8_t> from(whole, 0), to(whole, 0);
    std::iota(from.at, from.at + whole, std::uint8_t(1));
    detail::copy_block(to.at, from.at, bytes);
    EXPECT_TRUE(std::equal(from.at, from.at + whole + 8, to.at)) << bytes;
  }
}

}  // namespace
}  // namespace starling_test
