// SPDX-License-Identifier: Apache-2.0
// Shares and manifests in memory: round trips, and each way in which bytes are refused.
#include <gtest/gtest.h>

#include <memory>

#include "objects/checkpoint/checksum.hpp"
#include "samples.hpp"

namespace starling {
namespace {

using namespace starling_test;
using detail::checkpoint_error;
using detail::checkpoint_fault;
using detail::memory_source;

share_reader reader_of(const bytes& from) {
  return share_reader(std::make_unique<memory_source>(from, "a share"));
}

/// Returns the fault for which a share or one of its states is refused, and no value for a good
/// one.
std::optional<checkpoint_fault> fault_of_share(const bytes& from) {
  try {
    share_reader reader = reader_of(from);
    reader.verify();
    return {};
  } catch (const checkpoint_error& e) {
    EXPECT_NE(std::string(e.what()).find("a share"), std::string::npos) << e.what();
    return e.fault();
  }
}

std::optional<checkpoint_fault> fault_of_manifest(const bytes& from) {
  try {
    memory_source source(from, "a manifest");
    static_cast<void>(read_manifest(source));
    return {};
  } catch (const checkpoint_error& e) {
    return e.fault();
  }
}

bytes manifest_bytes() {
  detail::memory_sink sink;
  write_manifest(sink, sample{}.with({{0, 700, 5, {{"cells", 3}}}, {1, 800, 6, {}}}));
  return sink.take();
}

manifest with_folders() {
  manifest of = sample{}.with({{0, 700, 5, {{"cells", 3}}}, {1, 800, 6, {}}});
  of.folders = {{11, 0, "host-a", "/a/0"}, {12, 1, "host-b", "/a/1"}, {13, 2, "host-b", "/a/2"}};
  of.holders = {{0, 1}, {2}};
  return of;
}
bytes bytes_of_manifest(const manifest& of) {
  detail::memory_sink sink;
  write_manifest(sink, of);
  return sink.take();
}

TEST(checkpoint_share, gives_back_arrays_and_states) {
  const sample s{.elements = 9};
  const bytes all = s.share(0);
  share_reader reader = reader_of(all);
  EXPECT_EQ(reader.identity(), s.identity(0));
  ASSERT_EQ(reader.arrays().size(), 2u);
  EXPECT_EQ(reader.arrays()[0], s.array("cells"));
  EXPECT_EQ(reader.arrays()[1], s.array("faces"));
  EXPECT_EQ(reader.summary().arrays[1], (detail::array_count{"faces", 9}));
  contents found;
  add_states(reader, found);
  EXPECT_EQ(found, s.expected());
}

TEST(checkpoint_share, reads_chosen_states_in_any_order) {
  const sample s{.elements = 20, .most_bytes = 300};
  const bytes all = s.share(0);
  share_reader reader = reader_of(all);
  for (std::size_t i = 20; i-- > 0;) EXPECT_EQ(reader.read(reader.states()[i]), s.state(i));
}

TEST(checkpoint_share, has_the_same_bytes_for_any_division_into_pieces) {
  const bytes state = random_bytes(1000, 3);
  std::vector<bytes> written;
  for (const std::size_t piece : {1u, 63u, 64u, 65u, 1000u}) {
    detail::memory_sink sink;
    share_writer writer(sink, {}, 64);
    const auto a = writer.add_array(sample{}.array("a"));
    std::size_t at = 0;
    writer.add_element(a, index_bytes(1), [&]() -> std::span<const std::byte> {
      const std::size_t size = std::min(piece, state.size() - at);
      at += size;
      return std::span(state).subspan(at - size, size);
    });
    static_cast<void>(writer.finish());
    written.push_back(sink.take());
  }
  for (const bytes& w : written) EXPECT_EQ(w, written.front());
}

TEST(checkpoint_share, may_be_empty) {
  detail::memory_sink sink;
  share_writer writer(sink, {});
  EXPECT_EQ(writer.finish().size, 2 * detail::sealed_size);
  const bytes all = sink.take();
  share_reader reader = reader_of(all);
  EXPECT_TRUE(reader.states().empty());
  reader.verify();
}

TEST(checkpoint_share, refuses_misuse) {
  detail::memory_sink sink;
  EXPECT_THROW(share_writer(sink, {}, 100), usage_error);
  share_writer writer(sink, {});
  EXPECT_THROW(writer.append(bytes(1)), usage_error);
  EXPECT_THROW(writer.begin_element(0, {}), usage_error);
  EXPECT_THROW(writer.begin_value(record_kind::array, "a"), usage_error);
  static_cast<void>(writer.add_array(sample{}.array("a")));
  EXPECT_THROW(static_cast<void>(writer.add_array(sample{}.array("a"))), usage_error);
}

TEST(checkpoint_share, is_refused_at_every_shorter_length) {
  const bytes all = sample{}.share(0);
  ASSERT_FALSE(fault_of_share(all));
  for (std::size_t n = 0; n < all.size(); ++n)
    EXPECT_EQ(fault_of_share(bytes(all.begin(), all.begin() + long(n))), checkpoint_fault::torn)
        << n;
}

TEST(checkpoint_share, is_refused_with_bytes_behind_it) {
  bytes all = sample{}.share(0);
  all.push_back(std::byte{0});
  EXPECT_TRUE(fault_of_share(all));
}

TEST(checkpoint_share, is_refused_with_any_bit_flipped) {
  bytes all = sample{}.share(0);
  for (std::size_t bit = 0; bit < 8 * all.size(); ++bit) {
    all[bit / 8] ^= std::byte(1u << bit % 8);
    EXPECT_TRUE(fault_of_share(all)) << bit;
    all[bit / 8] ^= std::byte(1u << bit % 8);
  }
  EXPECT_FALSE(fault_of_share(all));
}

TEST(checkpoint_share, with_damaged_states_gives_the_other_states) {
  const sample s{.elements = 20, .most_bytes = 300};
  bytes all = s.share(0);
  const share_reader whole = reader_of(all);
  const stored_state last = whole.states()[19];
  all[detail::sealed_size + last.offset] ^= std::byte{1};
  share_reader reader = reader_of(all);
  EXPECT_EQ(reader.read(reader.states()[0]), s.state(0));
  EXPECT_THROW(static_cast<void>(reader.read(reader.states()[19])), checkpoint_error);
  EXPECT_THROW(reader.verify(), checkpoint_error);
  EXPECT_EQ(reader.read(reader.states()[0]), s.state(0));
}

TEST(checkpoint_manifest, gives_back_its_contents) {
  const manifest of = sample{}.with({{0, 700, 5, {{"cells", 3}}}, {1, 800, 6, {}}});
  const bytes all = manifest_bytes();
  memory_source source(all);
  EXPECT_EQ(read_manifest(source), of);
}

TEST(checkpoint_manifest, names_the_folders_of_each_share) {
  const manifest of = with_folders();
  const bytes all = bytes_of_manifest(of);
  memory_source source(all);
  EXPECT_EQ(read_manifest(source), of);
  EXPECT_TRUE(of.is_in(12, 0));
  EXPECT_FALSE(of.is_in(12, 1));
  EXPECT_TRUE(of.is_in(13, 1));
  EXPECT_FALSE(of.is_in(99, 1));
  EXPECT_TRUE(sample{}.with({{0, 700, 5, {}}}).is_in(99, 0)) << "all shares are in its folder";
}

TEST(checkpoint_manifest, is_refused_if_it_does_not_name_a_folder_of_a_share) {
  manifest of = with_folders();
  of.holders[1] = {3};
  EXPECT_EQ(fault_of_manifest(bytes_of_manifest(of)), checkpoint_fault::damaged);
  of = with_folders();
  of.holders.pop_back();
  EXPECT_EQ(fault_of_manifest(bytes_of_manifest(of)), checkpoint_fault::damaged);
  of.holders = {{0}, {1}, {2}};
  EXPECT_EQ(fault_of_manifest(bytes_of_manifest(of)), checkpoint_fault::damaged);
}

class flipped_manifest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(with_folders, flipped_manifest, testing::Bool());

TEST_P(flipped_manifest, is_refused_with_any_bit_flipped_or_shorter) {
  bytes all = GetParam() ? bytes_of_manifest(with_folders()) : manifest_bytes();
  ASSERT_FALSE(fault_of_manifest(all));
  for (std::size_t bit = 0; bit < 8 * all.size(); ++bit) {
    all[bit / 8] ^= std::byte(1u << bit % 8);
    EXPECT_TRUE(fault_of_manifest(all)) << bit;
    all[bit / 8] ^= std::byte(1u << bit % 8);
  }
  for (std::size_t n = 0; n < all.size(); ++n)
    EXPECT_EQ(fault_of_manifest(bytes(all.begin(), all.begin() + long(n))), checkpoint_fault::torn);
}

/// Sets a 32-bit field of the header and corrects the checksum, as another program would write it.
bytes with_field(bytes all, std::size_t at, std::uint32_t value) {
  std::memcpy(all.data() + at, &value, sizeof value);
  const std::uint64_t sum = detail::checksum_of(std::span(all).first(detail::sealed_size - 8));
  std::memcpy(all.data() + detail::sealed_size - 8, &sum, sizeof sum);
  return all;
}

TEST(checkpoint_version, later_ones_are_refused_as_such) {
  EXPECT_EQ(fault_of_share(with_field(sample{}.share(0), 8, 2)), checkpoint_fault::newer);
  EXPECT_EQ(fault_of_manifest(with_field(manifest_bytes(), 8, 2)), checkpoint_fault::newer);
  EXPECT_EQ(fault_of_share(with_field(sample{}.share(0), 8, 0)), checkpoint_fault::foreign);
}

TEST(checkpoint_version, other_byte_orders_and_formats_are_foreign) {
  EXPECT_EQ(fault_of_share(with_field(sample{}.share(0), 12, 0x04030201)),
            checkpoint_fault::foreign);
  EXPECT_EQ(fault_of_share(random_bytes(500, 1)), checkpoint_fault::foreign);
  EXPECT_EQ(fault_of_share(manifest_bytes()), checkpoint_fault::foreign);
  EXPECT_EQ(fault_of_manifest(sample{}.share(0)), checkpoint_fault::foreign);
}

/// A share whose checksums are right and whose index has `index`, with a count of records.
bytes forged(const detail::field_writer& index, std::uint64_t records, std::uint64_t data = 0) {
  detail::field_writer header;
  header.put(std::uint64_t{1});
  header.put(std::uint64_t{1});
  header.put(std::uint32_t{0});
  header.put(std::uint32_t{1});
  header.put(std::uint32_t{64});
  const auto first = detail::seal(detail::share_magic, header);
  detail::field_writer footer;
  footer.put(data);
  footer.put(std::uint64_t{index.bytes().size()});
  footer.put(records);
  footer.put(detail::checksum_of(index.bytes()));
  footer.put(detail::seal_of(first));
  const auto last = detail::seal(detail::footer_magic, footer);
  bytes all(first.begin(), first.end());
  all.insert(all.end(), index.bytes().begin(), index.bytes().end());
  all.insert(all.end(), last.begin(), last.end());
  return all;
}

constexpr std::uint64_t huge = ~std::uint64_t{0};

TEST(checkpoint_share, with_right_checksums_and_impossible_numbers_is_refused) {
  detail::field_writer none, name, state, kind, orphan;
  EXPECT_FALSE(fault_of_share(forged(none, 0)));
  EXPECT_TRUE(fault_of_share(forged(none, huge)));
  EXPECT_TRUE(fault_of_share(forged(none, 0, huge)));
  EXPECT_TRUE(fault_of_share(forged(none, 0, huge - 100)));
  name.put(std::uint8_t{3});
  name.put(huge);
  EXPECT_EQ(fault_of_share(forged(name, 1)), checkpoint_fault::damaged);
  state.put(std::uint8_t{3});
  state.put_text("time");
  state.put(huge);
  EXPECT_EQ(fault_of_share(forged(state, 1)), checkpoint_fault::damaged);
  // Sizes of which the sum exceeds 64 bits and is then right.
  detail::field_writer wrapped;
  for (const std::uint64_t size : {huge, std::uint64_t{1}}) {
    wrapped.put(std::uint8_t{3});
    wrapped.put_text("time");
    wrapped.put(size);
  }
  EXPECT_EQ(fault_of_share(forged(wrapped, 2)), checkpoint_fault::damaged);
  kind.put(std::uint8_t{9});
  EXPECT_EQ(fault_of_share(forged(kind, 1)), checkpoint_fault::damaged);
  orphan.put(std::uint8_t{2});
  orphan.put(std::uint32_t{0});
  orphan.put_text("");
  orphan.put(std::uint64_t{0});
  EXPECT_EQ(fault_of_share(forged(orphan, 1)), checkpoint_fault::damaged);
}

}  // namespace
}  // namespace starling
