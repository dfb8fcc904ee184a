// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <starling/core/detail/work_item.hpp>
#include <starling/objects/detail/send.hpp>

namespace starling::detail {

/// The messages of an array that wait for elements which may still be inserted. Each function is
/// called by worker `on` of this rank only.
template <class Key>
class early_messages {
 public:
  explicit early_messages(std::size_t workers);
  early_messages(const early_messages&) = delete;
  early_messages& operator=(const early_messages&) = delete;
  /// Discards the messages.
  ~early_messages();

  /// @throws std::bad_alloc
  void keep(std::size_t on, const Key& k, work_item& m);
  /// Processes the messages to element `k`, in order of arrival.
  void replay(std::size_t on, const Key& k) noexcept;
  void replay_all(std::size_t on) noexcept;
  [[nodiscard]] std::size_t count(std::size_t on) const noexcept;
  /// Discards the messages of all workers. After the run.
  void discard() noexcept;

 private:
  struct alignas(64) lists {
    std::unordered_map<Key, ready_list> of;
  };
  std::vector<lists> m_lists;
};

// Not in the class: see tracked_elements.
template <class Key>
early_messages<Key>::early_messages(std::size_t workers) : m_lists(workers) {}

template <class Key>
void early_messages<Key>::discard() noexcept {
  for (lists& l : m_lists)
    for (auto& [k, list] : l.of)
      while (promise_base* m = list.pop()) work_item::of(*m).discard();
}

template <class Key>
void early_messages<Key>::keep(std::size_t on, const Key& k, work_item& m) {
  m_lists[on].of[k].push(m.queued());
}

template <class Key>
void early_messages<Key>::replay(std::size_t on, const Key& k) noexcept {
  if (auto kept = m_lists[on].of.extract(k))
    while (promise_base* m = kept.mapped().pop()) resume_here(*m);
}

template <class Key>
void early_messages<Key>::replay_all(std::size_t on) noexcept {
  auto& of = m_lists[on].of;
  while (!of.empty()) replay(on, of.begin()->first);
}

template <class Key>
std::size_t early_messages<Key>::count(std::size_t on) const noexcept {
  std::size_t n = 0;
  for (const auto& [k, list] : m_lists[on].of) n += list.size();
  return n;
}

template <class Key>
early_messages<Key>::~early_messages() {
  discard();
}

/// The keys of dense arrays.
extern template class early_messages<std::uint32_t>;

}  // namespace starling::detail
