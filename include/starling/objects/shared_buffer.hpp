// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <starling/objects/archive.hpp>

namespace starling {

/// Immutable elements and their owner: an argument of an entry method that is not copied, unlike a
/// vector. Copies share the elements. Large buffers are sent to another rank without packing and
/// are used in the memory of the received message; within a rank no element is copied.
///
/// Any thread may read the elements. T must travel as bytes: of fixed size, trivially copyable.
template <class T>
class shared_buffer {
  static_assert(detail::is_bytes<T>() && alignof(T) <= 16,
                "elements of a shared_buffer travel as bytes, at multiples of 16");

 public:
  using value_type = T;

  shared_buffer() noexcept = default;
  /// Takes ownership of the elements. @throws std::bad_alloc
  explicit shared_buffer(std::vector<T> elements) {
    const auto owner = std::make_shared<const std::vector<T>>(std::move(elements));
    *this = shared_buffer({owner->data(), owner->size()}, owner);
  }
  /// Refers to `elements`, which belong to `owner`. They must not be written until `owner` has been
  /// released or, if the ranks have such a protocol, until the last reader has reported its end.
  /// Any thread may release `owner`; after a failure of a rank, perhaps only the end of the
  /// transport.
  shared_buffer(std::span<const T> elements, std::shared_ptr<const void> owner) noexcept
      : m_owner(std::move(owner)), m_elements(elements) {}

  [[nodiscard]] std::size_t size() const noexcept { return m_elements.size(); }
  [[nodiscard]] bool empty() const noexcept { return m_elements.empty(); }
  [[nodiscard]] const T* data() const noexcept { return m_elements.data(); }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size(); }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return m_elements[i]; }
  [[nodiscard]] std::span<const T> elements() const noexcept { return m_elements; }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return m_owner; }

 private:
  std::shared_ptr<const void> m_owner;
  std::span<const T> m_elements;
};

template <class T>
struct codec<shared_buffer<T>> {
  template <class Out>
  static void save(Out& ar, const shared_buffer<T>& b) {
    detail::save_number(ar, b.size());
    ar.share(std::as_bytes(b.elements()), b.owner());
  }
  static shared_buffer<T> load(input_archive& ar) {
    const std::uint64_t count = ar.read<std::uint64_t>();
    if (count > ar.left() / sizeof(T)) ar.refuse_count(type, count, sizeof(T));
    auto [from, owner] = ar.take_shared(count * sizeof(T), alignof(T), type);
    if (owner == nullptr) {
      std::vector<T> copy(count);
      if (count != 0) std::memcpy(copy.data(), from, count * sizeof(T));
      return checked(ar, shared_buffer<T>(std::move(copy)));
    }
    const std::span elements(reinterpret_cast<const T*>(from), count);
    return checked(ar, shared_buffer<T>(elements, std::move(owner)));
  }

 private:
  static constexpr std::string_view type = detail::type_text<shared_buffer<T>>;
  static shared_buffer<T> checked(const input_archive& ar, shared_buffer<T> b) {
    if constexpr (detail::holds_bool<T>())
      for (const T& each : b)
        if (!detail::has_valid_bools(each)) ar.refuse(type, "a bool is neither 0 nor 1");
    return b;
  }
};

}  // namespace starling
