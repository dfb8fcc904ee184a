// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <starling/core/detail/counted.hpp>
#include <starling/core/future.hpp>
#include <starling/objects/callback.hpp>
#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/reduction_tree.hpp>
#include <starling/objects/detail/send.hpp>

namespace starling {

namespace detail {

/// A list of values: std::vector, std::array and similar types, but not strings.
template <class V>
concept list_of_values = requires(V& v) {
  typename V::value_type;
  v.begin();
  v.size();
  v[0];
}
&&!std::is_convertible_v<const V&, std::string_view>;

/// @throws usage_error
[[noreturn]] void throw_other_length(std::size_t a, std::size_t b);

/// Applies `op` to the elements with equal positions. @throws usage_error when the lengths differ
template <list_of_values V, class Op>
[[nodiscard]] V each_of(V a, const V& b, const Op& op) {
  using value = typename V::value_type;
  if (a.size() != b.size()) throw_other_length(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = op(value(std::move(a[i])), value(b[i]));
  return a;
}

}  // namespace detail

/// Operations of reductions. Any function of two values that can be applied in any order and
/// grouping is an operation. If it is not exactly associative (a floating-point sum), the last bits
/// of the result may differ from run to run.
///
/// On lists (std::vector, std::array), `sum` to `any` work element by element: all contributions
/// must have the same length, else the reduction fails with usage_error.
namespace reduction {

struct sum {
  template <class V>
  V operator()(V a, V b) const {
    if constexpr (requires { V(a + b); })
      return a + b;
    else
      return detail::each_of(std::move(a), b, *this);
  }
};
struct product {
  template <class V>
  V operator()(V a, V b) const {
    if constexpr (requires { V(a * b); })
      return a * b;
    else
      return detail::each_of(std::move(a), b, *this);
  }
};
struct min {
  template <class V>
  V operator()(V a, V b) const {
    if constexpr (detail::list_of_values<V>)
      return detail::each_of(std::move(a), b, *this);
    else
      return b < a ? std::move(b) : std::move(a);
  }
};
struct max {
  template <class V>
  V operator()(V a, V b) const {
    if constexpr (detail::list_of_values<V>)
      return detail::each_of(std::move(a), b, *this);
    else
      return a < b ? std::move(b) : std::move(a);
  }
};
struct all {
  bool operator()(bool a, bool b) const noexcept { return a && b; }
  template <detail::list_of_values V>
  V operator()(V a, V b) const {
    return detail::each_of(std::move(a), b, *this);
  }
};
struct any {
  bool operator()(bool a, bool b) const noexcept { return a || b; }
  template <detail::list_of_values V>
  V operator()(V a, V b) const {
    return detail::each_of(std::move(a), b, *this);
  }
};
/// Concatenates containers, in unspecified order.
struct concatenate {
  template <class V>
  V operator()(V a, V b) const {
    if (a.size() < b.size()) std::swap(a, b);
    a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()));
    return a;
  }
};

}  // namespace reduction

namespace detail {

/// The value and the operation of a barrier.
struct nothing {
  nothing operator()(nothing, nothing) const noexcept { return {}; }
};

/// Makes a result that another rank has sent.
template <class V>
struct result_maker {
  using result = V;
  static constexpr auto made = remote_function::kind::value;
  static reduction_result make(input_archive& ar) { return result_of(ar.read<V>()); }
};

template <class V>
reduction_result result_of(V value) {
  reduction_result r{counted_owner(new counted_value<V>(std::move(value))), &typeid(V)};
  if constexpr (travels<V>)
    r.pack = [](const counted& of) {
      return pack_made<result_maker<V>>(static_cast<const counted_value<V>&>(of).value);
    };
  return r;
}

/// Handler that passes a result from rank 0 to the waiters of this rank.
template <class V>
struct remote_result {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto tree = a.space().reductions(ar.read<object_id>());
    const auto sequence = ar.read<std::uint32_t>();
    reduction_result result = result_of(ar.read<V>());
    require_end(ar);
    a.require(a.from() == 0, "results of reductions come from rank 0");
    if (tree != nullptr) tree->tell(sequence, result);
  }
};
struct remote_result_error {
  static void run(received_call& a);
};

/// The target that sends the result to the waiting contributors of all ranks.
template <class V>
class to_everyone final : public starling::callback<V>::target {
 public:
  using result = V;
  to_everyone(reduction_tree& tree, std::uint32_t sequence) noexcept
      : m_tree(tree), m_sequence(sequence) {}
  void deliver(V&& value) noexcept override {
    or_end_run(*worker::current(), [&] {
      if (job* j = m_tree.space().current_job()) {
        if constexpr (travels<V>)
          j->send_to_other_ranks(make_remote<remote_result<V>>({}, m_tree.id(), m_sequence, value));
        else
          refuse_to_travel<V>("a reduction");
      }
      m_tree.tell(m_sequence, result_of(std::move(value)));
    });
  }
  void fail(const std::exception_ptr& error) noexcept override {
    or_end_run(*worker::current(), [&] {
      if (job* j = m_tree.space().current_job())
        j->send_to_other_ranks(make_remote<remote_result_error>({}, m_tree.id(), m_sequence,
                                                                portable_error::of(error)));
      m_tree.tell(m_sequence, {.error = error});
    });
  }
  std::vector<std::byte> pack() override { return pack_made<to_everyone>(m_tree.id(), m_sequence); }
  static constexpr auto made = remote_function::kind::target;
  static counted_owner make(input_archive& ar) {
    const auto tree = receiving_space().reductions(ar.read<object_id>());
    if (tree == nullptr) ar.refuse(type_text<V>, "the section of its reduction has been destroyed");
    return counted_owner(new to_everyone(*tree, ar.read<std::uint32_t>()));
  }

 private:
  reduction_tree& m_tree;
  std::uint32_t m_sequence;
};

}  // namespace detail
}  // namespace starling
