// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

/// Reference counting for class templates: compiles faster than std::shared_ptr, which generates
/// some twenty functions for each type.
namespace starling::detail {

/// Base of objects that are made by `new` and owned by `counted_ptr`s. The last owner deletes the
/// object. A pointer may become an owner right after `new`, and while another owner exists.
class counted {
 public:
  counted() noexcept = default;
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  virtual ~counted() = default;

 private:
  friend class counted_owner;
  // Relaxed to add an owner: the object is new, or another owner keeps it. Release and acquire to
  // remove one: the deletion follows all uses by other owners.
  mutable std::atomic<std::uint32_t> m_owners{0};
};

/// An owner of an object of any type, or of none.
class counted_owner {
 public:
  counted_owner() noexcept = default;
  explicit counted_owner(const counted* of) noexcept : m_object(of) { add(); }
  counted_owner(const counted_owner& other) noexcept : m_object(other.m_object) { add(); }
  counted_owner(counted_owner&& other) noexcept
      : m_object(std::exchange(other.m_object, nullptr)) {}
  counted_owner& operator=(counted_owner other) noexcept {
    std::swap(m_object, other.m_object);
    return *this;
  }
  ~counted_owner() {
    if (m_object != nullptr && m_object->m_owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete m_object;
  }
  [[nodiscard]] const counted* object() const noexcept { return m_object; }
  friend bool operator==(const counted_owner& o, std::nullptr_t) noexcept {
    return o.m_object == nullptr;
  }

 private:
  void add() const noexcept {
    if (m_object != nullptr) m_object->m_owners.fetch_add(1, std::memory_order_relaxed);
  }
  const counted* m_object = nullptr;
};

/// An owner of a `T`, which derives from `counted`, or of no object.
template <class T>
class counted_ptr {
 public:
  counted_ptr() noexcept = default;
  counted_ptr(std::nullptr_t) noexcept {}
  explicit counted_ptr(T* of) noexcept : m_owner(of) {}
  /// Takes the reference of an untyped owner. Its object must be a T.
  explicit counted_ptr(counted_owner of) noexcept : m_owner(std::move(of)) {}
  template <class Other>
  requires std::is_convertible_v<Other*, T*> counted_ptr(counted_ptr<Other> other)
  noexcept : m_owner(std::move(other).release()) {}

  [[nodiscard]] T* get() const noexcept {
    return const_cast<T*>(static_cast<const T*>(m_owner.object()));
  }
  [[nodiscard]] T& operator*() const noexcept { return *get(); }
  [[nodiscard]] T* operator->() const noexcept { return get(); }
  friend bool operator==(const counted_ptr& p, std::nullptr_t) noexcept {
    return p.m_owner == nullptr;
  }
  [[nodiscard]] counted_owner release() && noexcept { return std::move(m_owner); }

 private:
  counted_owner m_owner;
};

/// A value with several owners.
template <class V>
struct counted_value final : counted {
  template <class... Args>
  explicit counted_value(Args&&... args) : value(std::forward<Args>(args)...) {}
  V value;
};
/// Constant value, shared by messages to several workers.
template <class V>
using shared_value = counted_ptr<const counted_value<V>>;

}  // namespace starling::detail
