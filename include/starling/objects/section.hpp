// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <starling/objects/proxy.hpp>

namespace starling {

namespace detail {

/// The elements of a section, worker by worker.
template <class T>
struct section_parts {
  using key = typename array_of<T>::key;
  struct part {
    std::vector<key> keys;
    std::unordered_map<key, std::uint32_t> next_reduction;  // its worker's alone
  };

  section_parts(array_of<T>& of, const std::vector<worker*>& workers)
      : array(of), reductions("a section of " + of.type(), workers), parts(workers.size()) {}

  array_of<T>& array;
  reduction_tree reductions;
  std::vector<part> parts;
};

/// @throws usage_error
[[noreturn]] void throw_not_in_section(const std::string& chare);
[[noreturn]] void throw_twice_in_section(const std::string& chare);

}  // namespace detail

/// Some elements of an array, to be sent to and reduced over like a whole one. A small value like
/// `element`; made by `make_section`. Thread-safe. An element that is destroyed before it has
/// contributed holds up the section's reductions.
template <class T>
class section {
 public:
  using key = typename detail::array_of<T>::key;

  explicit section(std::shared_ptr<detail::section_parts<T>> parts) noexcept
      : m_parts(std::move(parts)) {}

  /// Sends a message to every element of the section, behind all messages that the caller has sent
  /// them before.
  template <auto Entry, class... Args>
  void invoke(Args&&... args) const {
    detail::check_entry<Entry, T, Args...>();
    using arguments = typename detail::method<decltype(Entry)>::arguments;
    const auto shared = std::make_shared<const arguments>(std::forward<Args>(args)...);
    for (std::size_t w = 0; w < m_parts->parts.size(); ++w) {
      if (m_parts->parts[w].keys.empty()) continue;
      detail::array_part& p = m_parts->array.part(w);
      detail::send(*p.home,
                   *new detail::broadcast_message<Entry, T, members>(p, shared, members{m_parts}),
                   priority::normal);
    }
  }
  [[nodiscard]] detail::section_parts<T>& native() const noexcept { return *m_parts; }

 private:
  struct members {
    std::shared_ptr<detail::section_parts<T>> parts;
    template <class Of, class Visitor>
    void for_each(detail::array_part& p, Visitor visit) const {
      for (const key& k : parts->parts[p.index].keys) visit(k, parts->array.find(p, k));
    }
  };
  std::shared_ptr<detail::section_parts<T>> m_parts;
};

/// The elements of `array` with these indices, each named once.
/// @throws usage_error on an index that the array cannot have or that is named twice
template <class T>
[[nodiscard]] section<T> make_section(const chare_array<T>& array,
                                      const std::vector<typename T::index_type>& indices) {
  detail::array_of<T>& of = array.native();
  std::vector<detail::worker*> workers;
  for (std::size_t w = 0; w < of.part_count(); ++w) workers.push_back(of.part(w).home);
  auto parts = std::make_shared<detail::section_parts<T>>(of, workers);
  parts->reductions.belong_to(parts);
  for (const auto& index : indices) {
    static_cast<void>(array[index]);  // refuses what cannot be
    const auto key = of.table().key_of(index);
    const std::size_t w = of.table().worker_of(key);
    if (!parts->parts[w].next_reduction.try_emplace(key, 0).second)
      detail::throw_twice_in_section(of.name_of(key));
    parts->parts[w].keys.push_back(key);
    static_cast<void>(parts->reductions.site(w).join());
  }
  return section<T>(std::move(parts));
}

}  // namespace starling
