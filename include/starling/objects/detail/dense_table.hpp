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

/// Of a user's map. @throws usage_error
void require_worker_number(std::size_t worker, std::size_t count);
void require_map(bool is_there);

/// Where the elements of a dense array are: by their numbers in the shape. It grows with the
/// elements of this rank; where the others are is computed.
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
  /// Element `number` with index `i` lives on the worker `worker_of(i, number)` of all ranks, each
  /// time that it is asked. @throws usage_error where there is no such worker, and what the map
  /// throws
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

  // --- of a worker of this rank, by that worker alone once there are messages
  [[nodiscard]] std::size_t count(std::size_t worker) const noexcept {
    return m_parts[worker].elements.size();
  }
  [[nodiscard]] key key_at(std::size_t worker, std::size_t i) const noexcept {
    const part& p = m_parts[worker];
    return m_map ? p.keys[i] : key(m_spread.number_of(p.first, i));
  }
  /// Element `k` of that worker; null: there is none, or not yet, or no more.
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
  /// There are no elements any more, and there will be none.
  void clear(const array_part& p) noexcept { m_parts[p.index] = part(); }

 private:
  using map_type = std::function<std::size_t(const index_type&, std::uint64_t)>;
  struct alignas(64) part {
    std::uint64_t first = 0;  // of a formula
    std::vector<key> keys;    // of a user's map, ascending
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
  map_type m_map;  // empty: m_spread it is
  std::size_t m_total;
  std::vector<part> m_parts;  // by worker of this rank
};

}  // namespace starling::detail
