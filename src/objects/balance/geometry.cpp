// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "balancers.hpp"
#include "curve_key.hpp"
#include "partition.hpp"

namespace starling::balance {
namespace {

/// Places coordinates in a cube of 2²¹ cells on each side, which keeps the ratio of the sides.
class grid {
 public:
  explicit grid(const partition_problem& problem) {
    m_low = m_high = problem.loads.elements[problem.elements.front()].position;
    for (const std::uint32_t e : problem.elements)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        m_low[axis] = std::min(m_low[axis], problem.loads.elements[e].position[axis]);
        m_high[axis] = std::max(m_high[axis], problem.loads.elements[e].position[axis]);
      }
    // Halves: the difference of two finite numbers may be infinite.
    for (std::size_t axis = 0; axis < 3; ++axis)
      m_half = std::max(m_half, m_high[axis] / 2 - m_low[axis] / 2);
  }
  [[nodiscard]] cell operator()(const element_load& e) const {
    cell c{};
    if (m_half == 0) return c;
    constexpr double largest = (1U << curve_bits) - 1;
    for (std::size_t axis = 0; axis < 3; ++axis)
      c[axis] = std::uint32_t((e.position[axis] / 2 - m_low[axis] / 2) / m_half * largest);
    return c;
  }

 private:
  std::array<double, 3> m_low{}, m_high{};
  double m_half = 0;
};

class curve final : public partition_balancer {
 public:
  using partition_balancer::partition_balancer;
  [[nodiscard]] std::string_view name() const noexcept override { return "curve"; }

 protected:
  [[nodiscard]] std::vector<std::uint32_t> divide(const partition_problem& p) const override {
    const grid cells(p);
    std::vector<std::pair<std::uint64_t, std::uint32_t>> line;  // place on the curve, position
    double total = 0;
    for (std::uint32_t i = 0; i < p.elements.size(); ++i) {
      const cell c = cells(p.loads.elements[p.elements[i]]);
      line.emplace_back(interleave(options().is_hilbert ? to_hilbert(c) : c), i);
      total += p.weights[i];
    }
    std::ranges::sort(line);
    const double room = std::accumulate(p.capacities.begin(), p.capacities.end(), 0.0);
    const double scale = room > 0 ? total / room : 0;
    std::vector<std::uint32_t> parts(p.elements.size());
    double sum = 0, end = p.capacities[0] * scale;
    std::uint32_t part = 0;
    for (const auto& [key, i] : line) {
      // An element belongs to the piece that has its middle.
      while (part + 1 < p.capacities.size() && sum + p.weights[i] / 2 > end)
        end += p.capacities[++part] * scale;
      parts[i] = part;
      sum += p.weights[i];
    }
    return parts;
  }
};

class bisection final : public partition_balancer {
 public:
  using partition_balancer::partition_balancer;
  [[nodiscard]] std::string_view name() const noexcept override { return "bisection"; }

 protected:
  [[nodiscard]] std::vector<std::uint32_t> divide(const partition_problem& p) const override {
    std::vector<std::uint32_t> all(p.elements.size()), parts(p.elements.size());
    std::iota(all.begin(), all.end(), 0U);
    split(p, all, 0, std::uint32_t(p.capacities.size()), parts);
    return parts;
  }

 private:
  [[nodiscard]] static std::size_t longest_side(const partition_problem& p,
                                                std::span<const std::uint32_t> members) {
    std::size_t longest = 0;
    double length = -1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto at = [&](std::uint32_t i) {
        return p.loads.elements[p.elements[i]].position[axis];
      };
      const auto [low, high] = std::ranges::minmax_element(members, {}, at);
      const double side = members.empty() ? 0 : at(*high) / 2 - at(*low) / 2;
      if (side > length) {
        length = side;
        longest = axis;
      }
    }
    return longest;
  }

  /// Divides the members among the parts from `first` to before `last`. The depth of the recursion
  /// is the logarithm of their number.
  static void split(const partition_problem& p, std::span<std::uint32_t> members,
                    std::uint32_t first, std::uint32_t last, std::vector<std::uint32_t>& parts) {
    if (last - first <= 1 || members.empty()) {
      for (const std::uint32_t i : members) parts[i] = first;
      return;
    }
    const std::uint32_t middle = first + (last - first) / 2;
    const auto sum = [&](std::uint32_t from, std::uint32_t to) {
      return std::accumulate(p.capacities.begin() + from, p.capacities.begin() + to, 0.0);
    };
    const double lower = sum(first, middle), upper = sum(middle, last);
    double total = 0;
    for (const std::uint32_t i : members) total += p.weights[i];
    const double wanted = lower + upper > 0 ? total * (lower / (lower + upper)) : total / 2;
    const std::size_t axis = longest_side(p, members);
    std::ranges::sort(members, [&](std::uint32_t a, std::uint32_t b) {
      const double one = p.loads.elements[p.elements[a]].position[axis];
      const double other = p.loads.elements[p.elements[b]].position[axis];
      return one != other ? one < other : a < b;
    });
    std::size_t cut = 0;
    double taken = 0;
    while (cut < members.size() && taken + p.weights[members[cut]] / 2 <= wanted)
      taken += p.weights[members[cut++]];
    split(p, members.first(cut), first, middle, parts);
    split(p, members.subspan(cut), middle, last, parts);
  }
};

}  // namespace

std::unique_ptr<balancer> make_curve(const balancer_options& chosen) {
  return std::make_unique<curve>(chosen);
}
std::unique_ptr<balancer> make_bisection(const balancer_options& chosen) {
  return std::make_unique<bisection>(chosen);
}

}  // namespace starling::balance
