// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/folder_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

namespace starling::detail {
namespace {

/// Returns the place of the folder; adds it if it is new.
std::uint32_t place_of(std::vector<known_folder>& all,
                       std::map<std::uint64_t, std::uint32_t>& known, known_folder folder) {
  const auto [at, is_new] = known.emplace(folder.id, std::uint32_t(all.size()));
  if (is_new) all.push_back(std::move(folder));
  return at->second;
}

}  // namespace

std::vector<int> folder_layout::members(std::uint32_t folder) const {
  std::vector<int> ranks;
  for (std::size_t r = 0; r < of_rank.size(); ++r)
    if (of_rank[r] == folder) ranks.push_back(int(r));
  if (ranks.empty()) ranks.push_back(folders[folder].lead);
  return ranks;
}

folder_layout layout_of(std::span<const rank_view> views) {
  folder_layout made;
  std::map<std::uint64_t, std::uint32_t> known;
  std::map<std::pair<std::string, std::string>, std::uint32_t> hosts;
  std::vector<std::uint32_t> host_of;
  for (std::size_t r = 0; r < views.size(); ++r) {
    const rank_view& v = views[r];
    made.of_rank.push_back(
        place_of(made.folders, known, {v.own.id, int(r), true, v.host, v.own.path}));
    host_of.push_back(
        hosts.emplace(std::pair(v.host, v.boot), std::uint32_t(hosts.size())).first->second);
  }
  // Left by earlier runs. The ranks that see them take turns.
  std::map<std::uint64_t, std::vector<int>> seen_by;
  for (std::size_t r = 0; r < views.size(); ++r)
    for (const seen_folder& f : views[r].others) seen_by[f.id].push_back(int(r));
  std::size_t turn = 0;
  for (const auto& [id, ranks] : seen_by) {
    if (known.contains(id)) continue;
    const int lead = ranks[turn++ % ranks.size()];
    const rank_view& v = views[std::size_t(lead)];
    const auto seen = std::ranges::find(v.others, id, &seen_folder::id);
    place_of(made.folders, known, {id, lead, false, v.host, seen->path});
  }
  made.partners = partners_of(host_of, made.of_rank);
  return made;
}

std::vector<int> partners_of(std::span<const std::uint32_t> hosts,
                             std::span<const std::uint32_t> folders) {
  const int ranks = int(folders.size());
  std::vector<int> partners;
  std::vector<int> copies(folders.size());  // that each rank gets
  for (int r = 0; r < ranks; ++r) {
    int best = -1;
    std::tuple<bool, int, int> best_cost;
    for (int distance = 1; distance < ranks; ++distance) {
      const int p = (r + distance) % ranks;
      if (folders[std::size_t(p)] == folders[std::size_t(r)]) continue;
      const std::tuple cost(hosts[std::size_t(p)] == hosts[std::size_t(r)], copies[std::size_t(p)],
                            distance);
      if (best >= 0 && cost >= best_cost) continue;
      best = p;
      best_cost = cost;
    }
    if (best >= 0) ++copies[std::size_t(best)];
    partners.push_back(best);
  }
  return partners;
}

std::vector<missing_copy> missing_copies(const folder_layout& layout,
                                         std::span<const std::uint32_t> sources,
                                         std::span<const std::vector<std::uint32_t>> holders) {
  std::vector<missing_copy> missing;
  for (std::uint32_t s = 0; s < sources.size(); ++s) {
    if (holders[s].size() > 1) continue;
    const bool is_at_its_rank = s >= layout.of_rank.size() || layout.of_rank[s] == sources[s];
    const int holder = layout.members(sources[s]).front();
    const int to = is_at_its_rank ? layout.partners[std::size_t(holder)] : int(s);
    if (to >= 0) missing.push_back({s, sources[s], to});
  }
  return missing;
}

}  // namespace starling::detail
