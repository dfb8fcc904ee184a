// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/share_transfer.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <starling/core/runtime.hpp>
#include <starling/objects/ranks.hpp>

#include "objects/checkpoint/low_priority.hpp"

namespace starling::detail {
namespace {

/// The bytes of a file of another rank besides its states.
struct share_ends {
  std::uint64_t size = 0;
  std::uint64_t index_begin = 0;
  file_piece header;
  file_piece rest;  // index and footer
  template <class Archive>
  void serialize(Archive& ar) {
    ar(size, index_begin, header, rest);
  }
};

file_piece read_range(byte_source& from, std::uint64_t offset, std::uint64_t size) {
  std::vector<std::byte> bytes(std::size_t{size});
  from.read(offset, bytes);
  return file_piece(std::move(bytes));
}

/// Opens a share in a folder of this rank.
share_reader open_in(const std::string& path, const share_address& at) {
  const checkpoint_reader reader(path, at.number);
  if (reader.contents().stamp != at.stamp)
    refuse(checkpoint_fault::mismatch, reader.folder(), "it is another checkpoint now");
  return reader.open_share(at.share);
}

std::string file_of(const std::string& path, const share_address& at) {
  return path + "/" + checkpoint_name(at.number) + "/" + share_name(at.share);
}

std::tuple<std::string, std::uint64_t, std::uint32_t> key_of(const share_address& at) {
  return {at.pattern, at.number, at.share};
}

// --- called on the partner

task<> append_copy(share_address at, std::uint64_t offset, file_piece bytes) {
  rank_folders& mine = folders_here();
  auto appended = mine.call([&mine, at = std::move(at), offset, bytes = std::move(bytes)] {
    lower_priority();
    const auto made =
        mine.copies.try_emplace(key_of(at), mine.own_path(at.pattern), at.number, at.share);
    made.first->second.append(offset, {bytes.elements(), bytes.owner()});
  });
  co_await std::move(appended);
}

task<> finish_copy(share_address at, share_summary of) {
  rank_folders& mine = folders_here();
  auto finished = mine.call([&mine, at = std::move(at), of = std::move(of)] {
    const auto found = mine.copies.find(key_of(at));
    if (found == mine.copies.end())
      refuse(checkpoint_fault::torn, file_of(mine.own_path(at.pattern), at), "no piece has come");
    found->second.finish(of);
    mine.copies.erase(found);
  });
  co_await std::move(finished);
}

// --- called on the lead of a folder

task<share_ends> read_ends(share_address at) {
  rank_folders& mine = folders_here();
  auto ends = mine.call([path = mine.path_of(at.pattern, at.folder), at] {
    const share_reader reader = open_in(path, at);
    file_source file(file_of(path, at));
    share_ends of{file.size(), reader.index_begin(), {}, {}};
    of.header = read_range(file, 0, sealed_size);
    of.rest = read_range(file, of.index_begin, of.size - of.index_begin);
    return of;
  });
  co_return co_await std::move(ends);
}

/// The caller checks the bytes, by the checksums in the index.
task<file_piece> read_piece(share_address at, std::uint64_t offset, std::uint64_t size) {
  rank_folders& mine = folders_here();
  auto bytes = mine.call([path = mine.path_of(at.pattern, at.folder), at, offset, size] {
    file_source file(file_of(path, at));
    return read_range(file, offset, std::min(size, file.size()));
  });
  co_return co_await std::move(bytes);
}

/// Awaits all calls, also after an error, and throws the first one.
task<> await_all(std::deque<future<>> calls) {
  std::exception_ptr failed;
  for (future<>& each : calls) {
    try {
      co_await std::move(each);
    } catch (...) {
      if (!failed) failed = std::current_exception();
    }
  }
  if (failed) std::rethrow_exception(failed);
}

/// Sends pieces until an empty one comes. `next()` returns the future of a piece.
template <class Next>
task<> send_pieces(Next next, share_address share, int partner) {
  std::deque<future<>> under_way;
  std::exception_ptr failed;
  try {
    for (std::uint64_t at = 0;;) {
      if (under_way.size() == most_pieces) {
        future<> first = std::move(under_way.front());
        under_way.pop_front();
        co_await std::move(first);
      }
      future<file_piece> coming = next();
      file_piece piece = co_await std::move(coming);
      if (piece.empty()) break;
      const std::uint64_t size = piece.size();
      under_way.push_back(async<&append_copy>(rank(partner), share, at, std::move(piece)));
      at += size;
    }
  } catch (...) {
    failed = std::current_exception();
  }
  // No piece may arrive after the end: it would begin a new file.
  try {
    co_await await_all(std::move(under_way));
  } catch (...) {
    if (!failed) failed = std::current_exception();
  }
  if (failed) std::rethrow_exception(failed);
}

checkpoint_error of_copy(const checkpoint_error& e, const share_address& share, int partner) {
  return checkpoint_error(e.fault(), fmt::format("the copy of rank {}'s share on rank {}: {}",
                                                 share.share, partner, e.what()));
}

}  // namespace

task<share_summary> send_copy(std::shared_ptr<piece_queue> pieces, future<share_summary> writing,
                              share_address share, int partner) {
  std::exception_ptr failed;
  try {
    co_await send_pieces([&pieces] { return pieces->next(); }, share, partner);
  } catch (const checkpoint_error& e) {
    failed = std::make_exception_ptr(of_copy(e, share, partner));
  } catch (...) {
    failed = std::current_exception();
  }
  pieces->close();  // the thread does not wait for what has failed
  share_summary written = co_await std::move(writing);
  if (failed) std::rethrow_exception(failed);
  try {
    co_await async<&finish_copy>(rank(partner), share, written);
  } catch (const checkpoint_error& e) {
    throw of_copy(e, share, partner);
  }
  co_return written;
}

task<> send_stored_copy(share_address share, share_summary of, std::int32_t to) {
  rank_folders& mine = folders_here();
  const std::string path = file_of(mine.path_of(share.pattern, share.folder), share);
  try {
    const auto file = std::make_shared<file_source>(path);
    // One piece a call: other ranks wait for the thread that reads, so it must not wait for a rank.
    auto next = [&mine, file, at = std::uint64_t{0}, size = of.size]() mutable {
      const std::uint64_t count = std::min<std::uint64_t>(piece_size, size - at);
      const std::uint64_t begin = std::exchange(at, at + count);
      return mine.call([file, begin, count] { return read_range(*file, begin, count); });
    };
    co_await send_pieces(std::move(next), share, to);
    co_await async<&finish_copy>(rank(to), share, of);
  } catch (const checkpoint_error& e) {
    throw of_copy(e, share, to);
  }
}

void fetched_source::read(std::uint64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    auto at = m_pieces.upper_bound(offset);
    if (at == m_pieces.begin()) refuse(checkpoint_fault::torn, m_name, "bytes were not fetched");
    --at;
    const std::uint64_t skip = offset - at->first;
    if (skip >= at->second.size()) refuse(checkpoint_fault::torn, m_name, "bytes were not fetched");
    const std::size_t count = std::min<std::size_t>(into.size(), at->second.size() - skip);
    std::memcpy(into.data(), at->second.data() + skip, count);
    into = into.subspan(count);
    offset += count;
  }
}

