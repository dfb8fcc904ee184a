// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/share_format.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "objects/checkpoint/checksum.hpp"

namespace starling::detail {
namespace {

constexpr std::uint32_t order_mark = 0x01020304;
constexpr std::uint32_t swapped_mark = 0x04030201;
constexpr std::size_t covered = sealed_size - sizeof(std::uint64_t);

}  // namespace

sealed_block seal(std::string_view magic, const field_writer& fields) {
  field_writer all;
  all.append(bytes_of(magic));
  all.put(checkpoint_version);
  all.put(order_mark);
  all.append(fields.bytes());
  sealed_block block{};
  std::copy(all.bytes().begin(), all.bytes().end(), block.begin());
  const std::uint64_t sum = checksum_of(std::span(block).first(covered));
  std::memcpy(block.data() + covered, &sum, sizeof sum);
  return block;
}

field_reader open_seal(std::string_view magic, const sealed_block& block, const std::string& name) {
  const std::span<const std::byte> bytes(block);
  field_reader reader(bytes.first(covered), name);
  if (text_of(reader.take(magic.size())) != magic)
    refuse(checkpoint_fault::foreign, name, "it is no file of this format (other magic bytes)");
  const auto version = reader.get<std::uint32_t>();
  const auto mark = reader.get<std::uint32_t>();
  if (mark == swapped_mark)
    refuse(checkpoint_fault::foreign, name, "a machine with the other byte order wrote it");
  if (checksum_of(bytes.first(covered)) != seal_of(block))
    refuse(checkpoint_fault::damaged, name, "the checksum of a header or footer is wrong");
  if (version > checkpoint_version)
    refuse(
        checkpoint_fault::newer, name,
        fmt::format("its format has version {}, and this program reads version {}: use a program "
                    "built with the later Starling",
                    version, checkpoint_version));
  if (version != checkpoint_version || mark != order_mark)
    refuse(checkpoint_fault::foreign, name,
           fmt::format("version {} with byte-order mark {:#x} never existed", version, mark));
  return reader;
}

std::uint64_t seal_of(const sealed_block& block) {
  std::uint64_t sum;
  std::memcpy(&sum, block.data() + covered, sizeof sum);
  return sum;
}

}  // namespace starling::detail
