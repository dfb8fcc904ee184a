// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/dense_table.hpp>

#include <string>

#include <starling/core/error.hpp>
#include <starling/objects/detail/broadcast_numbers.hpp>
#include <starling/objects/detail/early_messages.hpp>
#include <starling/objects/detail/object_space.hpp>
#include <starling/objects/detail/tracked_elements.hpp>

namespace starling::detail {

template class broadcast_numbers<dense_elements::key>;
template class early_messages<dense_elements::key>;
template struct sequence_numbers<dense_elements::key>;
template class tracked_elements<dense_elements::key>;

void require_worker_number(std::size_t worker, std::size_t count) {
  if (worker < count) return;
  throw usage_error("placement: the map of an array names worker " + std::to_string(worker) +
                    ", and there are " + std::to_string(count));
}

dense_elements::dense_elements(const object_space& space, const placement_rule& how, bool is_mapped)
    : m_spread(how), m_is_mapped(is_mapped), m_total(space.worker_total()),
      m_tables(space.workers().size()) {
  if (is_mapped) return;
  for (std::size_t w = 0; w < m_tables.size(); ++w) {
    m_tables[w].first = m_spread.first(space.first_worker() + w);
    m_tables[w].elements.resize(m_spread.count(space.first_worker() + w));
  }
}

void dense_elements::make_room() {
  for (local_table& t : m_tables) {
    t.keys.shrink_to_fit();
    t.elements.resize(t.keys.size());
  }
}

void require_map(bool is_there) {
  if (!is_there) throw usage_error("placement: the map of an array is a null function");
}

}  // namespace starling::detail
