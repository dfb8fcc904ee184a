// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <starling/core/detail/counted.hpp>
#include <starling/core/error.hpp>
#include <starling/objects/proxy.hpp>
#include <starling/objects/reduction.hpp>

namespace starling {

namespace detail {

/// The elements of a section on this rank, by worker.
template <class T>
struct section_elements {
  using key = typename array_of<T>::key;
  struct on_worker {
    std::vector<key> keys;
    std::unordered_map<key, std::uint32_t> next_reduction;  // accessed by that worker only
  };

  section_elements(array_of<T>& of, object_id id)
      : array(of), reductions(of.space(), id, "a section of " + of.type()),
        by_worker(of.worker_count()) {}

  /// Adds the section's elements on this rank to `by_worker` and the other elements' ranks to
  /// `other_ranks`.
  void add(const std::vector<key>& all) {
    for (const key& k : all) {
      const local_elements& local = *array.locate(k).local;
      if (local.home == nullptr) {
        other_ranks.push_back(int(local.index));
        continue;
      }
      by_worker[local.index].next_reduction.try_emplace(k, 0);
      by_worker[local.index].keys.push_back(k);
      reductions.site(local.index).join();
    }
    std::ranges::sort(other_ranks);
    const auto rest = std::ranges::unique(other_ranks);
    other_ranks.erase(rest.begin(), rest.end());
  }

  array_of<T>& array;
  reduction_tree reductions;
  std::vector<on_worker> by_worker;
  std::vector<int> other_ranks;  // ranks that have elements of the section, ascending
};

/// Returns the error of a contribution to a section that does not contain the chare.
[[nodiscard]] usage_error not_in_section(const std::string& chare);
/// @throws usage_error
[[noreturn]] void throw_twice_in_section(const std::string& chare);

/// Returns the section with this id, which is stored on each rank. @throws not_made_yet,
/// archive_error
template <class T>
[[nodiscard]] std::shared_ptr<section_elements<T>> section_of(const object_space& space,
                                                              object_id id) {
  return std::const_pointer_cast<section_elements<T>>(space.value<section_elements<T>>(id));
}

/// Handler that makes this rank's copy of a section.
template <class T>
struct remote_section {
  static void run(received_call& a) {
    using key = typename array_of<T>::key;
    input_archive ar = a.arguments();
    const auto id = a.space().read_new_id(a.from(), ar);
    auto& array = read_array<T>(a.space(), ar);
    const auto keys = ar.read<std::vector<key>>();
    require_end(ar);
    if constexpr (dense_index<typename T::index_type>)
      for (const key k : keys)
        a.require(k < array.table().extent().size(), "a section of elements that cannot be");
    const auto elements = std::make_shared<section_elements<T>>(array, id);
    elements->add(keys);
    elements->reductions.belong_to(elements);
    a.space().keep(id, elements, &elements->reductions);
  }
};

/// Handler that ends a section on one worker. Sent after the sender's messages to the section.
template <class T>
struct remote_end_of_section {
  static void run(received_call& a) {
    const auto [id] = read_arguments<object_id>(a);
    const auto elements = section_of<T>(a.space(), id);
    elements->reductions.site(a.worker_index()).give_up();
  }
};

/// Stores a section under its id and sends it to the other ranks; with one rank does nothing.
/// @throws usage_error when the indices cannot travel
template <class T>
void share_section(array_of<T>& of, const std::shared_ptr<section_elements<T>>& elements,
                   const std::vector<typename array_of<T>::key>& keys) {
  job* j = of.space().current_job();
  if (j == nullptr) return;
  if constexpr (travels<typename array_of<T>::key>) {
    const object_id id = elements->reductions.id();
    of.space().keep(id, elements, &elements->reductions);
    j->send_to_other_ranks(make_remote<remote_section<T>>({}, id, of.id(), keys));
  } else {
    refuse_to_travel<typename array_of<T>::key>("a section");
  }
}

}  // namespace detail

/// Some elements of an array, for broadcasts to them and reductions over them. A small value like
/// `element`; made by `make_section`. Thread-safe. A reduction over the section does not complete
/// if an element is destroyed before it has contributed.
template <class T>
class section {
 public:
  using key = typename detail::array_of<T>::key;

  explicit section(std::shared_ptr<detail::section_elements<T>> elements) noexcept
      : m_elements(std::move(elements)) {}

