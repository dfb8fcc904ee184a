// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include <starling/resident/chare.hpp>
#include <starling/resident/detail/arguments.hpp>
#include <starling/resident/entry.hpp>

/// Calls of an entry method with the arguments of a message, by all threads of a group.
namespace starling::resident::detail {

template <class Core, class Parameters>
[[nodiscard]] constexpr const void* payload_at(const Core& core, const message& m,
                                               const payload& p) noexcept {
  const auto& w = core.shared();
  if (m.storage() == payload_storage::block) return w.block(p.scheduler, p.device, p.number);
  if (m.storage() == payload_storage::staged) return core.heap.block(p.number);  // in the heap
  if (m.storage() == payload_storage::reference) return core.memory.lent_at(p.lent);
  return m.arguments + Parameters::inlined_offset();
}

template <class Parameters, std::size_t Which, class Core>
[[nodiscard]] constexpr auto argument(const Core& core, const message& m) noexcept {
  using T = typename Parameters::template type<Which>;
  if constexpr (is_span<T>) {
    const auto p = read_at<payload>(m, 0);
    const void* const at = payload_at<Core, Parameters>(core, m, p);
    return T(static_cast<typename T::pointer>(at), p.count);
  } else {
    constexpr std::size_t at = Parameters::offset(Which);
    return read_at<T>(m, at);
  }
}

template <auto Method, class Context, class Core, class Chare, class... Args>
[[gnu::always_inline]] constexpr void call_with(Context& cx, const Core& core, Chare& self,
                                                const message& m, parameters<Args...>) noexcept {
  // Expands I alone: nvcc 12.4 fails where a lambda expands Args with it.
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (self.*Method)(cx, argument<parameters<Args...>, I>(core, m)...);
  }
  (std::index_sequence_for<Args...>());
}

/// Makes lent memory readable here. Returns false after a failure: there is no room for a copy.
template <class Context, class Core, class... Args>
[[nodiscard]] constexpr bool fetch_lent(const Context& cx, Core& core, const message& m,
                                        parameters<Args...>) noexcept {
  if (m.storage() != payload_storage::reference) return true;
  const auto p = read_at<payload>(m, 0);
  const auto bytes = std::uint64_t(p.count) * sizeof(typename last_of<Args...>::value_type);
  cx.once([&] { core.memory.fetch(p.lent, bytes); });
  return core.memory.lent_at(p.lent) != nullptr;
}

template <auto Method, class Context, class Core>
[[gnu::always_inline]] constexpr void call_entry(Context& cx, Core& core, chare* object,
                                                 const message& m) noexcept {
  using types = types_of<Method>;
  if constexpr (!Core::reaches_all && types::arguments::has_span())
    if (!fetch_lent(cx, core, m, typename types::arguments{})) return;
  call_with<Method>(cx, core, *static_cast<typename types::chare*>(object), m,
                    typename types::arguments{});
}

}  // namespace starling::resident::detail
