// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/folder_store.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <utility>

#include <starling/core/when_all.hpp>

#include "objects/checkpoint/checkpoint_folder.hpp"
#include "objects/checkpoint/fields.hpp"
#include "objects/checkpoint/rank_folders.hpp"

namespace starling::detail {
namespace {

/// Compares the elements in all shares with the sizes of the arrays.
void require_all_elements(const manifest& of, std::span<const stored_array> arrays) {
  for (const stored_array& array : arrays) {
    std::uint64_t elements = 0;
    for (const share_summary& share : of.shares)
      for (const array_count& counted : share.arrays)
        if (counted.name == array.name) elements += counted.elements;
    if (elements != array.elements)
      throw checkpoint_error(checkpoint_fault::damaged,
                             "its shares have " + std::to_string(elements) + " elements of '" +
                                 array.name + "', not " + std::to_string(array.elements));
  }
}

/// Returns the folders that each rank has and leads.
std::vector<folder_duties> duties_of(const folder_layout& layout, const std::string& pattern) {
  std::vector<folder_duties> all;
  for (const std::uint32_t own : layout.of_rank) all.push_back({pattern, own, {}});
  for (std::uint32_t f = 0; f < layout.folders.size(); ++f) {
    const known_folder& of = layout.folders[f];
    all[std::size_t(of.lead)].led.push_back({f, of.path});
  }
  return all;
}

/// Returns the inventories of all folders in the order of the layout. `by_rank`: of the folders
/// that each rank leads, in that order, too.
std::vector<inventory> in_order(const folder_layout& layout,
                                std::vector<std::vector<inventory>> by_rank) {
  std::vector<inventory> all;
  std::vector<std::size_t> next(by_rank.size());
  for (const known_folder& f : layout.folders)
    all.push_back(std::move(by_rank[std::size_t(f.lead)].at(next[std::size_t(f.lead)]++)));
  return all;
}

/// Returns the folders in which a checkpoint has shares but no manifest, or a damaged one.
std::vector<std::uint32_t> folders_without_manifest(std::span<const inventory> all,
                                                    std::uint64_t number) {
  const auto is_lost = [](checkpoint_fault fault) {
    return fault == checkpoint_fault::torn || fault == checkpoint_fault::damaged;
  };
  std::vector<std::uint32_t> found;
  for (std::uint32_t f = 0; f < all.size(); ++f)
    for (const held_checkpoint& held : all[f])
      if (held.number == number && !held.is_complete && is_lost(held.refused_manifest.fault))
        found.push_back(f);
  return found;
}

/// Returns the folder in which a share is checked and read: that of the rank with the same number,
/// which needs most of it if the placement has not changed; else the first one.
std::uint32_t preferred(const folder_layout& layout, std::uint32_t share,
                        const std::vector<std::uint32_t>& holders) {
  if (share < layout.of_rank.size())
    if (std::ranges::find(holders, layout.of_rank[share]) != holders.end())
      return layout.of_rank[share];
  return holders.front();
}

/// Reads the arrays and values, which are in the first share.
task<> read_values(restart_source& of) {
  source_shares shares(of.place);
  background_writer reading;
  source_share first = co_await shares.open(reading, 0);
  const auto arrays = first.reader().arrays();
  of.arrays.assign(arrays.begin(), arrays.end());
  for (const stored_state& s : first.reader().states()) {
    if (s.kind != record_kind::global && s.kind != record_kind::read_only) continue;
    co_await first.fetch(s.offset, s.offset + s.size);
    of.values.push_back({s.kind, std::string(text_of(s.key)), first.reader().read(s)});
  }
}

}  // namespace

void print_note(const std::string& text) { std::fprintf(stderr, "starling: %s\n", text.c_str()); }

bool folder_store::overlaps(const folder_store& other) const {
  return std::ranges::any_of(m_layout.folders, [&](const known_folder& mine) {
    return std::ranges::find(other.m_layout.folders, mine.id, &known_folder::id) !=
           other.m_layout.folders.end();
  });
}

task<> folder_store::open() {
  const auto views = co_await when_all(on_all_ranks<&open_folder>(m_pattern));
  m_layout = layout_of(views);
  if (m_copies > 1 && partner_of(0) < 0)
    print_note("checkpoints have no second copies, as " +
               (rank_count() == 1
                    ? "there is one rank"
                    : "all ranks see the same folder '" + views.front().own.path + "'"));
}

task<std::vector<inventory>> folder_store::tidy() const {
  std::vector<future<std::vector<inventory>>> calls;
  const auto duties = duties_of(m_layout, m_pattern);
  for (int r = 0; r < rank_count(); ++r)
    calls.push_back(async<&use_folders>(rank(r), duties[std::size_t(r)]));
  auto by_rank = co_await when_all(std::move(calls));
  co_return co_await complete_manifests(in_order(m_layout, std::move(by_rank)));
}

task<std::vector<inventory>> folder_store::list() const {
  auto by_rank = co_await when_all(on_all_ranks<&list_folders>(m_pattern));
  co_return in_order(m_layout, std::move(by_rank));
}

/// Completes what is complete in another folder, and removes other incomplete checkpoints.
task<std::vector<inventory>> folder_store::complete_manifests(std::vector<inventory> found) const {
  std::vector<std::vector<missing_manifest>> missing(m_layout.of_rank.size());
  for (const candidate& c : candidates_of(found)) {
    if (c.manifests.empty()) continue;
    const auto folders = folders_without_manifest(found, c.number);
    if (folders.empty()) continue;
    const share_address any{m_pattern, c.number, c.stamp, c.manifests.front(), 0};
    const int lead = m_layout.folders[any.folder].lead;
    const manifest contents = co_await async<&read_manifest_of>(rank(lead), any);
    for (const std::uint32_t f : folders)
      missing[std::size_t(m_layout.folders[f].lead)].push_back({f, contents});
  }
  std::vector<future<std::vector<inventory>>> calls;
  for (std::size_t r = 0; r < missing.size(); ++r)
    calls.push_back(async<&tidy_folders>(rank(int(r)), m_pattern, std::move(missing[r])));
  auto by_rank = co_await when_all(std::move(calls));
  co_return in_order(m_layout, std::move(by_rank));
}

/// Checks all bytes of the shares, each on a rank that has it. Where one is refused, another copy
/// is tried. Returns the folder of each share, and removes refused ones from the holders.
task<std::vector<std::uint32_t>> folder_store::verify(candidate& chosen) const {
  std::vector<std::uint32_t> folders(chosen.holders.size());
  std::vector<std::uint32_t> left(chosen.holders.size());
  for (std::uint32_t s = 0; s < left.size(); ++s) left[s] = s;
  while (!left.empty()) {
    std::vector<std::vector<share_address>> by_rank(m_layout.of_rank.size());
    for (const std::uint32_t s : left) {
      const std::uint32_t f = folders[s] = preferred(m_layout, s, chosen.holders[s]);
      const std::vector<int> ranks = m_layout.members(f);
      by_rank[std::size_t(ranks[s % ranks.size()])].push_back(
          {m_pattern, chosen.number, chosen.stamp, f, s});
    }
    std::vector<future<std::vector<refused_file>>> calls;
    for (std::size_t r = 0; r < by_rank.size(); ++r)
      if (!by_rank[r].empty())
        calls.push_back(async<&verify_shares>(rank(int(r)), std::move(by_rank[r])));
    const auto refused = co_await when_all(std::move(calls));
    left.clear();
    for (const auto& of_rank : refused)
      for (const refused_file& f : of_rank) {
        std::erase(chosen.holders[f.share], folders[f.share]);
        if (chosen.holders[f.share].empty()) throw checkpoint_error(f.fault, f.reason);
        print_note("the copy of a share is used: " + f.reason);
        left.push_back(f.share);
      }
  }
  co_return folders;
}

task<restart_source> folder_store::read(candidate chosen) const {
  if (chosen.manifests.empty())
    throw checkpoint_error(chosen.refused.front().fault, chosen.refused.front().reason);
  const std::uint32_t with_manifest = chosen.manifests.front();
  const share_address any{m_pattern, chosen.number, chosen.stamp, with_manifest, 0};
  restart_source source;
  source.store = this;
  source.contents =
      co_await async<&read_manifest_of>(rank(m_layout.folders[with_manifest].lead), any);
  if (!chosen.refused.empty())
    throw checkpoint_error(chosen.refused.front().fault, describe_missing(chosen, source.contents));
  std::vector<std::uint32_t> folders = co_await verify(chosen);
  source.place = {m_pattern, chosen.number, chosen.stamp, std::move(folders), {}};
  for (const known_folder& f : m_layout.folders) source.place.leads.push_back(f.lead);
  if (m_copies > 1) source.missing = missing_copies(m_layout, source.place.folders, chosen.holders);
  source.has_manifest = chosen.manifests;
  co_await read_values(source);
  require_all_elements(source.contents, source.arrays);
  co_return source;
}

task<> folder_store::make_copies(const restart_source& of) const {
  std::vector<future<>> calls;
  for (const missing_copy& m : of.missing) {
    const share_address at{m_pattern, of.contents.number, of.contents.stamp, m.from, m.share};
    calls.push_back(async<&send_stored_copy>(rank(m_layout.folders[m.from].lead), at,
                                             of.contents.shares[m.share], std::int32_t(m.to)));
  }
  co_await when_all(std::move(calls));
  std::vector<future<>> completions;
  for (std::uint32_t f = 0; f < m_layout.folders.size(); ++f) {
    const bool gets_copies = std::ranges::any_of(of.missing, [&](const missing_copy& m) {
      return m_layout.of_rank[std::size_t(m.to)] == f;
    });
    const bool has = std::ranges::find(of.has_manifest, f) != of.has_manifest.end();
    if (gets_copies && !has)
      completions.push_back(
          async<&complete_checkpoint>(rank(m_layout.folders[f].lead), m_pattern, of.contents));
  }
  co_await when_all(std::move(completions));
}

task<> folder_store::restore_copies(const restart_source& of) const {
  bool has_failed = false;
  try {
    co_await make_copies(of);
  } catch (const checkpoint_error& e) {
    print_note(checkpoint_name(of.contents.number) + " remains without a second copy: " + e.what());
    has_failed = true;
  }
  if (has_failed) co_await when_all(on_all_ranks<&drop_arriving>(m_pattern, of.contents.number));
}

void folder_store::add_folders(manifest& to) const {
  std::uint32_t own = 0;  // folders of ranks, which come first
  while (own < m_layout.folders.size() && m_layout.folders[own].is_own) ++own;
  if (own < 2) return;
  for (std::uint32_t f = 0; f < own; ++f) {
    const known_folder& of = m_layout.folders[f];
    to.folders.push_back({of.id, std::uint32_t(of.lead), of.host, of.path});
  }
  for (std::size_t r = 0; r < m_layout.of_rank.size(); ++r) {
    to.holders.push_back({m_layout.of_rank[r]});
    const int partner = partner_of(int(r));
    if (partner >= 0) to.holders.back().push_back(m_layout.of_rank[std::size_t(partner)]);
  }
}

task<> folder_store::complete(manifest done) const {
  add_folders(done);
  std::vector<future<>> calls;
  for (const known_folder& f : m_layout.folders)
    if (f.is_own) calls.push_back(async<&complete_checkpoint>(rank(f.lead), m_pattern, done));
  co_await when_all(std::move(calls));
  co_await remove_old_ones(done);
}

task<> folder_store::abandon(std::uint64_t number) const {
  co_await when_all(on_all_ranks<&abandon_checkpoint>(m_pattern, number));
}

task<> folder_store::remove_old_ones(const manifest& newest) const {
  std::optional<checkpoint_error> refused;
  try {
    const std::vector<inventory> all = co_await list();
    refused = missing_in(all, newest.number, newest.stamp);
    const retention rule = retention_of(all, m_keep);
    if (!refused) co_await when_all(on_all_ranks<&remove_older>(m_pattern, rule));
  } catch (const checkpoint_error& e) {
    print_note(std::string("an old checkpoint remains: ") + e.what());
  }
  if (refused) throw checkpoint_error(*refused);
}

}  // namespace starling::detail
