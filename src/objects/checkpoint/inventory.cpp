// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/inventory.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "objects/checkpoint/checkpoint_folder.hpp"
#include "objects/checkpoint/checkpoint_reader.hpp"
#include "objects/checkpoint/folder_names.hpp"

namespace starling::detail {
namespace {

/// Looks for the shares of a complete checkpoint.
void find_shares(held_checkpoint& to, const manifest& of, const std::string& folder,
                 std::uint64_t id) {
  for (const share_summary& share : of.shares) {
    const std::string path =
        folder + "/" + checkpoint_name(of.number) + "/" + share_name(share.rank);
    std::error_code unknown;
    if (!of.is_in(id, share.rank) && !std::filesystem::exists(path, unknown)) continue;
    try {
      const file_source source(path);
      require_size(source, share.size);
      to.held.push_back(share.rank);
    } catch (const checkpoint_error& e) {
      to.missing.push_back({share.rank, e.fault(), e.what()});
    }
  }
}

held_checkpoint look_at(const std::string& folder, std::uint64_t number, std::uint64_t id) {
  held_checkpoint found;
  found.number = number;
  try {
    const checkpoint_reader reader(folder, number);
    const manifest& of = reader.contents();
    found.is_complete = true;
    found.stamp = of.stamp;
    found.time_ns = of.time_ns;
    found.shares = std::uint32_t(of.shares.size());
    find_shares(found, of, folder, id);
  } catch (const checkpoint_error& e) {
    found.refused_manifest = {0, e.fault(), e.what()};
  }
  return found;
}

/// Returns the candidate to which a complete checkpoint of a folder belongs.
candidate& candidate_for(std::vector<candidate>& all, const held_checkpoint& of) {
  const auto found = std::ranges::find_if(all, [&](const candidate& c) {
    return c.number == of.number && c.stamp == of.stamp && c.holders.size() == of.shares &&
           !c.manifests.empty();
  });
  if (found != all.end()) return *found;
  candidate& made = all.emplace_back();
  made.number = of.number;
  made.stamp = of.stamp;
  made.time_ns = of.time_ns;
  made.holders.resize(of.shares);
  return made;
}

void add_without_manifest(std::vector<candidate>& all, const held_checkpoint& of) {
  const auto same = [&](const candidate& c) { return c.number == of.number; };
  if (std::ranges::any_of(all, same)) return;
  candidate& made = all.emplace_back();
  made.number = of.number;
  made.refused.push_back(of.refused_manifest);
}

/// Notes which shares no folder has.
void find_missing(candidate& c, std::span<const inventory> folders) {
  for (std::uint32_t s = 0; s < c.holders.size(); ++s) {
    if (!c.holders[s].empty()) continue;
    const std::size_t before = c.refused.size();
    for (const inventory& folder : folders)
      for (const held_checkpoint& held : folder)
        if (held.is_complete && held.number == c.number && held.stamp == c.stamp)
          std::ranges::copy_if(held.missing, std::back_inserter(c.refused),
                               [s](const refused_file& f) { return f.share == s; });
    if (c.refused.size() == before) c.refused.push_back({s, checkpoint_fault::torn, ""});
  }
}

}  // namespace

inventory inventory_of(const std::string& folder) {
  inventory all;
  const std::uint64_t id = folder_id(folder);
  for (const std::uint64_t n : checkpoint_numbers(folder)) all.push_back(look_at(folder, n, id));
  return all;
}

std::vector<candidate> candidates_of(std::span<const inventory> folders) {
  std::vector<candidate> all;
  for (std::uint32_t f = 0; f < folders.size(); ++f)
    for (const held_checkpoint& held : folders[f]) {
      if (!held.is_complete) continue;
      candidate& to = candidate_for(all, held);
      to.manifests.push_back(f);
      for (const std::uint32_t s : held.held) to.holders.at(s).push_back(f);
    }
  for (candidate& c : all) find_missing(c, folders);
  for (const inventory& folder : folders)
    for (const held_checkpoint& held : folder)
      if (!held.is_complete) add_without_manifest(all, held);
  std::ranges::sort(all, [](const candidate& a, const candidate& b) {
    return std::tuple(a.number, a.time_ns, a.stamp) > std::tuple(b.number, b.time_ns, b.stamp);
  });
  return all;
}

std::optional<checkpoint_error> missing_in(std::span<const inventory> folders, std::uint64_t number,
                                           std::uint64_t stamp) {
  for (const inventory& folder : folders)
    for (const held_checkpoint& held : folder) {
      const bool is_it = held.is_complete && held.number == number && held.stamp == stamp;
      if (!is_it || held.missing.empty()) continue;
      const refused_file& first = held.missing.front();
      return checkpoint_error(
          first.fault, fmt::format("{}; if another folder has it, the two folders have the same "
                                   "file '{}', as a copied folder has: remove it from one of them",
                                   first.reason, folder_id_name));
    }
  return {};
}

std::string describe_missing(const candidate& which, const manifest& of) {
  std::string text;
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  for (const refused_file& f : which.refused) {
    if (!f.reason.empty()) {
      add(f.reason);
      continue;
    }
    std::string where;
    for (const std::uint32_t h :
         f.share < of.holders.size() ? of.holders[f.share] : std::vector<std::uint32_t>()) {
      const share_folder& folder = of.folders[h];
      where += fmt::format("{}'{}' (rank {} on {})", where.empty() ? "" : " nor in ", folder.path,
                           folder.rank, folder.host);
    }
    add(share_name(f.share) +
        " is gone: " + (where.empty() ? "no folder has it" : "it is not in " + where));
  }
  return text;
}

retention retention_of(std::span<const inventory> folders, std::size_t count) {
  std::vector<std::uint64_t> numbers;
  for (const candidate& c : candidates_of(folders))
    if (c.is_usable() && (numbers.empty() || numbers.back() != c.number))
      numbers.push_back(c.number);
  const std::size_t kept = std::max<std::size_t>(count, 1);
  retention rule;
  if (!numbers.empty()) rule.newest = numbers.front();
  if (numbers.size() >= kept) rule.oldest = numbers[kept - 1];
  return rule;
}

std::uint64_t largest_number(std::span<const inventory> folders) {
  std::uint64_t largest = 0;
  for (const inventory& folder : folders)
    if (!folder.empty()) largest = std::max(largest, folder.back().number);
  return largest;
}

}  // namespace starling::detail
