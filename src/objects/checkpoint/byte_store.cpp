// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/byte_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "objects/checkpoint/checkpoint_error.hpp"

namespace starling::detail {
namespace {

constexpr std::size_t most_gathered = piece_size;  // a whole piece is written from its place

}  // namespace

void tee_sink::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    m_piece.reserve(piece_size);
    const auto part = bytes.first(std::min(bytes.size(), piece_size - m_piece.size()));
    m_piece.insert(m_piece.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (m_piece.size() == piece_size) give();
  }
}

void tee_sink::give() {
  if (m_piece.empty()) return;
  const auto piece = std::make_shared<const std::vector<std::byte>>(std::exchange(m_piece, {}));
  m_first.write(*piece);
  m_second({*piece, piece});
}

void memory_sink::write(std::span<const std::byte> bytes) {
  m_bytes.insert(m_bytes.end(), bytes.begin(), bytes.end());
}

void memory_source::read(std::uint64_t offset, std::span<std::byte> into) {
  if (offset > m_bytes.size() || into.size() > m_bytes.size() - offset)
    refuse(checkpoint_fault::torn, m_name, "it ends too early");
  if (!into.empty()) std::memcpy(into.data(), m_bytes.data() + offset, into.size());
}

file_sink::file_sink(file_system& files, std::string path, const std::string& spare)
    : m_files(files), m_path(std::move(path)), m_temporary(m_path + ".writing") {
  m_gathered.reserve(most_gathered);
  if (!spare.empty() && m_files.rename(spare, m_temporary) == 0) {
    m_descriptor = m_files.open_existing(m_temporary);
    m_was_spare = m_descriptor >= 0;
    if (!m_was_spare) m_files.remove_file(m_temporary);
  }
  if (!m_was_spare) m_descriptor = m_files.create(m_temporary);
  if (m_descriptor < 0) throw_file_failure("create", m_temporary, errno);
}

file_sink::~file_sink() {
  if (m_descriptor >= 0) m_files.close(m_descriptor);
  if (!m_committed) m_files.remove_file(m_temporary);
}

void file_sink::write(std::span<const std::byte> bytes) {
  if (bytes.size() > most_gathered - m_gathered.size()) {
    write_out(m_gathered);
    m_gathered.clear();
  }
  if (bytes.size() >= most_gathered)
    write_out(bytes);
  else
    m_gathered.insert(m_gathered.end(), bytes.begin(), bytes.end());
}

void file_sink::write_out(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = m_files.write(m_descriptor, bytes);
    if (written > 0) {
      bytes = bytes.subspan(std::size_t(written));
      m_size += std::uint64_t(written);
    } else if (written == 0 || errno != EINTR) {
      throw_file_failure("write", m_temporary, written == 0 ? ENOSPC : errno);
    }
  }
}

void file_sink::commit() {
  write_out(m_gathered);
  m_gathered.clear();
  if (m_was_spare && m_files.resize(m_descriptor, m_size) != 0)
    throw_file_failure("shorten", m_temporary, errno);
  if (m_files.sync(m_descriptor) != 0) throw_file_failure("synchronize", m_temporary, errno);
  // Network file systems report late errors of writes here. The descriptor is closed in any case.
  if (m_files.close(std::exchange(m_descriptor, -1)) != 0)
    throw_file_failure("close", m_temporary, errno);
  if (m_files.rename(m_temporary, m_path) != 0) throw_file_failure("rename", m_temporary, errno);
  m_committed = true;
  sync_folder(m_files, std::filesystem::path(m_path).parent_path());
}

file_source::file_source(std::string path) : m_path(std::move(path)) {
  // Not blocking: a FIFO with the name of a share must not stop a restart.
  m_descriptor = ::open(m_path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (m_descriptor < 0 && errno == ENOENT)
    refuse(checkpoint_fault::torn, m_path, "the file is missing");
  if (m_descriptor < 0) throw_file_failure("open", m_path, errno);
  struct stat about {};
  if (::fstat(m_descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    ::close(m_descriptor);
    refuse(checkpoint_fault::foreign, m_path, "it is no regular file");
  }
  m_size = std::uint64_t(about.st_size);
  // States are mostly read in the order of the file. A hint only: its failure changes no result.
  static_cast<void>(::posix_fadvise(m_descriptor, 0, 0, POSIX_FADV_SEQUENTIAL));
}

file_source::~file_source() { ::close(m_descriptor); }

void file_source::read(std::uint64_t offset, std::span<std::byte> into) {
  if (offset > m_size || into.size() > m_size - offset)
    refuse(checkpoint_fault::torn, m_path, "it ends too early");
  while (!into.empty()) {
    const ssize_t got = ::pread(m_descriptor, into.data(), into.size(), off_t(offset));
    if (got > 0) {
      into = into.subspan(std::size_t(got));
      offset += std::uint64_t(got);
    } else if (got == 0) {
      refuse(checkpoint_fault::torn, m_path, "it was shortened while it was read");
    } else if (errno != EINTR) {
      throw_file_failure("read", m_path, errno);
    }
  }
}

}  // namespace starling::detail
