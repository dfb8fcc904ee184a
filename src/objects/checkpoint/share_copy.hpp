// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "objects/checkpoint/checkpoint_folder.hpp"

namespace starling::detail {

/// Writes the copy of another rank's share, which arrives in pieces, into this rank's folder: the
/// same file. One thread at a time. After an error every further call throws it again.
class share_copy {
 public:
  share_copy(std::string folder, std::uint64_t number, std::uint32_t rank,
             file_system& files = system_files());
  share_copy(const share_copy&) = delete;
  share_copy& operator=(const share_copy&) = delete;
  /// Removes the file unless the copy was finished.
  ~share_copy();

  /// Takes the bytes at `offset` of the share. Pieces may come in another order; one is kept until
  /// those before it have come. @throws checkpoint_error
  void append(std::uint64_t offset, owned_bytes piece);
  /// Returns when the copy is on disk under its name, and is the share that `expected` describes.
  /// @throws checkpoint_error, also when pieces are missing
  void finish(const share_summary& expected);

 private:
  template <class F>
  void call(F f);

  checkpoint_folder m_folder;
  file_system& m_files;
  const std::uint64_t m_number;
  const std::uint32_t m_rank;
  const std::string m_path;
  std::unique_ptr<file_sink> m_sink;
  std::uint64_t m_written = 0;
  std::map<std::uint64_t, owned_bytes> m_waiting;
  std::exception_ptr m_failed;
  bool m_is_finished = false;
};

}  // namespace starling::detail
