// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/folder_names.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "objects/checkpoint/byte_store.hpp"
#include "objects/checkpoint/checkpoint_error.hpp"
#include "objects/checkpoint/checkpoint_folder.hpp"
#include "objects/checkpoint/fields.hpp"

namespace starling::detail {
namespace {

constexpr std::string_view rank_word = "{rank}";
constexpr std::string_view host_word = "{host}";
constexpr std::size_t id_digits = 16;

bool has_placeholder(std::string_view text) {
  return text.find(rank_word) != text.npos || text.find(host_word) != text.npos;
}

void replace_all(std::string& text, std::string_view word, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += by.size())
    text.replace(at, word.size(), by);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether a part of a path is what `pattern` gives for some rank and host.
bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  const bool is_rank = pattern.starts_with(rank_word);
  if (!is_rank && !pattern.starts_with(host_word))
    return !name.empty() && name[0] == pattern[0] && matches(pattern.substr(1), name.substr(1));
  const std::string_view rest = pattern.substr(is_rank ? rank_word.size() : host_word.size());
  for (std::size_t n = 1; n <= name.size() && (!is_rank || is_digit(name[n - 1])); ++n)
    if (matches(rest, name.substr(n))) return true;
  return false;
}

/// Returns the folders in `parent` whose names match.
std::vector<std::string> matching_in(const std::string& parent, std::string_view pattern) {
  std::vector<std::string> found;
  std::error_code failed;
  std::filesystem::directory_iterator entry(parent.empty() ? "." : parent, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().filename();
    std::error_code unknown;
    if (matches(pattern, name) && entry->is_directory(unknown))
      found.push_back(std::filesystem::path(parent) / name);
  }
  return found;
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "?";
}

std::string folder_path(std::string_view pattern, int rank, std::string_view host) {
  std::string path(pattern);
  replace_all(path, rank_word, std::to_string(rank));
  replace_all(path, host_word, host);
  return path;
}

std::vector<std::string> matching_folders(const std::string& pattern) {
  if (!has_placeholder(pattern)) return {};
  std::vector<std::string> found{""};
  for (const std::filesystem::path& part : std::filesystem::path(pattern)) {
    std::vector<std::string> next;
    for (const std::string& parent : found) {
      if (!has_placeholder(part.native())) {
        next.push_back(std::filesystem::path(parent) / part);
        continue;
      }
      const auto here = matching_in(parent, part.native());
      next.insert(next.end(), here.begin(), here.end());
    }
    found = std::move(next);
  }
  std::error_code unknown;
  std::erase_if(found,
                [&](const std::string& p) { return !std::filesystem::is_directory(p, unknown); });
  std::ranges::sort(found);
  return found;
}

std::uint64_t folder_id(const std::string& folder) {
  const std::string path = folder + "/" + folder_id_name;
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) {
    if (failed) throw_file_failure("look for", path, failed.value());
    return 0;
  }
  file_source source(path);
  char digits[id_digits] = {};
  if (source.size() >= id_digits) source.read(0, std::as_writable_bytes(std::span(digits)));
  std::uint64_t id = 0;
  const auto read = std::from_chars(digits, digits + id_digits, id, 16);
  if (read.ec != std::errc() || read.ptr != digits + id_digits || id == 0)
    refuse(checkpoint_fault::damaged, path, "it has no id; remove it");
  return id;
}

std::uint64_t make_folder_id(const std::string& folder) {
  if (const std::uint64_t known = folder_id(folder)) return known;
  const std::string path = folder + "/" + folder_id_name;
  const std::string own = fmt::format("{}.{:016x}", path, random_stamp());
  {
    file_sink sink(system_files(), own);
    sink.write(bytes_of(fmt::format("{:016x}\n", random_stamp() | 1)));
    sink.commit();
  }
  // Unlike a renaming, a link does not replace the id of another rank. Some file systems have none.
  int code = ::link(own.c_str(), path.c_str()) == 0 ? 0 : errno;
  if (code == EPERM || code == EOPNOTSUPP || code == ENOSYS)
    code = system_files().rename(own, path) == 0 ? 0 : errno;
  static_cast<void>(::unlink(own.c_str()));
  if (code != 0 && code != EEXIST) throw_file_failure("create", path, code);
  sync_folder(system_files(), folder);
  return folder_id(folder);
}

}  // namespace starling::detail
