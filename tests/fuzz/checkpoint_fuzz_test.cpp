// SPDX-License-Identifier: Apache-2.0
// Damaged checkpoints: each is refused, or has the contents that were written.
#include <gtest/gtest.h>

#include <memory>

#include "fuzz/fuzz.hpp"
#include "objects/checkpoint/checksum.hpp"
#include "objects/checkpoint/samples.hpp"

namespace starling {
namespace {

using namespace starling_test;
using detail::checkpoint_error;
using detail::memory_source;

bool is_refused(const bytes& share, const contents& expected) {
  try {
    share_reader reader(std::make_unique<memory_source>(share));
    contents found;
    add_states(reader, found);
    EXPECT_EQ(found, expected);
    return false;
  } catch (const checkpoint_error&) {
    return true;
  }
}

TEST(checkpoints, refuse_damaged_shares) {
  fuzz::engine e(fuzz::seed());
  for (int i = 0; i < 20; ++i) {
    const sample s{.seed = 1 + e() % 1000, .elements = e() % 20, .most_bytes = 200};
    const bytes whole = s.share(0);
    ASSERT_FALSE(is_refused(whole, s.expected()));
    for (int k = 0; k < 100 && !testing::Test::HasFailure(); ++k) {
      const bytes damaged = fuzz::damaged(whole, e);
      EXPECT_EQ(is_refused(damaged, s.expected()), damaged != whole);
    }
  }
}

/// Corrects the checksums of a share of which the index was damaged, so that parsing is reached.
bytes with_right_checksums(bytes b, std::size_t data) {
  if (b.size() < 2 * detail::sealed_size + data) return b;
  const std::span all(b);
  const std::size_t index = b.size() - 2 * detail::sealed_size - data;
  std::byte* const footer = b.data() + b.size() - detail::sealed_size;
  const std::uint64_t size = index;
  const std::uint64_t sum = detail::checksum_of(all.subspan(detail::sealed_size + data, index));
  std::memcpy(footer + 24, &size, 8);
  std::memcpy(footer + 40, &sum, 8);
  const std::uint64_t seal = detail::checksum_of(std::span(footer, detail::sealed_size - 8));
  std::memcpy(footer + detail::sealed_size - 8, &seal, 8);
  return b;
}

TEST(checkpoints, parse_damaged_indices_without_harm) {
  fuzz::engine e(fuzz::seed());
  int parsed = 0;
  for (int i = 0; i < 2000; ++i) {
    const sample s{.seed = 1 + e() % 1000, .elements = e() % 5, .most_bytes = 100};
    const bytes whole = s.share(0);
    std::size_t data = 0;
    for (const auto& [key, state] : s.expected()) data += state.size();
    const auto begin = whole.begin() + long(detail::sealed_size + data);
    const auto end = whole.end() - long(detail::sealed_size);
    const bytes index = fuzz::damaged(bytes(begin, end), e);
    bytes b(whole.begin(), begin);
    b.insert(b.end(), index.begin(), index.end());
    b.insert(b.end(), end, whole.end());
    try {
      const bytes right = with_right_checksums(b, data);
      share_reader reader(std::make_unique<memory_source>(right));
      ++parsed;
      contents found;
      add_states(reader, found);
    } catch (const checkpoint_error&) {
    }
  }
  EXPECT_GT(parsed, 0);  // else the checksums were not corrected
}

TEST(checkpoints, refuse_damaged_manifests) {
  fuzz::engine e(fuzz::seed());
  manifest of = sample{}.with({{0, 700, 5, {{"cells", 3}}}, {1, 800, 6, {{"faces", 2}}}});
  of.folders = {{11, 0, "host-a", "/a/0"}, {12, 1, "host-b", "/a/1"}};
  of.holders = {{0, 1}, {1}};
  detail::memory_sink sink;
  write_manifest(sink, of);
  const bytes whole = sink.take();
  for (int i = 0; i < 2000; ++i) {
    const bytes damaged = fuzz::damaged(whole, e);
    try {
      memory_source source(damaged);
      EXPECT_EQ(read_manifest(source), of);
      EXPECT_EQ(damaged, whole);
    } catch (const checkpoint_error&) {
    }
  }
}

}  // namespace
}  // namespace starling
