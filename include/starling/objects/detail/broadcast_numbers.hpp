// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/tracked_elements.hpp>

/// The numbers of broadcasts in the sequences to tracked elements. Not in the classes: see
/// tracked_elements.
namespace starling::detail {

/// Returns the calling worker; null on a thread that is no worker of the elements' runtime.
[[nodiscard]] inline worker* worker_beside(const array_base& array) noexcept {
  worker* const here = worker::current();
  return here != nullptr && &here->owner() == &array.space().workers()[0]->owner() ? here : nullptr;
}

/// The numbers of one message in the sequences of its sender to several elements.
template <class Key>
struct sequence_numbers {
  std::uint32_t sender = ticket::no_sender;
  std::unordered_map<Key, std::uint64_t> of;

  /// Removes the number for an element and returns the position of the message to it.
  [[nodiscard]] ticket take(const Key& k, starling::priority order);
};

template <class Key>
ticket sequence_numbers<Key>::take(const Key& k, starling::priority order) {
  ticket t{.priority = order};
  if (const auto mine = of.extract(k)) {
    t.sender = sender;
    t.number = mine.mapped();
  }
  return t;
}

/// The numbers of one broadcast in the sequences of the calling worker.
template <class Key>
class broadcast_numbers {
 public:
  using numbers = sequence_numbers<Key>;
  using sent = std::vector<std::pair<Key, std::uint64_t>>;
  using predicate = function_ref<bool(const local_elements& home, const Key& k)>;

  /// `tracked`: those of the array. `reaches(home, k)`: whether the broadcast is sent to that home
  /// and may reach element k.
  broadcast_numbers(array_base& array, tracked_elements<Key>& tracked, starling::priority priority,
                    predicate reaches);
  broadcast_numbers(const broadcast_numbers&) = delete;
  broadcast_numbers& operator=(const broadcast_numbers&) = delete;
  ~broadcast_numbers();
  /// Uses the numbers. Called before the next message is sent, unless this one is not sent.
  void use() noexcept {
    for (location_entry* e : m_entries) ++e->sent[std::size_t(m_priority)];
  }
  [[nodiscard]] std::uint32_t sender() const noexcept { return m_sender; }
  /// Returns the numbers for elements with a home on another rank.
  [[nodiscard]] const sent& elsewhere() const noexcept { return m_elsewhere; }
  /// Takes those for elements with this home; null if there are none.
  [[nodiscard]] std::unique_ptr<numbers> take(const local_elements& home);

 private:
  [[nodiscard]] std::unordered_map<Key, std::uint64_t>& of_home(const local_elements& home);

  starling::priority m_priority;
  std::uint32_t m_sender = ticket::no_sender;
  std::vector<location_entry*> m_entries;
  std::unordered_map<std::uint32_t, std::unique_ptr<numbers>> m_here;  // by worker
  sent m_elsewhere;
};

template <class Key>
broadcast_numbers<Key>::broadcast_numbers(array_base& array, tracked_elements<Key>& tracked,
                                          starling::priority priority, predicate reaches)
    : m_priority(priority) {
  worker* const here = array.has_tracked() ? worker_beside(array) : nullptr;
  if (here == nullptr) [[likely]]
    return;
  m_sender = array.worker_number(*here);
  using entry = typename tracked_elements<Key>::entry;
  tracked.for_each(here->index(), [&](const Key& k, entry& e) {
    const std::uint64_t last = e.sent[std::size_t(priority)];
    const local_elements& home = *array.locate_worker(e.home).local;
    if (last == 0 || !home.has_tracked() || !reaches(home, k)) return;
    m_entries.push_back(&e);
    if (home.home == nullptr)
      m_elsewhere.emplace_back(k, last + 1);
    else
      of_home(home).emplace(k, last + 1);
  });
}

template <class Key>
broadcast_numbers<Key>::~broadcast_numbers() = default;

template <class Key>
auto broadcast_numbers<Key>::take(const local_elements& home) -> std::unique_ptr<numbers> {
  if (m_here.empty()) return nullptr;
  const auto found = m_here.find(home.index);
  return found == m_here.end() ? nullptr : std::move(found->second);
}

template <class Key>
std::unordered_map<Key, std::uint64_t>& broadcast_numbers<Key>::of_home(
    const local_elements& home) {
  auto& at = m_here[home.index];
  if (at == nullptr) at.reset(new numbers{m_sender, {}});
  return at->of;
}

/// The keys of dense arrays.
extern template struct sequence_numbers<std::uint32_t>;
extern template class broadcast_numbers<std::uint32_t>;

/// Accepts every element.
inline constexpr auto any_element = [](const auto&, const auto&) { return true; };

}  // namespace starling::detail
