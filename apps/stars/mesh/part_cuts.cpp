// SPDX-License-Identifier: Apache-2.0
#include "mesh/part_cuts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "mesh/divide.hpp"

namespace stars {
namespace {

using weights_of_leaves = std::vector<std::int64_t>;

bool are_measured(std::span<const double> seconds, std::size_t parts) {
  return seconds.size() == parts && std::all_of(seconds.begin(), seconds.end(), [](double s) {
           return s > 0.0 && std::isfinite(s);
         });
}

/// Returns the cost of a leaf of each present part, at least 1. The dearest leaf has 2^20, so that
/// sums over all leaves fit into 64 bits, times the number of parts, too.
weights_of_leaves costs_of_parts(const division_input& in, std::span<const double> seconds) {
  weights_of_leaves costs(in.now.size(), 1);
  if (!are_measured(seconds, costs.size())) return costs;
  std::vector<double> each(costs.size());
  for (std::size_t p = 0; p < costs.size(); ++p) {
    const int end = p + 1 < costs.size() ? in.now[p + 1] : in.leaves_now;
    each[p] = seconds[p] / double(end - in.now[p]);
  }
  const double most = *std::max_element(each.begin(), each.end());
  for (std::size_t p = 0; p < costs.size(); ++p)
    costs[p] = std::max<std::int64_t>(1, std::llround(each[p] / most * 0x1p20));
  return costs;
}

/// Returns the cuts at the same places of the domain.
std::vector<int> carried(std::span<const int> now, std::span<const int> from) {
  std::vector<int> next;
  for (const int first : now)
    next.push_back(int(std::lower_bound(from.begin(), from.end(), first) - from.begin()));
  return next;
}

/// Returns the weight of the heaviest part; -1 if a part has no leaf.
std::int64_t heaviest(const weights_of_leaves& weights, const std::vector<int>& first) {
  std::int64_t most = -1;
  for (std::size_t p = 0; p < first.size(); ++p) {
    const int end = p + 1 < first.size() ? first[p + 1] : int(weights.size());
    if (first[p] >= end) return -1;
    most = std::max(
        most, std::accumulate(weights.begin() + first[p], weights.begin() + end, std::int64_t{0}));
  }
  return most;
}

}  // namespace

std::vector<int> origins_of(const regrid_plan& plan, int leaves) {
  std::vector<int> from(std::size_t(leaves), 0);
  for (const auto& [old, leaf] : plan.copies) from[std::size_t(leaf)] = old;
  for (const level_link& link : plan.restrictions)
    if (link.octant == 0) from[std::size_t(link.coarse)] = link.fine;
  for (const level_link& link : plan.prolongations) from[std::size_t(link.fine)] = link.coarse;
  return from;
}

std::vector<int> next_parts(const division_input& in, std::span<const double> seconds,
                            double tolerance) {
  const weights_of_leaves costs = costs_of_parts(in, seconds);
  weights_of_leaves weights;
  for (const int old : in.from) weights.push_back(costs[std::size_t(part_of(in.now, old))]);
  std::vector<int> best = divide(weights, int(in.now.size()));
  std::vector<int> stay = carried(in.now, in.from);
  const auto now = double(heaviest(weights, stay)), then = double(heaviest(weights, best));
  return now >= 0.0 && now <= (1.0 + tolerance) * then ? stay : best;
}

int count_moved(const division_input& in, std::span<const int> next) {
  int moved = 0;
  for (int leaf = 0; leaf < int(in.from.size()); ++leaf)
    moved += part_of(in.now, in.from[std::size_t(leaf)]) != part_of(next, leaf);
  return moved;
}

double imbalance_of(std::span<const double> seconds) {
  if (seconds.empty() || !are_measured(seconds, seconds.size())) return 0.0;
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return *std::max_element(seconds.begin(), seconds.end()) * double(seconds.size()) / sum;
}

}  // namespace stars
