// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include <starling/core/runtime.hpp>
#include <starling/objects/detail/array_base.hpp>

namespace starling {

/// A value that every chare may read: set once, before anybody knows of it, never changed. A small
/// handle to one copy for each rank: keep and send it. Valid as long as the runtime. Thread-safe.
template <class T>
class read_only {
 public:
  explicit read_only(const T& value) noexcept : m_value(&value) {}

  [[nodiscard]] const T& operator*() const noexcept { return *m_value; }
  [[nodiscard]] const T* operator->() const noexcept { return m_value; }

 private:
  const T* m_value;
};

/// Gives `value` to all ranks. Any thread. @throws std::bad_alloc
template <class T>
[[nodiscard]] read_only<T> make_read_only(runtime& rt, T value) {
  auto kept = std::make_shared<const T>(std::move(value));
  const T& shared = *kept;
  rt.service<detail::object_space>().keep(std::move(kept));
  return read_only<T>(shared);
}

}  // namespace starling
