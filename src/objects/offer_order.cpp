// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/offer_order.hpp>

#include <algorithm>
#include <utility>

namespace starling::detail {

turn offer_order::take_other(const offer_position& p) {
  const auto known = std::ranges::find(m_others, p.line, &offer_line::line);
  if (p.line == m_now.line) {
    // decided below
  } else if (known != m_others.end()) {
    std::swap(m_now, *known);
  } else {
    // Offers of earlier lines of a sender that has not migrated have arrived before.
    if (p.may_overtake && has_begun()) m_others.push_back(m_now);
    m_now = {p.line, p.may_overtake ? 1 : p.number};
  }
  if (p.number != m_now.next) return p.number < m_now.next ? turn::past : turn::later;
  ++m_now.next;
  return turn::now;
}

const offer_line* offer_order::find(std::uint64_t line) const noexcept {
  if (line == m_now.line) return &m_now;
  const auto known = std::ranges::find(m_others, line, &offer_line::line);
  return known == m_others.end() ? nullptr : &*known;
}

void offer_order::list(std::vector<offer_line>& to) const {
  if (has_begun()) to.push_back(m_now);
  to.insert(to.end(), m_others.begin(), m_others.end());
}

}  // namespace starling::detail
