// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <starling/core/detail/function_ref.hpp>
#include <starling/objects/detail/location.hpp>

namespace starling::detail {

class chare_core;
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
template <class Key>
class tracked_elements {
 public:
  struct entry : location_entry {
    std::uint32_t home = 0;                    // worker, among all ranks
    chare_core* element = nullptr;             // if it is on this worker
    std::unique_ptr<tracked_state> destroyed;  // on the home: state of the destroyed element
    bool is_ending = false;                    // on the home: the array is being destroyed
    // On the home, for the next element with this index:
    tracked_list waiting;                   // messages to it, in order, which its insertion follows
    std::vector<std::uint32_t> insertions;  // on their way: see array_of::expect_again
    std::uint32_t next_reduction = 0;       // that of the destroyed element
  };
  using visitor = function_ref<void(const Key& k, entry& e)>;
  using const_visitor = function_ref<void(const Key& k, const entry& e)>;

  explicit tracked_elements(std::size_t workers);
  tracked_elements(const tracked_elements&) = delete;
  tracked_elements& operator=(const tracked_elements&) = delete;
  ~tracked_elements();

  /// Returns the entry for `k`. At the first call for `k` makes it, with the home `home()`.
  [[nodiscard]] entry& at(std::size_t on, const Key& k, function_ref<std::size_t()> home);
  /// Returns null if there is no entry for `k`.
  [[nodiscard]] entry* find(std::size_t on, const Key& k) noexcept;
  void for_each(std::size_t on, visitor visit);
  void for_each(std::size_t on, const_visitor visit) const;

 private:
  struct alignas(64) map {
    std::unordered_map<Key, entry> entries;
  };
  std::vector<map> m_maps;
};

// Not in the class: a source file does not compile them again for dense arrays, see below.
template <class Key>
tracked_elements<Key>::tracked_elements(std::size_t workers) : m_maps(workers) {}

template <class Key>
tracked_elements<Key>::~tracked_elements() = default;

template <class Key>
auto tracked_elements<Key>::at(std::size_t on, const Key& k, function_ref<std::size_t()> home)
    -> entry& {
  if (entry* const known = find(on, k)) return *known;
  const auto worker = static_cast<std::uint32_t>(home());
  entry& e = m_maps[on].entries[k];
  e.home = e.known.worker = worker;
  return e;
}

template <class Key>
auto tracked_elements<Key>::find(std::size_t on, const Key& k) noexcept -> entry* {
  const auto found = m_maps[on].entries.find(k);
  return found == m_maps[on].entries.end() ? nullptr : &found->second;
}

template <class Key>
void tracked_elements<Key>::for_each(std::size_t on, visitor visit) {
  for (auto& [k, e] : m_maps[on].entries) visit(k, e);
}

template <class Key>
void tracked_elements<Key>::for_each(std::size_t on, const_visitor visit) const {
  for (const auto& [k, e] : m_maps[on].entries) visit(k, e);
}

/// The keys of dense arrays.
extern template class tracked_elements<std::uint32_t>;

}  // namespace starling::detail
