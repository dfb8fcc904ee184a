// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <new>
#include <type_traits>

#include <starling/resident/chare.hpp>
#include <starling/resident/detail/scheduler_core.hpp>

namespace starling::resident::detail {

/// Makes the elements of an array that are created on this scheduler. Called by all threads of the
/// scheduler's group.
template <class Chare, class Group>
constexpr void make_elements(Group& group, scheduler_core<Group>& core, const array_info& info,
                             std::uint32_t array) noexcept {
  static_assert(std::is_trivially_destructible_v<Chare>, "elements are never destroyed");
  static_assert(!std::is_polymorphic_v<Chare>, "chares have no virtual functions");
  static_assert(alignof(Chare) <= 128, "elements are aligned to 128 bytes");
  const near_array& here = core.array(array);
  const auto* indices = core.shared().template at<std::uint32_t>(core.device(), info.indices);
  for (std::uint32_t s = here.first + group.rank(); s < here.end; s += group.size()) {
    auto* const made = ::new (static_cast<void*>(core.object(array, s))) Chare();
    element_state& e = static_cast<chare*>(made)->state();
    e.index = indices[s];
    e.slot = s;
    e.born = core.self();
    Group::store(&e.home, core.self());  // other schedulers may read it
    e.array = array;
  }
}

}  // namespace starling::resident::detail
