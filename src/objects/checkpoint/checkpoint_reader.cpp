// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/checkpoint_reader.hpp"

#include <memory>

#include <fmt/format.h>

#include "objects/checkpoint/checkpoint_folder.hpp"

namespace starling::detail {

void require_size(const byte_source& source, std::uint64_t size) {
  if (source.size() != size)
    refuse(checkpoint_fault::torn, source.name(),
           fmt::format("it has {} bytes instead of {}", source.size(), size));
}

void require_share(const share_reader& reader, const manifest& of, std::uint32_t rank) {
  const std::string& path = reader.name();
  const share_identity expected{of.number, of.stamp, rank, std::uint32_t(of.shares.size())};
  if (reader.identity() != expected)
    refuse(checkpoint_fault::mismatch, path,
           fmt::format("it is the share of rank {} of {} of another checkpoint (number {})",
                       reader.identity().rank, reader.identity().ranks, reader.identity().number));
  if (reader.summary() != of.shares[rank])
    refuse(checkpoint_fault::mismatch, path, "the manifest has another size, checksum or count");
}

checkpoint_reader::checkpoint_reader(const std::string& path, std::uint64_t number)
    : m_folder(path + "/" + checkpoint_name(number)) {
  file_source source(m_folder + "/" + manifest_name);
  m_manifest = read_manifest(source);
  if (m_manifest.number != number)
    refuse(checkpoint_fault::mismatch, source.name(),
           fmt::format("it is of the checkpoint {}", m_manifest.number));
}

void checkpoint_reader::check(checks depth) const {
  for (const share_summary& share : m_manifest.shares) {
    if (depth == checks::sizes) {
      require_size(file_source(m_folder + "/" + share_name(share.rank)), share.size);
      continue;
    }
    share_reader reader = open_share(share.rank);
    if (depth == checks::everything) reader.verify();
  }
}

share_reader checkpoint_reader::open_share(std::uint32_t rank) const {
  const std::string path = m_folder + "/" + share_name(rank);
  if (rank >= m_manifest.shares.size())
    throw usage_error(fmt::format("'{}' is no share of this checkpoint", path));
  share_reader reader(std::make_unique<file_source>(path));
  require_share(reader, m_manifest, rank);
  return reader;
}

found_checkpoint open_newest(const std::string& path, checks depth) {
  found_checkpoint found;
  const auto numbers = checkpoint_numbers(path);
  for (auto n = numbers.rbegin(); n != numbers.rend(); ++n) {
    try {
      checkpoint_reader reader(path, *n);
      reader.check(depth);
      found.reader.emplace(std::move(reader));
      break;
    } catch (const checkpoint_error& e) {
      found.refused.push_back({*n, e.fault(), e.what()});
    }
  }
  return found;
}

}  // namespace starling::detail
