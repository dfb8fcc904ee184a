// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include <starling/core/runtime.hpp>
#include <starling/objects/detail/job.hpp>
#include <starling/objects/detail/object_space.hpp>
#include <starling/objects/detail/stored_ids.hpp>

namespace starling {

/// A constant that every chare may read. A small handle, which can be stored and sent, to one copy
/// of the value on each rank; the value never changes. Valid as long as the runtime. Thread-safe.
template <class T>
class read_only {
 public:
  read_only(const T& value, detail::object_id id) noexcept : m_value(&value), m_id(id) {}

  [[nodiscard]] const T& operator*() const noexcept { return *m_value; }
  [[nodiscard]] const T* operator->() const noexcept { return m_value; }
  [[nodiscard]] detail::object_id id() const noexcept { return m_id; }

 private:
  const T* m_value;
  detail::object_id m_id;
};

namespace detail {

/// Handler that stores this rank's copy of a value of another rank.
template <class T>
struct remote_value {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto id = a.space().read_new_id(a.from(), ar);
    auto value = std::make_shared<const T>(ar.read<T>());
    require_end(ar);
    a.space().keep(id, std::move(value));
  }
};

}  // namespace detail

/// Copies `value` to all ranks and returns its handle. Any thread. @throws std::bad_alloc;
/// usage_error when there are several ranks and the value cannot travel
template <class T>
[[nodiscard]] read_only<T> make_read_only(runtime& rt, T value) {
  auto& space = rt.service<detail::object_space>();
  const detail::object_id id = space.next_id();
  auto kept = std::make_shared<const T>(std::move(value));
  const T& shared = *kept;
  if (detail::job* j = space.current_job()) {
    if constexpr (travels<T>)
      j->send_to_other_ranks(detail::make_remote_for<detail::remote_value<T>>(*j, {}, id, shared));
    else
      detail::refuse_to_travel<T>("make_read_only");
  }
  space.keep(id, std::move(kept));
  return read_only<T>(shared, id);
}

template <class T>
struct codec<read_only<T>> {
  template <class Archive>
  static void save(Archive& ar, const read_only<T>& r) {
    ar(detail::written_id(r.id()));
  }
  static read_only<T> load(input_archive& ar) {
    const auto id = detail::read_id(ar.read<std::uint64_t>());
    return read_only<T>(*detail::receiving_space().value<T>(id), id);
  }
};

}  // namespace starling
