// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/file_system.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "objects/checkpoint/checkpoint_error.hpp"

namespace starling::detail {
namespace {

const char* remedy_of(int code) {
  switch (code) {
    case ENOSPC:
      return "free space there, keep fewer checkpoints, or name another folder";
    case EDQUOT:
      return "free space within the quota, or name a folder of another file system";
    case EFBIG:
      return "raise the limit of file sizes (`ulimit -f`), or use more ranks";
    case EROFS:
      return "name a folder of a writable file system";
    case EACCES:
    case EPERM:
      return "change the permissions of the folder, or name another one";
    case ENOTDIR:
    case EEXIST:
      return "a part of the path is a file: name another folder";
    case ENOENT:
      return "the folder was removed, or never existed: check the path";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (`ulimit -n`)";
    case ENAMETOOLONG:
      return "name a folder with a shorter path";
    case EIO:
      return "the storage reports a fault: check the disk, or name another folder";
    default:
      return "name another folder";
  }
}

}  // namespace

void throw_file_failure(const char* operation, const std::string& path, int code) {
  throw checkpoint_error(checkpoint_fault::io,
                         fmt::format("checkpoint: cannot {} '{}': {}; {}", operation, path,
                                     std::strerror(code), remedy_of(code)),
                         code);
}

void refuse(checkpoint_fault fault, const std::string& path, const std::string& why) {
  throw checkpoint_error(fault, fmt::format("checkpoint file '{}' refused: {}", path, why));
}

int file_system::create(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

int file_system::open_existing(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat about {};
  if (descriptor < 0 ||
      (::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && about.st_nlink == 1))
    return descriptor;
  ::close(descriptor);
  errno = EINVAL;
  return -1;
}

int file_system::resize(int descriptor, std::uint64_t size) {
  return ::ftruncate(descriptor, off_t(size));
}

bool file_system::is_in_memory(const std::string& folder) {
  struct statfs about {};
  return ::statfs(folder.c_str(), &about) == 0 && about.f_type == TMPFS_MAGIC;
}

ssize_t file_system::write(int descriptor, std::span<const std::byte> bytes) {
  // Linux writes at most 2 GiB less one page at once.
  return ::write(descriptor, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
}

int file_system::sync(int descriptor) { return ::fsync(descriptor); }
int file_system::close(int descriptor) { return ::close(descriptor); }
int file_system::rename(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str());
}
int file_system::make_folder(const std::string& path) { return ::mkdir(path.c_str(), 0777); }
int file_system::remove_file(const std::string& path) { return ::unlink(path.c_str()); }
int file_system::remove_folder(const std::string& path) { return ::rmdir(path.c_str()); }

file_system& system_files() {
  static file_system files;
  return files;
}

void sync_folder(file_system& files, const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw_file_failure("open the folder", path, errno);
  const int code = files.sync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (code != 0) throw_file_failure("synchronize the folder", path, code);
}

}  // namespace starling::detail
