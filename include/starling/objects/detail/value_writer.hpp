// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <starling/core/detail/function_ref.hpp>
#include <starling/objects/archive.hpp>

namespace starling::detail {

/// Writes the values of a message, whose types it does not have, to a counting_archive or an
/// output_archive. A value of a message itself. Valid as long as the function object that it is
/// made of, which writes to both.
class value_writer {
 public:
  template <class Write>
  explicit value_writer(const Write& write) noexcept
      : m_write(&write),
        m_count([](const void* w, counting_archive& ar) { (*static_cast<const Write*>(w))(ar); }),
        m_store([](const void* w, output_archive& ar) { (*static_cast<const Write*>(w))(ar); }) {}

  void operator()(counting_archive& ar) const { m_count(m_write, ar); }
  void operator()(output_archive& ar) const { m_store(m_write, ar); }

 private:
  const void* m_write;
  void (*m_count)(const void* write, counting_archive& ar);
  void (*m_store)(const void* write, output_archive& ar);
};

template <class Out>
void save_value(Out& ar, const value_writer& values) {
  values(ar);
}

/// A function that uses the values of a message while they exist.
using value_user = function_ref<void(const value_writer&)>;
/// Calls `use` with a writer of `values`.
template <class... V>
void use_values(const value_user& use, const V&... values) {
  const auto write = [&](auto& ar) { (save_value(ar, values), ...); };
  use(value_writer(write));
}

}  // namespace starling::detail
