// SPDX-License-Identifier: Apache-2.0
//
// The patterns of Task Bench (Slaughter et al., SC20): a grid of tasks, `steps` by `width`. A
// pattern states which results of one step the tasks of the next step read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace task_graphs {

/// Returns a pseudo-random number in [0, 1) that depends on the arguments only.
[[nodiscard]] inline double uniform(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t x =
      0x9e3779b97f4a7c15U * (a + 1) ^ 0xbf58476d1ce4e5b9U * (b + 1) ^ 0x94d049bb133111ebU * (c + 1);
  for (int round = 0; round < 3; ++round) {
    x ^= x >> 31U;
    x *= 0xd6e8feb86659fd93U;
  }
  x ^= x >> 32U;
  return static_cast<double>(x >> 11U) * 0x1p-53;
}

struct shape {
  int steps = 5000;
  int width = 2;
  int radix = 5;           // inputs of nearest, spread, random_nearest; with radix 3
                           // nearest is stencil_1d
  int period = 3;          // of spread and random_nearest: they repeat after so many steps
  double fraction = 0.25;  // of random_nearest: the probability of an input
};

/// Returns the points of the previous step that the point `p` reads, in the dependence set `set`.
/// The caller removes points outside the grid and duplicates.
using rule = std::function<std::vector<int>(const shape& s, int set, int p)>;

namespace detail {

inline std::vector<int> range(int first, int last) {
  std::vector<int> points(static_cast<std::size_t>(std::max(0, last - first + 1)));
  std::iota(points.begin(), points.end(), first);
  return points;
}

inline std::vector<int> spread(const shape& s, int set, int p) {
  std::vector<int> points;
  for (int i = 0; i < s.radix; ++i)
    points.push_back((p + i * s.width / s.radix + (i > 0 ? set : 0)) % s.width);
  return points;
}

inline std::vector<int> random_nearest(const shape& s, int set, int p) {
  std::vector<int> points;
  for (const int q : range(p - s.radix / 2, p + (s.radix - 1) / 2))
    if (q == p ||
        uniform(std::uint64_t(set), std::uint64_t(q + s.width), std::uint64_t(p)) < s.fraction)
      points.push_back(q);
  return points;
}

}  // namespace detail

/// Returns Task Bench's definitions by name.
[[nodiscard]] inline const std::map<std::string, rule>& rules() {
  using detail::range;
  static const std::map<std::string, rule> all = {
      {"trivial", [](const shape&, int, int) { return std::vector<int>(); }},
      {"no_comm", [](const shape&, int, int p) { return range(p, p); }},
      {"stencil_1d", [](const shape&, int, int p) { return range(p - 1, p + 1); }},
      {"stencil_1d_periodic",
       [](const shape& s, int, int p) {
         return std::vector<int>{(p + s.width - 1) % s.width, p, (p + 1) % s.width};
       }},
      {"dom", [](const shape&, int, int p) { return range(p - 1, p); }},
      {"tree", [](const shape&, int, int p) { return range(p / 2, p / 2); }},
      {"fft",
       [](const shape&, int set, int p) {
         return std::vector<int>{p - (1 << set), p, p + (1 << set)};
       }},
      {"nearest",
       [](const shape& s, int, int p) { return range(p - s.radix / 2, p + (s.radix - 1) / 2); }},
      {"spread", detail::spread},
      {"random_nearest", detail::random_nearest}};
  return all;
}

/// Returns the names of the patterns, in the order of Task Bench's papers.
[[nodiscard]] inline const std::vector<std::string>& patterns() {
  static const std::vector<std::string> names = {
      "trivial", "no_comm", "stencil_1d", "stencil_1d_periodic", "dom", "tree",
      "fft",     "nearest", "spread",     "random_nearest"};
  return names;
}

/// Graph of one pattern. Immutable; any number of threads may read it.
class graph {
 public:
  graph(const std::string& pattern, const shape& s)
      : m_shape(s), m_inputs(std::size_t(count_sets(pattern)), std::size_t(s.width)),
        m_consumers(m_inputs) {
    const int sets = count_sets(pattern);
    for (int set = 0; set < sets; ++set)
      for (int p = 0; p < s.width; ++p)
        for (const int q : points_in_grid(rules().at(pattern)(s, set, p))) {
          m_inputs.of(set, p).push_back(q);
          m_consumers.of(set, q).push_back(p);
        }
    for (int t = 0; t < s.steps; ++t) m_layers.push_back(layer_of(pattern, t, sets));
  }

  [[nodiscard]] int steps() const { return m_shape.steps; }
  [[nodiscard]] int width() const { return m_shape.width; }
  [[nodiscard]] std::int64_t tasks() const {
    std::int64_t sum = 0;
    for (const layer& l : m_layers) sum += l.last - l.first;
    return sum;
  }
  /// Returns whether point `p` has a task in step `t`.
  [[nodiscard]] bool has(int t, int p) const { return m_layers[std::size_t(t)].contains(p); }
  [[nodiscard]] int tasks_of(int p) const {
    int sum = 0;
    for (const layer& l : m_layers) sum += l.contains(p) ? 1 : 0;
    return sum;
  }

