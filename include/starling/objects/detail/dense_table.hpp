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

/// Check the result of a user's map, and that there is a map. @throws usage_error
void require_worker_number(std::size_t worker, std::size_t count);
void require_map(bool is_there);

/// The local elements of a dense array on this rank, by number, without their type. Its size grows
/// with the elements of this rank.
class dense_elements {
 public:
  using key = std::uint32_t;  // 2^32 elements at most

  /// `is_mapped`: calls of `add` determine the elements of this rank; otherwise the placement rule
  /// does.
  dense_elements(const object_space& space, const placement_rule& how, bool is_mapped);
  /// Adds an element, in ascending order. Ignores it unless `here` is the number of a worker of
  /// this rank.
  void add(std::size_t here, key k) {
    if (here < m_tables.size()) m_tables[here].keys.push_back(k);
  }
  /// Allocates the memory for the elements. Called after the last `add`.
  void make_room();

  /// Returns the worker of an element by the placement rule. Not called if `is_mapped`.
  [[nodiscard]] std::size_t worker_of(key k) const noexcept { return m_spread.worker_of(k); }
  /// Returns the number of workers of all ranks.
  [[nodiscard]] std::size_t worker_total() const noexcept { return m_total; }

  // --- for a worker of this rank; called by that worker only, once messages are sent
  [[nodiscard]] std::size_t count(std::size_t worker) const noexcept {
    return m_tables[worker].elements.size();
  }
  [[nodiscard]] key key_at(std::size_t worker, std::size_t i) const noexcept {
    const local_table& t = m_tables[worker];
    return m_is_mapped ? t.keys[i] : key(m_spread.number_of(t.first, i));
  }
  /// Returns null when the element does not exist, not yet or no longer.
  [[nodiscard]] chare_core* find(std::size_t worker, key k) const noexcept {
    const local_table& t = m_tables[worker];
    const std::size_t i = position(t, k);
    if (i >= t.elements.size() || (m_is_mapped && t.keys[i] != k)) return nullptr;
    return t.elements[i];
  }
  void set(std::size_t worker, key k, chare_core* made) noexcept {
    local_table& t = m_tables[worker];
    t.elements[position(t, k)] = made;
  }
  /// Removes all elements. No element is added afterwards.
  void clear(std::size_t worker) noexcept { m_tables[worker] = local_table(); }

 private:
  struct alignas(64) local_table {
    std::uint64_t first = 0;  // from m_spread.first(), unless mapped
    std::vector<key> keys;    // element numbers if mapped, ascending
    std::vector<chare_core*> elements;
  };
  [[nodiscard]] std::size_t position(const local_table& t, key k) const noexcept {
    if (!m_is_mapped) return m_spread.position_of(t.first, k);
    return std::size_t(std::ranges::lower_bound(t.keys, k) - t.keys.begin());
  }

  spread m_spread;
  bool m_is_mapped;
  std::size_t m_total;
  std::vector<local_table> m_tables;  // by worker of this rank
};

/// Maps the numbers of a dense array to its elements. The worker of an element of another rank is
/// computed.
template <class T>
class dense_table {
 public:
  using index_type = typename T::index_type;
  using key = dense_elements::key;

  dense_table(const object_space& space, const shape<index_type>& extent, const placement_rule& how)
      : m_shape(extent), m_elements(space, how, false) {}
  /// Places element `number` with index `i` on worker `worker_of(i, number)` of all ranks. The map
  /// is called at each lookup. @throws usage_error when there is no such worker; the map's
  /// exceptions
  template <class Map>
  dense_table(const object_space& space, const shape<index_type>& extent, const Map& worker_of)
      : m_shape(extent), m_map(worker_of), m_elements(space, placement_rule(), true) {
    require_map(m_map != nullptr);
    const std::size_t count = extent.size();
    for (std::size_t n = 0; n < count; ++n)
      m_elements.add(this->worker_of(key(n)) - space.first_worker(), key(n));
    m_elements.make_room();
  }

  [[nodiscard]] const shape<index_type>& extent() const noexcept { return m_shape; }
  [[nodiscard]] key key_of(const index_type& i) const noexcept {
    return static_cast<key>(m_shape.number_of(i));
  }
  [[nodiscard]] index_type index_of(key k) const noexcept { return m_shape.index_of(k); }
  [[nodiscard]] std::size_t worker_of(key k) const {
    if (!m_map) return m_elements.worker_of(k);
    const std::size_t worker = m_map(m_shape.index_of(k), k);
    require_worker_number(worker, m_elements.worker_total());
    return worker;
  }

  // --- as dense_elements
  [[nodiscard]] std::size_t count(std::size_t worker) const noexcept {
    return m_elements.count(worker);
  }
  [[nodiscard]] key key_at(std::size_t worker, std::size_t i) const noexcept {
    return m_elements.key_at(worker, i);
  }
  [[nodiscard]] T* find(const local_elements& local, key k) const noexcept {
    return static_cast<T*>(m_elements.find(local.index, k));
  }
  void set(const local_elements& local, key k, T* made) noexcept {
    m_elements.set(local.index, k, made);
  }
  void clear(const local_elements& local) noexcept { m_elements.clear(local.index); }

 private:
  shape<index_type> m_shape;
  std::function<std::size_t(const index_type&, std::uint64_t)> m_map;  // empty: the rule
  dense_elements m_elements;
};

}  // namespace starling::detail