void fetched_source::add(std::uint64_t offset, shared_buffer<std::byte> bytes) {
  if (!bytes.empty()) m_pieces.insert_or_assign(offset, std::move(bytes));
}

void fetched_source::drop(std::uint64_t begin, std::uint64_t end) {
  m_pieces.erase(m_pieces.lower_bound(begin), m_pieces.lower_bound(end));
}

task<> source_share::fetch(std::uint64_t begin, std::uint64_t end) {
  if (m_fetched == nullptr || begin == end) co_return;
  m_fetched->drop(m_begin, m_end);
  std::tie(m_begin, m_end) = m_reader->blocks_of(begin, end);
  std::deque<std::pair<std::uint64_t, future<file_piece>>> under_way;
  for (std::uint64_t at = m_begin; at < m_end || !under_way.empty();) {
    if (at < m_end && under_way.size() < most_pieces) {
      const std::uint64_t size = std::min(piece_size, m_end - at);
      under_way.emplace_back(at, async<&read_piece>(rank(m_rank), m_at, at, size));
      at += size;
      continue;
    }
    auto first = std::move(under_way.front());
    under_way.pop_front();
    file_piece bytes = co_await std::move(first.second);
    m_fetched->add(first.first, std::move(bytes));
  }
}

share_reader source_shares::open_file(const share_address& at, const std::string& path) {
  auto found = m_manifests.find(at.folder);
  if (found == m_manifests.end()) {
    found = m_manifests.emplace(at.folder, checkpoint_reader(path, at.number)).first;
    if (found->second.contents().stamp != at.stamp)
      refuse(checkpoint_fault::mismatch, found->second.folder(), "it is another checkpoint now");
  }
  return found->second.open_share(at.share);
}

task<source_share> source_shares::open(background_writer& by, std::uint32_t share) {
  source_share opened;
  opened.m_at = {m_place.pattern, m_place.number, m_place.stamp, m_place.folders.at(share), share};
  opened.m_rank = m_place.leads.at(opened.m_at.folder);
  const share_address& at = opened.m_at;
  const std::string path = folders_here().path_of(at.pattern, at.folder);
  if (!path.empty()) {
    auto opening =
        in_background(by, space_here().owner(), [this, &at, &path] { return open_file(at, path); });
    share_reader reader = co_await std::move(opening);
    opened.m_reader = std::make_unique<share_reader>(std::move(reader));
    co_return opened;
  }
  share_ends ends = co_await async<&read_ends>(rank(opened.m_rank), at);
  const std::string name =
      fmt::format("{}/{} of rank {}", checkpoint_name(at.number), share_name(share), opened.m_rank);
  auto source = std::make_unique<fetched_source>(ends.size, name);
  source->add(0, std::move(ends.header));
  source->add(ends.index_begin, std::move(ends.rest));
  opened.m_fetched = source.get();
  opened.m_reader = std::make_unique<share_reader>(std::move(source));
  const share_identity& found = opened.m_reader->identity();
  if (found != share_identity{at.number, at.stamp, share, size()})
    refuse(checkpoint_fault::mismatch, name, "it is of another checkpoint");
  co_return opened;
}

}  // namespace starling::detail
