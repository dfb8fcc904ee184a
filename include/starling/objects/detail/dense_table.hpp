// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/index.hpp>
#include <starling/objects/placement.hpp>

namespace starling::detail {

/// Checks the result of a user's map, and that there is a map. @throws usage_error
void require_worker_number(std::size_t worker, std::size_t count);
void require_map(bool is_there);

/// Maps the numbers of a dense array to its elements. Its size grows with the elements of this
/// rank; the worker of any other element is computed.
template <class T>
class dense_table {
 public:
  using index_type = typename T::index_type;
  using key = std::uint32_t;  // 2^32 elements at most

  dense_table(const object_space& space, const shape<index_type>& extent, const placement_rule& how)
      : dense_table(space, extent, how, nullptr) {
    for (std::size_t w = 0; w < m_parts.size(); ++w) {
      m_parts[w].first = m_spread.first(space.first_worker() + w);
      m_parts[w].elements.resize(m_spread.count(space.first_worker() + w));
    }
  }
  /// Places element `number` with index `i` on worker `worker_of(i, number)` of all ranks. The map
  /// is called at each lookup. @throws usage_error when there is no such worker; the map's
  /// exceptions
  template <class Map>
  dense_table(const object_space& space, const shape<index_type>& extent, const Map& worker_of)
      : dense_table(space, extent, placement_rule(), worker_of) {
    require_map(m_map != nullptr);
    const std::size_t count = extent.size();
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t here = this->worker_of(key(n)) - space.first_worker();
      if (here < m_parts.size()) m_parts[here].keys.push_back(key(n));
    }
    for (part& p : m_parts) {
      p.keys.shrink_to_fit();
      p.elements.resize(p.keys.size());
    }
  }

  [[nodiscard]] const shape<index_type>& extent() const noexcept { return m_shape; }
  [[nodiscard]] key key_of(const index_type& i) const noexcept {
    return static_cast<key>(m_shape.number_of(i));
  }
  [[nodiscard]] index_type index_of(key k) const noexcept { return m_shape.index_of(k); }
  [[nodiscard]] std::size_t worker_of(key k) const {
    if (!m_map) return m_spread.worker_of(k);
    const std::size_t worker = m_map(m_shape.index_of(k), k);
    require_worker_number(worker, m_total);
    return worker;
  }

  // --- for a worker of this rank; by that worker only, once messages are sent
  [[nodiscard]] std::size_t count(std::size_t worker) const noexcept {
    return m_parts[worker].elements.size();
  }
  [[nodiscard]] key key_at(std::size_t worker, std::size_t i) const noexcept {
    const part& p = m_parts[worker];
    return m_map ? p.keys[i] : key(m_spread.number_of(p.first, i));
  }
  /// Returns element `k` of the worker of `p`; null when it does not exist, not yet or no longer.
  [[nodiscard]] T* find(const array_part& p, key k) const noexcept {
    const part& mine = m_parts[p.index];
    const std::size_t i = position(mine, k);
    if (i >= mine.elements.size() || (m_map && mine.keys[i] != k)) return nullptr;
    return mine.elements[i];
  }
  void set(const array_part& p, key k, T* made) noexcept {
    part& mine = m_parts[p.index];
    mine.elements[position(mine, k)] = made;
  }
  /// Removes all elements. None is added afterwards.
  void clear(const array_part& p) noexcept { m_parts[p.index] = part(); }

 private:
  using map_type = std::function<std::size_t(const index_type&, std::uint64_t)>;
  struct alignas(64) part {
    std::uint64_t first = 0;  // from m_spread.first(), without a map
    std::vector<key> keys;    // element numbers with a user's map, ascending
    std::vector<T*> elements;
  };

  dense_table(const object_space& space, const shape<index_type>& extent, const placement_rule& how,
              map_type map)
      : m_shape(extent), m_spread(how), m_map(std::move(map)), m_total(space.worker_total()),
        m_parts(space.workers().size()) {}

  [[nodiscard]] std::size_t position(const part& p, key k) const noexcept {
    if (!m_map) return m_spread.position_of(p.first, k);
    return std::size_t(std::ranges::lower_bound(p.keys, k) - p.keys.begin());
  }

  shape<index_type> m_shape;
  spread m_spread;
  map_type m_map;  // empty: m_spread is used
  std::size_t m_total;
  std::vector<part> m_parts;  // by worker of this rank
};

}  // namespace starling::detail
