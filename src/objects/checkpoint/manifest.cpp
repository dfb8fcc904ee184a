// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/manifest.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "objects/checkpoint/checksum.hpp"

namespace starling::detail {
namespace {

share_summary read_share(field_reader& from, std::uint32_t rank, const std::string& name) {
  share_summary share;
  share.rank = rank;
  // The name is stored for readers of the file; a path from a file is never opened.
  if (from.get_text() != share_name(rank))
    refuse(checkpoint_fault::damaged, name, "it names a share that has another name");
  share.size = from.get<std::uint64_t>();
  share.checksum = from.get<std::uint64_t>();
  const auto arrays = from.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < arrays; ++i) {  // ends at the end of the bytes, if not earlier
    array_count& array = share.arrays.emplace_back();
    array.name = from.get_text();
    array.elements = from.get<std::uint64_t>();
  }
  return share;
}

void write_folders(field_writer& to, const manifest& of) {
  if (of.folders.empty()) return;
  to.put(std::uint64_t{of.folders.size()});
  for (const share_folder& f : of.folders) {
    to.put(f.id);
    to.put(f.rank);
    to.put_text(f.host);
    to.put_text(f.path);
  }
  for (const auto& share : of.holders) {
    to.put(std::uint64_t{share.size()});
    for (const std::uint32_t folder : share) to.put(folder);
  }
}

void read_folders(field_reader& from, manifest& of, const std::string& name) {
  if (from.remaining() == 0) return;
  const auto folders = from.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < folders; ++i) {  // ends at the end of the bytes, if not earlier
    share_folder& f = of.folders.emplace_back();
    f.id = from.get<std::uint64_t>();
    f.rank = from.get<std::uint32_t>();
    f.host = from.get_text();
    f.path = from.get_text();
  }
  for (std::size_t share = 0; share < of.shares.size(); ++share) {
    auto& holders = of.holders.emplace_back();
    const auto count = from.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i) {
      holders.push_back(from.get<std::uint32_t>());
      if (holders.back() >= of.folders.size())
        refuse(checkpoint_fault::damaged, name, "a share is in a folder that it does not name");
    }
  }
}

}  // namespace

bool manifest::is_in(std::uint64_t folder, std::uint32_t share) const {
  if (folders.empty()) return true;
  return share < holders.size() && std::ranges::any_of(holders[share], [&](std::uint32_t f) {
           return folders[f].id == folder;
         });
}

std::string share_name(std::uint32_t rank) { return fmt::format("share.{:06}", rank); }

void write_manifest(byte_sink& sink, const manifest& of) {
  field_writer body;
  body.put(of.number);
  body.put(of.stamp);
  body.put(of.step);
  body.put(of.time_ns);
  body.put_text(of.run);
  body.put(std::uint64_t{of.shares.size()});
  for (const share_summary& share : of.shares) {
    body.put_text(share_name(share.rank));
    body.put(share.size);
    body.put(share.checksum);
    body.put(std::uint64_t{share.arrays.size()});
    for (const array_count& array : share.arrays) {
      body.put_text(array.name);
      body.put(array.elements);
    }
  }
  write_folders(body, of);
  field_writer fields;
  fields.put(std::uint64_t{body.bytes().size()});
  fields.put(checksum_of(body.bytes()));
  sink.write(seal(manifest_magic, fields));
  sink.write(body.bytes());
}

manifest read_manifest(byte_source& source) {
  const std::string& name = source.name();
  if (source.size() < sealed_size)
    refuse(checkpoint_fault::torn, name, fmt::format("it has {} bytes only", source.size()));
  sealed_block header;
  source.read(0, header);
  field_reader fields = open_seal(manifest_magic, header, name);
  const auto size = fields.get<std::uint64_t>();
  if (size != source.size() - sealed_size)
    refuse(checkpoint_fault::torn, name, "its length is not the one in its header");
  std::vector<std::byte> body(static_cast<std::size_t>(size));
  source.read(sealed_size, body);
  if (checksum_of(body) != fields.get<std::uint64_t>())
    refuse(checkpoint_fault::damaged, name, "the checksum of its contents is wrong");
  field_reader from(body, name);
  manifest of;
  of.number = from.get<std::uint64_t>();
  of.stamp = from.get<std::uint64_t>();
  of.step = from.get<std::uint64_t>();
  of.time_ns = from.get<std::int64_t>();
  of.run = from.get_text();
  const auto shares = from.get<std::uint64_t>();
  for (std::uint64_t rank = 0; rank < shares; ++rank)
    of.shares.push_back(read_share(from, std::uint32_t(rank), name));
  read_folders(from, of, name);
  if (of.shares.empty() || from.remaining() != 0)
    refuse(checkpoint_fault::damaged, name, "its contents do not fit its length");
  return of;
}

}  // namespace starling::detail
