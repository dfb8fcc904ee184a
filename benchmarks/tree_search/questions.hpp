// SPDX-License-Identifier: Apache-2.0
//
// The trees, common to all competitors, and the measurement.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../common/report.hpp"
#include "tree.hpp"

namespace tree_search {

namespace bench = starling::bench;

struct question {
  std::string name;
  tree searched;
};

/// Returns the trees. `--scale` multiplies the children of the root, and so the nodes; it has
/// little influence on the depth of a tree.
[[nodiscard]] inline std::vector<question> questions(const bench::options& chosen) {
  const auto roots = [&](double count) {
    return std::uint32_t(std::max(1L, std::lround(count * chosen.scale)));
  };
  return {{"stringy", make_tree(roots(2'000), 4, 0.999)},
          {"bushy", make_tree(roots(200'000), 8, 0.99)}};
}

/// Checks, before any work, the names of questions and that the report can be written. The names of
/// questions have `endings`.
inline void require_possible(const bench::options& chosen,
                             const std::vector<std::string>& endings) {
  std::vector<std::string> names;
  for (const std::string& ending : endings)
    for (const question& q : questions(chosen)) names.push_back(q.name + ending);
  bench::require_known(chosen, names);
  bench::require_writable(chosen.json);
}

/// Timed searches of a tree: `while (wants_more())` `begin()`, the search, `end(findings)`.
class asked {
 public:
  asked(const bench::options& chosen, const std::string& name, const tree& searched)
      : m_name(name), m_is_spoilt(chosen.breaks(name)),
        m_expected(search_by_one(searched, &m_levels)), m_runs(chosen, name, m_expected.nodes) {}

  [[nodiscard]] bool wants_more() const { return m_runs.wants_more(); }
  void begin() { m_runs.begin(); }
  void end(findings found) {
    m_runs.end();
    if (m_is_spoilt) ++found.nodes;
    m_runs.judge(found == m_expected);
  }
  void add_to(bench::report& out) {
    const bench::measurement result = m_runs.result();
    out.add(result);
    out.metric(m_name + "_ms", result.median_ns * double(m_expected.nodes) * 1e-6);
    out.config(m_name + "_nodes", m_expected.nodes);
    out.config(m_name + "_levels", m_levels);
  }

 private:
  std::string m_name;
  bool m_is_spoilt;
  std::uint64_t m_levels = 0;
  findings m_expected;
  bench::sampling m_runs;
};

}  // namespace tree_search
