// SPDX-License-Identifier: Apache-2.0
// A restart file that several parts of the domain write and others read; checksums.
#include <gtest/gtest.h>

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "io/crc32.hpp"
#include "tests/output_restart_support.hpp"

namespace stars::testing {
namespace {

std::uint32_t crc32_of(std::string_view text) { return crc32(std::as_bytes(std::span(text))); }

TEST(crc32, is_the_usual_one) {
  EXPECT_EQ(crc32_of(""), 0u);
  EXPECT_EQ(crc32_of("123456789"), 0xcbf43926u);
  EXPECT_EQ(crc32_of("The quick brown fox jumps over the lazy dog"), 0x414fa339u);
}

TEST(crc32, differs_if_any_bit_differs) {
  std::string text = "a text of more than sixteen bytes, and a rest";
  const std::uint32_t before = crc32_of(text);
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(crc32_of(text), before) << bit;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << bit % 8));
  }
}

class divided_restart : public restart_test {
 protected:
  /// Writes the file by parts of so many leaves, in any order.
  void write_by_parts(const std::vector<int>& counts, bool backwards) {
    restart header{m_content.state.without_data(), m_content.scheme};
    restart_writer file(m_path, header);
    std::vector<int> firsts{0};
    for (const int count : counts) firsts.push_back(firsts.back() + count);
    std::vector<std::vector<std::uint32_t>> checksums(counts.size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::size_t p = backwards ? counts.size() - 1 - i : i;
      checksums[p] = write_restart_part(file.place(), firsts[p],
                                        data_of(m_content.state, firsts[p], counts[p]));
    }
    std::vector<std::uint32_t> all;
    for (const auto& part : checksums) all.insert(all.end(), part.begin(), part.end());
    file.commit(all);
  }

  restart m_content = sample_restart(two_levels());
};

TEST_F(divided_restart, has_the_same_bytes_for_all_divisions) {
  write_restart(m_path, m_content);
  const std::string whole = read_file(m_path);
  for (const auto& counts : std::vector<std::vector<int>>{{15}, {1, 14}, {4, 4, 7}, {14, 0, 1}})
    for (const bool backwards : {false, true}) {
      write_by_parts(counts, backwards);
      EXPECT_TRUE(read_file(m_path) == whole) << counts.size();
      EXPECT_EQ(m_scratch.names().size(), 1u);
    }
}

TEST_F(divided_restart, is_read_by_other_parts) {
  write_by_parts({4, 4, 7}, true);
  for (int first = 0; first <= 15; ++first)
    for (const int count : {0, 1, 3, 15 - first}) {
      if (first + count > 15) continue;
      const auto expected = data_of(m_content.state, first, count);
      EXPECT_EQ(read_restart_part(m_path, first, count),
                std::vector<double>(expected.begin(), expected.end()));
    }
}

TEST_F(divided_restart, has_only_the_leaves_of_its_tree) {
  write_restart(m_path, m_content);
  for (const auto& [first, count] : {std::pair{-1, 2}, {0, 16}, {15, 1}, {3, -1}, {2147483647, 1}})
    expect_contains(error_of<std::invalid_argument>(
                        [&, f = first, n = count] { (void)read_restart_part(m_path, f, n); }),
                    "it has 15 leaves, not those from " + std::to_string(first));
}

TEST_F(divided_restart, gives_each_leaf_pages_of_its_own) {
  const restart_writer file(m_path, m_content);
  EXPECT_GT(file.place().offset, 0u);
  EXPECT_EQ(file.place().offset % 4096, 0u);
  EXPECT_EQ(node_values * sizeof(double) % 4096, 0u);
}

TEST_F(divided_restart, without_a_part_does_not_appear) {
  {
    restart_writer file(m_path, m_content);
    const auto some = write_restart_part(file.place(), 0, data_of(m_content.state, 0, 14));
    expect_contains(error_of<std::invalid_argument>([&] { file.commit(some); }),
                    "14 checksums for 15 leaves");
    EXPECT_FALSE(std::filesystem::exists(m_path));
  }
  EXPECT_TRUE(m_scratch.names().empty());
}

TEST_F(divided_restart, with_the_data_of_one_part_missing_is_refused) {
  restart_writer file(m_path, m_content);
  std::vector<std::uint32_t> checksums =
      write_restart_part(file.place(), 0, data_of(m_content.state, 0, 14));
  checksums.push_back(crc32(std::as_bytes(data_of(m_content.state, 14, 1))));
  file.commit(checksums);
  expect_contains(read_error(), "the data of leaf 14 do not have their checksum");
}

TEST_F(divided_restart, refuses_data_of_a_fraction_of_a_leaf) {
  const restart_writer file(m_path, m_content);
  EXPECT_THROW(
      (void)write_restart_part(file.place(), 0, std::span(m_content.state.data).first(100)),
      std::invalid_argument);
  EXPECT_THROW((void)write_restart_part(file.place(), -1, data_of(m_content.state, 0, 1)),
               std::invalid_argument);
}

TEST_F(divided_restart, of_which_a_part_cannot_be_written_leaves_the_older_file) {
  write_restart(m_path, sample_restart(0));
  const std::string before = read_file(m_path);
  {
    const restart_writer file(m_path, m_content);
    const file_size_limit limit(100'000);
    expect_contains(error_of<output_error>(
                        [&] { (void)write_restart_part(file.place(), 0, m_content.state.data); }),
                    "cannot write: File too large");
  }
  EXPECT_EQ(read_file(m_path), before);
  EXPECT_EQ(m_scratch.names().size(), 1u);
}

TEST(positioned_file, keeps_what_it_does_not_write) {
  const scratch_directory scratch;
  write_file(scratch / "a", "0123456789");
  positioned_file file(scratch / "a");
  file.write(3, std::as_bytes(std::span(std::string_view("xy"))));
  file.resize(8);
  file.close();
  EXPECT_EQ(read_file(scratch / "a"), "012xy567");
}

TEST(positioned_file, must_exist) {
  const scratch_directory scratch;
  expect_contains(error_of<output_error>([&] { positioned_file(scratch / "a"); }),
                  "a: cannot open for writing: No such file");
  EXPECT_TRUE(scratch.names().empty());
}

}  // namespace
}  // namespace stars::testing
