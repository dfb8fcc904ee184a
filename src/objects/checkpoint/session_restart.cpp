// SPDX-License-Identifier: Apache-2.0
// The checkpoint from which a run restarts: the folders of all ranks, and the choice.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <starling/core/when_all.hpp>

#include "objects/checkpoint/checkpoint_folder.hpp"
#include "objects/checkpoint/rank_folders.hpp"
#include "objects/checkpoint/session.hpp"

namespace starling::detail {
namespace {

/// Returns a number that `starling launch` has set; 0: it has not.
std::int64_t number_of_launcher(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoll(text);
}

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

}  // namespace

task<> session::open_folders() {
  const auto views = co_await when_all(on_all_ranks<&open_folder>(m_path));
  m_layout = layout_of(views);
  if (m_options.copies > 1 && partner_of(0) < 0)
    print_note("checkpoints have no second copies, as " +
               (rank_count() == 1
                    ? "there is one rank"
                    : "all ranks see the same folder '" + views.front().own.path + "'"));
}

task<std::vector<inventory>> session::list_all() const {
  auto by_rank = co_await when_all(on_all_ranks<&list_folders>(m_path));
  co_return in_order(m_layout, std::move(by_rank));
}

/// Completes what is complete in another folder, and removes other incomplete checkpoints.
task<std::vector<inventory>> session::tidy(std::vector<inventory> found) const {
  std::vector<std::vector<missing_manifest>> missing(m_layout.of_rank.size());
  for (const candidate& c : candidates_of(found)) {
    if (c.manifests.empty()) continue;
    const auto folders = folders_without_manifest(found, c.number);
    if (folders.empty()) continue;
    const share_address any{m_path, c.number, c.stamp, c.manifests.front(), 0};
    const int lead = m_layout.folders[any.folder].lead;
    const manifest contents = co_await async<&read_manifest_of>(rank(lead), any);
    for (const std::uint32_t f : folders)
      missing[std::size_t(m_layout.folders[f].lead)].push_back({f, contents});
  }
  std::vector<future<std::vector<inventory>>> calls;
  for (std::size_t r = 0; r < missing.size(); ++r)
    calls.push_back(async<&tidy_folders>(rank(int(r)), m_path, std::move(missing[r])));
  auto by_rank = co_await when_all(std::move(calls));
  co_return in_order(m_layout, std::move(by_rank));
}

task<> session::begin(wanted_checkpoint wanted) {
  co_await open_folders();
  std::vector<future<std::vector<inventory>>> calls;
  const auto duties = duties_of(m_layout, m_path);
  for (int r = 0; r < rank_count(); ++r)
    calls.push_back(async<&use_folders>(rank(r), duties[std::size_t(r)]));
  auto by_rank = co_await when_all(std::move(calls));
  const std::vector<inventory> found = co_await tidy(in_order(m_layout, std::move(by_rank)));
  m_last_number = largest_number(found);
  const std::vector<candidate> all = candidates_of(found);
  // A job that the launcher has started again continues from its own checkpoints; before the first
  // of them it begins as it did at first.
  if (number_of_launcher("STARLING_LAUNCH_RESTARTS") > 0)
    co_await restart_from_newest(all, number_of_launcher("STARLING_LAUNCH_BEGIN"));
  if (is_restart() || !wanted.is_restart) co_return;
  if (wanted.number)
    co_await restart_from_number(all, *wanted.number);
  else
    co_await restart_from_newest(all, 0);
}

task<> session::restart_from_newest(std::vector<candidate> all, std::int64_t not_before) {
  std::optional<checkpoint_error> refused;
  for (const candidate& c : all) {
    if (!c.manifests.empty() && c.time_ns < not_before) continue;
    try {
      co_await restart_from(c);
    } catch (const checkpoint_error& e) {
      print_note(checkpoint_name(c.number) + " is not used: " + e.what());
      refused = e;
    }
    if (is_restart()) co_return;
  }
  if (refused && not_before != 0)
    print_note("no checkpoint of this job is usable: it begins as at its first start");
  if (refused && not_before == 0)
    throw checkpoint_error(refused->fault(), "--starling-restart=latest: no checkpoint in '" +
                                                 m_path +
                                                 "' is usable; the oldest: " + refused->what());
}

task<> session::restart_from_number(std::vector<candidate> all, std::uint64_t number) {
  std::optional<checkpoint_error> refused;
  for (const candidate& c : all) {
    if (c.number != number) continue;
    try {
      co_await restart_from(c);
    } catch (const checkpoint_error& e) {
      refused = e;
    }
    if (is_restart()) co_return;
  }
  if (refused) throw checkpoint_error(*refused);
  refuse(checkpoint_fault::torn, m_path + "/" + checkpoint_name(number), "it does not exist");
}

/// Checks all bytes of the shares, each on a rank that has it. Where one is refused, another copy
/// is tried. Returns the folder of each share, and removes refused ones from the holders.
task<std::vector<std::uint32_t>> session::verify(candidate& chosen) const {
  std::vector<std::uint32_t> folders(chosen.holders.size());
  std::vector<std::uint32_t> left(chosen.holders.size());
  for (std::uint32_t s = 0; s < left.size(); ++s) left[s] = s;
  while (!left.empty()) {
    std::vector<std::vector<share_address>> by_rank(m_layout.of_rank.size());
    for (const std::uint32_t s : left) {
      const std::uint32_t f = folders[s] = preferred(m_layout, s, chosen.holders[s]);
      const std::vector<int> ranks = m_layout.members(f);
      by_rank[std::size_t(ranks[s % ranks.size()])].push_back(
          {m_path, chosen.number, chosen.stamp, f, s});
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

task<> session::restart_from(candidate chosen) {
  if (chosen.manifests.empty())
    throw checkpoint_error(chosen.refused.front().fault, chosen.refused.front().reason);
  const std::uint32_t with_manifest = chosen.manifests.front();
  const share_address any{m_path, chosen.number, chosen.stamp, with_manifest, 0};
  restart_source source;
  source.contents =
      co_await async<&read_manifest_of>(rank(m_layout.folders[with_manifest].lead), any);
  if (!chosen.refused.empty())
    throw checkpoint_error(chosen.refused.front().fault, describe_missing(chosen, source.contents));
  std::vector<std::uint32_t> folders = co_await verify(chosen);
  source.place = {m_path, chosen.number, chosen.stamp, std::move(folders), {}};
  for (const known_folder& f : m_layout.folders) source.place.leads.push_back(f.lead);
  if (m_options.copies > 1)
    source.missing = missing_copies(m_layout, source.place.folders, chosen.holders);
  source.has_manifest = chosen.manifests;
  co_await read_values(source);
  require_all_elements(source.contents, source.arrays);
  m_from.emplace(std::move(source));
}

task<> session::make_copies(const restart_source& of) const {
  std::vector<future<>> calls;
  for (const missing_copy& m : of.missing) {
    const share_address at{m_path, of.contents.number, of.contents.stamp, m.from, m.share};
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
          async<&complete_checkpoint>(rank(m_layout.folders[f].lead), m_path, of.contents));
  }
  co_await when_all(std::move(completions));
}

task<> session::restore_copies(std::shared_ptr<const session> self) {
  const std::shared_ptr<const session> kept = std::move(self);
  const restart_source& of = *kept->m_from;
  bool has_failed = false;
  try {
    co_await kept->make_copies(of);
  } catch (const checkpoint_error& e) {
    print_note(checkpoint_name(of.contents.number) + " remains without a second copy: " + e.what());
    has_failed = true;
  }
  if (has_failed) co_await when_all(on_all_ranks<&drop_arriving>(kept->m_path, of.contents.number));
}

/// Reads the arrays and values, which are in the first share.
task<> session::read_values(restart_source& of) const {
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

}  // namespace starling::detail
