// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/checkpoint_folder.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <random>
#include <string_view>

#include <fmt/format.h>

#include "objects/checkpoint/checkpoint_reader.hpp"
#include "objects/checkpoint/folder_names.hpp"

namespace starling::detail {
namespace {

constexpr std::string_view folder_prefix = "checkpoint.";
constexpr std::string_view share_prefix = "share.";
constexpr std::string_view spare_prefix = "spare.";
constexpr std::string_view temporary_suffix = ".writing";

std::string spare_name(std::uint32_t rank) { return fmt::format("{}{:06}", spare_prefix, rank); }

/// Returns the number in `name` if it is the one that `format` gives for that number.
template <class Number, class Format>
std::optional<Number> number_in(std::string_view name, std::string_view prefix, Format format) {
  if (!name.starts_with(prefix)) return {};
  Number n{};
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + prefix.size(), end, n);
  if (read.ec != std::errc() || read.ptr != end || format(n) != name) return {};
  return n;
}

bool is_temporary(std::string_view name) { return name.ends_with(temporary_suffix); }

bool is_of_this_format(std::string_view name) {
  if (is_temporary(name)) name.remove_suffix(temporary_suffix.size());
  return name == manifest_name || number_in<std::uint32_t>(name, share_prefix, share_name);
}

/// Returns the names in a folder; none if it does not exist.
std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  std::error_code failed;
  std::filesystem::directory_iterator entry(path, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed))
    names.push_back(entry->path().filename());
  if (failed && failed != std::errc::no_such_file_or_directory)
    throw_file_failure("list", path, failed.value());
  return names;
}

bool exists(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

bool has_manifest(const std::string& folder) {
  std::error_code failed;
  const bool has = std::filesystem::exists(folder + "/" + manifest_name, failed);
  if (failed) throw_file_failure("look for the manifest in", folder, failed.value());
  return has;
}

/// Whether a checkpoint is of this version and format, as far as can be seen.
bool is_removable(const std::string& path, std::uint64_t number) {
  try {
    static_cast<void>(checkpoint_reader(path, number));
    return true;
  } catch (const checkpoint_error& e) {
    return e.fault() == checkpoint_fault::torn || e.fault() == checkpoint_fault::damaged ||
           e.fault() == checkpoint_fault::mismatch;
  }
}

void remove_file(file_system& files, const std::string& path) {
  if (files.remove_file(path) != 0 && errno != ENOENT) throw_file_failure("remove", path, errno);
}

}  // namespace

std::string checkpoint_name(std::uint64_t number) {
  return fmt::format("{}{:06}", folder_prefix, number);
}

std::vector<std::uint64_t> checkpoint_numbers(const std::string& path) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names_in(path)) {
    const auto n = number_in<std::uint64_t>(name, folder_prefix, checkpoint_name);
    std::error_code failed;
    if (n && std::filesystem::is_directory(path + "/" + name, failed)) numbers.push_back(*n);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::uint64_t random_stamp() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

checkpoint_folder::checkpoint_folder(std::string path, file_system& files)
    : m_path(std::move(path)), m_files(files) {}

std::string checkpoint_folder::folder_of(std::uint64_t number) const {
  return m_path + "/" + checkpoint_name(number);
}

std::uint64_t checkpoint_folder::next_number() const {
  const auto numbers = checkpoint_numbers(m_path);
  return numbers.empty() ? 1 : numbers.back() + 1;
}

void checkpoint_folder::make_folders(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) return;
  const std::string parent = std::filesystem::path(path).parent_path();
  if (!parent.empty() && parent != path) make_folders(parent);
  // Another rank may have made it in the meantime.
  if (m_files.make_folder(path) != 0 && !(errno == EEXIST && std::filesystem::is_directory(path)))
    throw_file_failure("make the folder", path, errno);
  sync_folder(m_files, parent.empty() ? "." : parent);
}

