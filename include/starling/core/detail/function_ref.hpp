// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace starling::detail {

template <class Signature>
class function_ref;

/// Refers to a function object without its type: a parameter of functions that are no templates.
/// Valid as long as the function object. Never null.
template <class R, class... Args>
class function_ref<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref>)
      // NOLINTNEXTLINE(google-explicit-constructor): an argument is converted
      function_ref(F&& f)
  noexcept
      : m_object(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        m_call([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return m_call(m_object, std::forward<Args>(args)...); }

 private:
  void* m_object;
  R (*m_call)(void* object, Args... args);
};

}  // namespace starling::detail
