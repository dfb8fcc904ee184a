// SPDX-License-Identifier: Apache-2.0
#include "common/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "common/output_error.hpp"

namespace apps {

namespace fs = std::filesystem;

namespace {

/// Returns a hidden name beside `target` that no other call in this or another process uses, and
/// that no pattern such as plt* matches.
fs::path name_beside(const fs::path& target, std::string_view suffix) {
  static std::atomic<unsigned> counter{0};  // relaxed: only distinct values are needed
  const auto number = counter.fetch_add(1, std::memory_order_relaxed);
  return target.parent_path() / ("." + target.filename().string() + "." + std::string(suffix) +
                                 "-" + std::to_string(::getpid()) + "-" + std::to_string(number));
}

/// Returns the path without a trailing slash: `dir/` and `dir` are the same target.
fs::path without_trailing_slash(fs::path path) {
  return path.has_filename() ? path : path.parent_path();
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw_system_error(to, "move the written data into place", error.value());
}

/// Forces a file to storage and closes it. Pipes and some devices cannot be synced (EINVAL); they
/// have no content to force to storage.
void sync_and_close(int& descriptor, const fs::path& path) {
  if (::fsync(descriptor) != 0 && errno != EINVAL) throw_system_error(path, "sync");
  if (::close(std::exchange(descriptor, -1)) != 0) throw_system_error(path, "close");
}

/// Makes a rename durable. Errors are ignored: some file systems cannot sync a directory, and the
/// content has been synced already.
void sync_directory_of(const fs::path& path) noexcept {
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const int descriptor = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

namespace {

/// Returns whether `target` can be replaced by renaming: it is a regular file or does not exist.
bool replaceable_file(const fs::path& target) {
  if (fs::is_directory(target)) throw_system_error(target, "write", EISDIR);
  std::error_code error;
  const auto kind = fs::symlink_status(target, error).type();
  return kind == fs::file_type::not_found || kind == fs::file_type::regular;
}

}  // namespace

void write_whole(const fs::path& target, std::string_view text) {
  if (!replaceable_file(target)) {
    output_file file(target);
    file.write(text);
    return file.close();
  }
  staged_output staged(target);
  output_file file(staged.path());
  file.write(text);
  file.close();
  staged.commit();
}

void check_writable(const fs::path& target) {
  if (!replaceable_file(target)) {
    if (::access(target.c_str(), W_OK) != 0) throw_system_error(target, "write");
    return;
  }
  const staged_output staged(target);
  output_file(staged.path()).close();
}

output_file::output_file(fs::path path) : m_path(std::move(path)) {
  m_descriptor = ::open(m_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (m_descriptor < 0) throw_system_error(m_path, "create");
}

output_file::~output_file() {
  if (m_descriptor >= 0) ::close(m_descriptor);
}

void output_file::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(m_descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_system_error(m_path, "write");
    }
    m_position += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void output_file::close() { sync_and_close(m_descriptor, m_path); }

positioned_file::positioned_file(fs::path path) : m_path(std::move(path)) {
  m_descriptor = ::open(m_path.c_str(), O_WRONLY | O_CLOEXEC);
  if (m_descriptor < 0) throw_system_error(m_path, "open for writing");
}

positioned_file::~positioned_file() {
  if (m_descriptor >= 0) ::close(m_descriptor);
}

void positioned_file::resize(std::uint64_t bytes) {
  if (::ftruncate(m_descriptor, static_cast<off_t>(bytes)) != 0)
    throw_system_error(m_path, "write");
}

void positioned_file::write(std::uint64_t position, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written =
        ::pwrite(m_descriptor, bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_system_error(m_path, "write");
    }
    position += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void positioned_file::close() { sync_and_close(m_descriptor, m_path); }

staged_output::staged_output(fs::path target)
    : m_target(without_trailing_slash(std::move(target))),
      m_temporary(name_beside(m_target, "partial")) {
  std::error_code error;
  const auto kind = fs::status(m_target, error).type();
  // Renaming over a device or a socket would delete it.
  const bool replaceable = kind == fs::file_type::not_found || kind == fs::file_type::regular ||
                           kind == fs::file_type::directory;
  if (kind == fs::file_type::none) throw_system_error(m_target, "inspect", error.value());
  if (!replaceable) throw output_error(m_target, "write", "neither a file nor a directory");
}

staged_output::~staged_output() {
  std::error_code ignored;  // a left-over temporary file must not hide the original error
  if (!m_committed) fs::remove_all(m_temporary, ignored);
}

void staged_output::commit() {
  if (fs::is_directory(m_temporary) && fs::exists(m_target)) {
    replace_directory();
  } else {
    rename_or_throw(m_temporary, m_target);
  }
  m_committed = true;
  sync_directory_of(m_target);
}

void staged_output::replace_directory() {
  const fs::path aside = name_beside(m_target, "replaced");
  rename_or_throw(m_target, aside);
  try {
    rename_or_throw(m_temporary, m_target);
  } catch (...) {
    std::error_code ignored;
    fs::rename(aside, m_target, ignored);
    throw;
  }
  std::error_code ignored;  // the new data are in place; a left-over copy of the old does no harm
  fs::remove_all(aside, ignored);
}

}  // namespace apps