  /// Sends a message to every element of the section, after all messages that the caller has sent
  /// to it before. @throws usage_error as element::invoke; the message is sent to no element then
  template <auto Entry, class... Args>
  void invoke(Args&&... args) const {
    detail::check_entry<Entry, T, Args...>();
    if constexpr (detail::fits_message<Entry, T, Args...>) {
      using arguments = typename detail::method<decltype(Entry)>::arguments;
      send<Entry>(detail::shared_value<arguments>(
          new detail::counted_value<arguments>(std::forward<Args>(args)...)));
    }
  }
  /// Destroys the section on all ranks, after the messages that the caller has sent to it. Call it
  /// once, after the results of all its reductions have been computed (waiting elements may receive
  /// them later) and after the messages of other ranks that are sent to it or contain it have
  /// arrived. With one rank it does nothing: the section ends with its last copy. A later message
  /// to the section, contribution or second call is an error that ends the run.
  /// @throws std::bad_alloc
  void destroy() const {
    detail::object_space& space = m_elements->array.space();
    detail::job* j = space.current_job();
    if (j == nullptr) return;
    for (std::size_t w = 0; w < m_elements->by_worker.size(); ++w)
      detail::send_call(
          *space.workers()[w],
          [elements = m_elements, w] { elements->reductions.site(w).give_up(); }, priority::normal);
    j->send_to_other_ranks(detail::make_remote<detail::remote_end_of_section<T>>(
        {detail::remote_header::every_worker, priority::normal}, m_elements->reductions.id()));
  }
  [[nodiscard]] detail::section_elements<T>& state() const noexcept { return *m_elements; }

 private:
  template <auto Entry, class Arguments>
  void send(const detail::shared_value<Arguments>& shared) const {
    detail::array_of<T>& array = m_elements->array;
    detail::broadcast_numbers<key> numbers(
        array, array.tracked(), priority::normal,
        [this](const detail::local_elements& home, const key& k) {
          return home.home == nullptr
                     ? std::ranges::binary_search(m_elements->other_ranks, int(home.index))
                     : m_elements->by_worker[home.index].next_reduction.contains(k);
        });
    detail::broadcast_remote<Entry, T>(array, priority::normal, members{m_elements}, shared->value,
                                       numbers);
    numbers.use();
    for (std::size_t w = 0; w < m_elements->by_worker.size(); ++w) {
      if (m_elements->by_worker[w].keys.empty()) continue;
      detail::local_elements& local = array.local(w);
      detail::send(*local.home,
                   *new detail::broadcast_message<Entry, T, members>(
                       local, shared, members{m_elements}, numbers.take(local)),
                   priority::normal);
    }
  }

  struct members {
    static constexpr bool drops_if_missing = false;
    std::shared_ptr<detail::section_elements<T>> elements;
    template <class Of, class Visitor>
    void for_each(detail::local_elements& local, Visitor visit) const {
      for (const key& k : elements->by_worker[local.index].keys)
        visit(k, elements->array.find(local, k));
    }
    [[nodiscard]] std::span<const int> ranks_beside(const detail::job&) const noexcept {
      return elements->other_ranks;
    }
    [[nodiscard]] detail::object_id id() const noexcept { return elements->reductions.id(); }
    [[nodiscard]] static members load(const detail::array_of<T>& array, input_archive& ar) {
      auto elements = detail::section_of<T>(array.space(), ar.read<detail::object_id>());
      if (&elements->array != &array) ar.refuse("a section", "it is of another array");
      return {std::move(elements)};
    }
  };
  std::shared_ptr<detail::section_elements<T>> m_elements;
};

/// Returns the section of the elements of `array` with these indices, each given once. In a job of
/// several ranks every rank stores it until `destroy` or the end of the run.
/// @throws usage_error on an index that the array cannot have or that is given twice
template <class T>
[[nodiscard]] section<T> make_section(const chare_array<T>& array,
                                      const std::vector<typename T::index_type>& indices) {
  detail::array_of<T>& of = array.state();
  std::vector<typename section<T>::key> keys;
  std::unordered_set<typename section<T>::key> named;
  for (const auto& index : indices) {
    static_cast<void>(array[index]);  // throws on an index that the array cannot have
    keys.push_back(of.table().key_of(index));
    if (!named.insert(keys.back()).second) detail::throw_twice_in_section(of.name_of(keys.back()));
  }
  auto elements = std::make_shared<detail::section_elements<T>>(of, of.space().next_id());
  elements->add(keys);
  elements->reductions.belong_to(elements);
  detail::share_section<T>(of, elements, keys);
  return section<T>(std::move(elements));
}

template <class T>
struct codec<section<T>> {
  template <class Archive>
  static void save(Archive& ar, const section<T>& s) {
    detail::refuse_in_checkpoint("a section");
    ar(s.state().reductions.id());
  }
  static section<T> load(input_archive& ar) {
    return section<T>(
        detail::section_of<T>(detail::receiving_space(), ar.read<detail::object_id>()));
  }
};

}  // namespace starling
