// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <starling/objects/detail/remote_tracked.hpp>

/// Elements in checkpoints: whether `resumed()` continues, the messages in the mailbox, then what
/// the class's `serialize` writes.
namespace starling::detail {

/// Throws usage_error: the elements of `array` cannot be stored.
[[noreturn]] void throw_cannot_be_stored(const array_base& array);
/// Throws entry_error: reading the state of `chare` has thrown `cause`.
[[noreturn]] void throw_unreadable(const std::string& chare, const std::exception_ptr& cause);
/// Throws archive_error: `serialize` of `chare` has left `bytes` bytes of its state.
[[noreturn]] void throw_unread_state(const std::string& chare, std::size_t bytes);

/// Reads the key of an element from its index. @throws archive_error
template <class T>
[[nodiscard]] typename array_of<T>::key stored_key(const table_of<T>& table,
                                                   std::span<const std::byte> index) {
  input_archive ar(index);
  const auto i = ar.read<typename T::index_type>();
  require_end(ar);
  if constexpr (dense_index<typename T::index_type>)
    if (!table.extent().contains(i)) ar.refuse("an index", "the array has no such element");
  return table.key_of(i);
}

/// Writes the messages in the mailbox of an element, with the names of their makers: numbers may
/// differ in another build of the program.
void save_mail(chare_core& c, output_archive& ar);

/// Reads what save_mail has written. @throws archive_error
template <class T>
void load_mail(T& element, const address<T>& at, input_archive& ar) {
  for (auto letters = ar.read<std::uint64_t>(); letters != 0; --letters) {
    const auto f = find_remote_function(ar.read<std::string>(), remote_function::kind::mail);
    if (*f.result != typeid(T)) ar.refuse(f.name, "it is for elements of another type");
    const auto arguments = ar.read<std::vector<std::byte>>();
    input_archive from(arguments);
    using maker = awaited_message&(const address<T>&, input_archive&);
    awaited_message& m = reinterpret_cast<maker*>(f.address)(at, from);
    static_cast<void>(element.element_state().mail.deliver(m));
    require_end(from);
  }
}

template <class T>
void array_of<T>::save_index(chare_core& c, output_archive& ar) const {
  if constexpr (migrates_between_ranks<T>)
    save_value(ar, m_table.index_of(key_of(static_cast<T&>(c))));
}

template <class T>
void array_of<T>::save_state(chare_core& c, output_archive& ar) {
  if constexpr (migrates_between_ranks<T>) {
    save_value(ar, c.resumes_after_restart());
    save_mail(c, ar);
    static_cast<T&>(c).serialize(ar);
  } else {
    throw_cannot_be_stored(*this);
  }
}

template <class T>
std::size_t array_of<T>::home_of_stored(std::span<const std::byte> index) const {
  if constexpr (migrates_between_ranks<T>)
    return m_table.worker_of(stored_key<T>(m_table, index));
  else
    throw_cannot_be_stored(*this);
}

template <class T>
bool array_of<T>::load_element(local_elements& home, std::span<const std::byte> index,
                               std::span<const std::byte> state) {
  if constexpr (!migrates_between_ranks<T>) {
    throw_cannot_be_stored(*this);
  } else {
    const key k = stored_key<T>(m_table, index);
    try {
      if (find(home, k) != nullptr) throw archive_error("the checkpoint has its state twice");
      input_archive ar(state);
      const auto resumes = ar.read<bool>();
      arriving<T> made = make_migrated(*this, k, home);
      if (made == nullptr) return false;
      load_mail(*made, address<T>{&home, k}, ar);
      const loading_state here(*made);
      made->serialize(ar);
      if (ar.left_over() != 0) throw_unread_state(name_of(k), ar.left_over());
      m_table.set(home, k, made.get());
      home.add(*made);
      static_cast<void>(made.release());
      return resumes;
    } catch (...) {
      throw_unreadable(name_of(k), std::current_exception());
    }
  }
}

template <class T>
void array_of<T>::resume_stored(local_elements& home, std::span<const std::byte> index) {
  if constexpr (migrates_between_ranks<T>) {
    const key k = stored_key<T>(m_table, index);
    if (T* const element = find(home, k)) start_resumed(home, k, *element);
  }
}

}  // namespace starling::detail