share_summary checkpoint_folder::write_share(const share_identity& identity,
                                             const std::function<void(share_writer&)>& fill,
                                             const tee_sink::taker& also) {
  const std::string folder = folder_of(identity.number);
  const std::string path = folder + "/" + share_name(identity.rank);
  make_folders(folder);
  try {
    file_sink sink(m_files, path, spare_of(identity.rank));
    tee_sink both(sink, also);
    share_writer writer(also ? static_cast<byte_sink&>(both) : sink, identity);
    fill(writer);
    share_summary summary = writer.finish();
    both.finish();
    sink.commit();
    return summary;
  } catch (...) {
    m_files.remove_file(path);      // renamed, but its folder is not known to be on disk
    m_files.remove_folder(folder);  // succeeds if no other rank has files there
    throw;
  }
}

void checkpoint_folder::complete(const manifest& contents) {
  try {
    put_manifest(contents);
  } catch (...) {
    try {
      abandon(contents.number);
    } catch (const checkpoint_error&) {
      // The first error is the one that the user can mend.
    }
    throw;
  }
}

void checkpoint_folder::put_manifest(const manifest& contents) {
  file_sink sink(m_files, folder_of(contents.number) + "/" + manifest_name);
  write_manifest(sink, contents);
  sink.commit();
}

void checkpoint_folder::abandon(std::uint64_t number) { remove(number, ""); }

void checkpoint_folder::remove(std::uint64_t number, const std::string& successor) {
  const std::string folder = folder_of(number);
  // First the manifest, durably: after a crash between the steps the rest is an incomplete
  // checkpoint, never a complete one without shares.
  if (has_manifest(folder)) {
    remove_file(m_files, folder + "/" + manifest_name);
    sync_folder(m_files, folder);
  }
  for (const std::string& name : names_in(folder)) {
    const auto share = number_in<std::uint32_t>(name, share_prefix, share_name);
    const bool is_needed = share && !successor.empty() && exists(successor + "/" + name);
    const std::string spare = is_needed ? spare_of(*share) : "";
    if (!spare.empty() && m_files.rename(folder + "/" + name, spare) == 0) continue;
    if (is_of_this_format(name)) remove_file(m_files, folder + "/" + name);
  }
  // Files of the user stay, with the folder.
  if (m_files.remove_folder(folder) != 0 && errno != ENOTEMPTY && errno != EEXIST &&
      errno != ENOENT)
    throw_file_failure("remove the folder", folder, errno);
}

std::string checkpoint_folder::spare_of(std::uint32_t rank) const {
  return m_files.is_in_memory(m_path) ? m_path + "/" + spare_name(rank) : "";
}

void checkpoint_folder::remove_spares() {
  if (!m_files.is_in_memory(m_path)) return;
  for (const std::string& name : names_in(m_path)) {
    const std::string path = m_path + "/" + name;
    std::error_code failed;
    if (number_in<std::uint32_t>(name, spare_prefix, spare_name) &&
        std::filesystem::is_regular_file(std::filesystem::symlink_status(path, failed)))
      remove_file(m_files, path);
  }
}

void checkpoint_folder::remove_older(const retention& rule, bool keeps_spares) {
  for (const std::uint64_t n : checkpoint_numbers(m_path)) {
    if (!has_manifest(folder_of(n))) {
      // Later ones than the newest good one may be in progress.
      if (n < rule.newest) abandon(n);
      continue;
    }
    if (n < rule.oldest && is_removable(m_path, n))
      remove(n, keeps_spares ? folder_of(rule.newest) : "");
  }
}

void checkpoint_folder::remove_if_empty() {
  const auto names = names_in(m_path);
  if (names != std::vector<std::string>{folder_id_name}) return;
  remove_file(m_files, m_path + "/" + folder_id_name);
  static_cast<void>(m_files.remove_folder(m_path));  // another run may use it by now
}

void checkpoint_folder::remove_unfinished() {
  remove_spares();
  for (const std::uint64_t n : checkpoint_numbers(m_path)) {
    const std::string folder = folder_of(n);
    if (!has_manifest(folder)) {
      abandon(n);
      continue;
    }
    for (const std::string& name : names_in(folder))
      if (is_temporary(name) && is_of_this_format(name)) remove_file(m_files, folder + "/" + name);
  }
}

}  // namespace starling::detail
