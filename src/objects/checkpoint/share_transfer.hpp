// SPDX-License-Identifier: Apache-2.0
// Shares that travel between ranks, in pieces: copies to the partner rank while a checkpoint is
// written, and states from the rank that has them at a restart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <starling/core/task.hpp>
#include <starling/objects/shared_buffer.hpp>

#include "objects/checkpoint/checkpoint_reader.hpp"
#include "objects/checkpoint/piece_queue.hpp"
#include "objects/checkpoint/rank_folders.hpp"
#include "objects/checkpoint/share_reader.hpp"

namespace starling::detail {

/// Pieces of one share that are under way at a time. As many more may wait in the sender's queue.
inline constexpr std::size_t most_pieces = 4;

/// Sends this rank's share to rank `partner` while a thread writes it, and returns its summary when
/// it is on disk here and there. `pieces`: the bytes, from that thread; `writing`: its result.
/// @throws checkpoint_error
[[nodiscard]] task<share_summary> send_copy(std::shared_ptr<piece_queue> pieces,
                                            future<share_summary> writing, share_address share,
                                            int partner);

/// Sends a share in a folder that this rank leads or has to rank `to`, and returns when it is on
/// disk there. @throws checkpoint_error
task<> send_stored_copy(share_address share, share_summary of, std::int32_t to);

/// A complete checkpoint whose shares are in folders of several ranks.
struct restart_place {
  std::string pattern;
  std::uint64_t number = 0;
  std::uint64_t stamp = 0;
  std::vector<std::uint32_t> folders;  ///< of each share: where it is read; see folder_layout
  std::vector<std::int32_t> leads;     ///< of each folder

  template <class Archive>
  void serialize(Archive& ar) {
    ar(pattern, number, stamp, folders, leads);
  }
};

/// Bytes of another rank's file that have come here.
class fetched_source final : public byte_source {
 public:
  fetched_source(std::uint64_t size, std::string name) : m_size(size), m_name(std::move(name)) {}
  [[nodiscard]] std::uint64_t size() const override { return m_size; }
  [[nodiscard]] const std::string& name() const override { return m_name; }
  /// @throws checkpoint_error also for bytes that have not been added
  void read(std::uint64_t offset, std::span<std::byte> into) override;

  void add(std::uint64_t offset, shared_buffer<std::byte> bytes);
  /// Drops the bytes from `begin` to before `end`, which were added together.
  void drop(std::uint64_t begin, std::uint64_t end);

 private:
  const std::uint64_t m_size;
  const std::string m_name;
  std::map<std::uint64_t, shared_buffer<std::byte>> m_pieces;  // by offset
};

/// A share of a restart: a file of this rank's folders, or of another rank, from which only the
/// chosen states come. One task at a time.
class source_share {
 public:
  [[nodiscard]] share_reader& reader() { return *m_reader; }
  /// Returns when the states at these offsets can be read; the ones of the call before can no
  /// longer. @throws checkpoint_error, operation_cancelled
  [[nodiscard]] task<> fetch(std::uint64_t begin, std::uint64_t end);

 private:
  friend class source_shares;
  share_address m_at;
  int m_rank = -1;                       // which has the file
  fetched_source* m_fetched = nullptr;   // of m_reader; null: the file is here
  std::uint64_t m_begin = 0, m_end = 0;  // the fetched bytes of the file, besides its ends
  std::unique_ptr<share_reader> m_reader;
};

/// Opens the shares of a restart on one rank. One task at a time.
class source_shares {
 public:
  explicit source_shares(restart_place of) : m_place(std::move(of)) {}
  [[nodiscard]] std::uint32_t size() const { return std::uint32_t(m_place.folders.size()); }
  /// Reads the index of a share. `by`: the thread that reads files. @throws checkpoint_error if the
  /// share is refused
  [[nodiscard]] task<source_share> open(background_writer& by, std::uint32_t share);

 private:
  [[nodiscard]] share_reader open_file(const share_address& at, const std::string& path);

  const restart_place m_place;
  std::map<std::uint32_t, checkpoint_reader> m_manifests;  // by folder
};

}  // namespace starling::detail
