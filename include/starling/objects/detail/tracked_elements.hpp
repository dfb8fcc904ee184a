// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <starling/objects/detail/location.hpp>

namespace starling::detail {

struct local_elements;

/// State of an element that has left its home once. Owned by the element and migrates with it; of a
/// destroyed element, by its home.
struct tracked_state {
  explicit tracked_state(std::uint32_t worker) noexcept : home(worker) {}

  std::uint32_t home;  // worker, among all ranks
  arrival_order order;
  // By the number of a section's reduction tree: contributions since the element is tracked.
  std::unordered_map<std::uint64_t, std::uint32_t> section_contributions;
};

/// The entries of the workers of this rank for tracked elements of an array. Entries are never
/// removed, so references to them stay valid. Each function is called by worker `on` only.
template <class T, class Key>
class tracked_elements {
 public:
  struct entry : location_entry {
    std::uint32_t home = 0;                    // worker, among all ranks
    T* element = nullptr;                      // if it is on this worker
    std::unique_ptr<tracked_state> destroyed;  // on the home: state of the destroyed element
    bool is_ending = false;                    // on the home: the array is being destroyed
    // On the home, for the next element with this index:
    tracked_list waiting;                   // messages to it, in order, which its insertion follows
    std::vector<std::uint32_t> insertions;  // on their way: see array_of::expect_again
    std::uint32_t next_reduction = 0;       // that of the destroyed element
  };

  explicit tracked_elements(std::size_t workers) : m_maps(workers) {}

  /// Returns the entry for `k`. At the first call for `k` makes it, with the home `home()`.
  template <class Home>
  [[nodiscard]] entry& at(std::size_t on, const Key& k, Home home) {
    if (entry* const known = find(on, k)) return *known;
    const auto worker = static_cast<std::uint32_t>(home());
    entry& e = m_maps[on].entries[k];
    e.home = e.known.worker = worker;
    return e;
  }
  /// Returns null if there is no entry for `k`.
  [[nodiscard]] entry* find(std::size_t on, const Key& k) noexcept {
    const auto found = m_maps[on].entries.find(k);
    return found == m_maps[on].entries.end() ? nullptr : &found->second;
  }
  template <class Visitor>
  void for_each(std::size_t on, Visitor visit) {
    for (auto& [k, e] : m_maps[on].entries) visit(k, e);
  }
  template <class Visitor>
  void for_each(std::size_t on, Visitor visit) const {
    for (const auto& [k, e] : m_maps[on].entries) visit(k, e);
  }

 private:
  struct alignas(64) map {
    std::unordered_map<Key, entry> entries;
  };
  std::vector<map> m_maps;
};

}  // namespace starling::detail