  /// Calls `f(q)` for every point of step t − 1 that the task (t, p) reads, in ascending order.
  template <class F>
  void for_each_input(int t, int p, F f) const {
    if (t == 0) return;
    const layer& before = m_layers[std::size_t(t - 1)];
    for (const int q : m_inputs.of(m_layers[std::size_t(t)].set, p))
      if (before.contains(q)) f(q);
  }
  [[nodiscard]] int input_count(int t, int p) const {
    int count = 0;
    for_each_input(t, p, [&](int) { ++count; });
    return count;
  }
  [[nodiscard]] std::vector<int> inputs_of(int t, int p) const {
    std::vector<int> points;
    for_each_input(t, p, [&](int q) { points.push_back(q); });
    return points;
  }
  /// Returns whether both graphs have the same tasks, and each task the same inputs.
  friend bool operator==(const graph& a, const graph& b) {
    if (a.steps() != b.steps() || a.width() != b.width()) return false;
    for (int t = 0; t < a.steps(); ++t)
      for (int p = 0; p < a.width(); ++p)
        if (a.has(t, p) != b.has(t, p) || (a.has(t, p) && a.inputs_of(t, p) != b.inputs_of(t, p)))
          return false;
    return true;
  }
  /// Calls `f(q)` for every point of step t + 1 that reads the task (t, p), in ascending order.
  template <class F>
  void for_each_consumer(int t, int p, F f) const {
    if (t + 1 == steps()) return;
    const layer& after = m_layers[std::size_t(t + 1)];
    for (const int q : m_consumers.of(after.set, p))
      if (after.contains(q)) f(q);
  }
  /// Calls `f(t, p)` for every task, step by step.
  template <class F>
  void for_each_task(F f) const {
    for (int t = 0; t < steps(); ++t)
      for (int p = m_layers[std::size_t(t)].first; p < m_layers[std::size_t(t)].last; ++p) f(t, p);
  }

 private:
  struct layer {
    int first, last;  // the points that have a task, `last` excluded
    int set;          // the dependence set of their inputs
    [[nodiscard]] bool contains(int p) const { return first <= p && p < last; }
  };
  /// A list of points for each dependence set and point.
  class table {
   public:
    table(std::size_t sets, std::size_t width) : m_width(width), m_lists(sets * width) {}
    std::vector<int>& of(int set, int p) { return m_lists[index(set, p)]; }
    [[nodiscard]] const std::vector<int>& of(int set, int p) const {
      return m_lists[index(set, p)];
    }

   private:
    [[nodiscard]] std::size_t index(int set, int p) const {
      return std::size_t(set) * m_width + std::size_t(p);
    }
    std::size_t m_width;
    std::vector<std::vector<int>> m_lists;
  };

  [[nodiscard]] int count_sets(const std::string& pattern) const {
    if (pattern == "spread" || pattern == "random_nearest") return m_shape.period;
    int sets = 1;
    if (pattern == "fft")
      while ((1 << sets) < width()) ++sets;
    return sets;
  }
  [[nodiscard]] std::set<int> points_in_grid(const std::vector<int>& given) const {
    std::set<int> points(given.begin(), given.end());
    std::erase_if(points, [&](int q) { return q < 0 || q >= width(); });
    return points;
  }
  [[nodiscard]] layer layer_of(const std::string& pattern, int t, int sets) const {
    const int set = pattern == "fft" ? (t + sets - 1) % sets : t % sets;
    if (pattern == "dom") {
      const int first = std::max(0, t + width() - steps());
      return {first, first + std::min({width(), t + 1, steps() - t}), set};
    }
    if (pattern == "tree" && t < 30) return {0, std::min(width(), 1 << t), set};
    return {0, width(), set};
  }

  shape m_shape;
  table m_inputs, m_consumers;
  std::vector<layer> m_layers;
};

/// Returns the sets of two or more patterns that describe the same graph at the shape `s`. In
/// narrow grids patterns coincide: with two points a stencil reads both of them, and so do fft,
/// nearest and spread. Results of these patterns answer one question only.
[[nodiscard]] inline std::vector<std::vector<std::string>> coinciding_patterns(shape s) {
  s.steps = std::min(s.steps, 64 + 2 * s.width + 2 * s.period);  // by then all rules have repeated
  std::vector<std::vector<std::string>> sets;
  std::vector<graph> graphs;  // one for each set
  for (const std::string& name : patterns()) {
    const graph g(name, s);
    const auto same = std::find(graphs.begin(), graphs.end(), g);
    if (same != graphs.end()) {
      sets[std::size_t(same - graphs.begin())].push_back(name);
    } else {
      graphs.push_back(g);
      sets.push_back({name});
    }
  }
  std::erase_if(sets, [](const auto& names) { return names.size() == 1; });
  return sets;
}

}  // namespace task_graphs
