// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include <starling/core/error.hpp>

namespace Kokkos {
bool is_finalized() noexcept;  // declared by Kokkos itself from 3.7 on
}

/// A pool of instances of Kokkos' execution spaces. Needs no runtime.
namespace starling::kokkos {

/// Returns whether Kokkos has been finalised and cannot be initialised again. Always false before
/// version 3.7, which has no such query and allows another initialisation.
[[nodiscard]] inline bool is_over() noexcept {
  if constexpr (KOKKOS_VERSION >= 30700)
    return Kokkos::is_finalized();
  else
    return false;
}

/// Checks that Kokkos is initialised. @throws usage_error naming the remedy when it is not, or has
/// been finalised
inline void require_initialized(const char* call) {
  if (Kokkos::is_initialized()) return;
  throw usage_error(std::string("kokkos::") + call + ": Kokkos " +
                    (is_over() ? "has been finalised" : "is not initialised") +
                    "; create a Kokkos::ScopeGuard in main before the runtime and let it outlive "
                    "the runtime");
}

namespace detail {

/// Returns an independent instance if this Kokkos can create one (4.0 and later for Serial, 3.5 for
/// devices), else a copy of `base`.
template <class Space>
[[nodiscard]] Space fork(const Space& base) {
  using namespace Kokkos::Experimental;  // contains partition_space where it exists
  if constexpr (requires { partition_space(base, 1); })
    return partition_space(base, 1)[0];
  else
    return base;
}

/// The unused instances of a space. One pool per space and process, emptied when Kokkos is
/// finalised. Thread-safe.
template <class Space>
class instance_pool {
 public:
  [[nodiscard]] static instance_pool& shared() {
    static instance_pool& pool = *new instance_pool;  // leaked: Kokkos may end after all statics
    return pool;
  }

  [[nodiscard]] Space take() {
    const std::lock_guard lock(m_lock);
    if (!m_free.empty()) {
      Space instance = std::move(m_free.back());
      m_free.pop_back();
      return instance;
    }
    if (m_made == 0) Kokkos::push_finalize_hook([] { shared().clear(); });
    m_free.reserve(m_made + 1);  // so that give_back() cannot fail
    Space instance = fork(Space());
    ++m_made;
    return instance;
  }
  void give_back(Space&& instance) noexcept {
    const std::lock_guard lock(m_lock);
    m_free.push_back(std::move(instance));
  }

 private:
  void clear() {
    const std::lock_guard lock(m_lock);
    m_free.clear();
    m_made = 0;
  }

  std::mutex m_lock;
  std::vector<Space> m_free;
  std::size_t m_made = 0;
};

}  // namespace detail

/// An instance of `Space` for exclusive use: work on different instances is independent. Taken from
/// a pool of the process and returned by the destructor, which does not wait: work of the next user
/// runs after the work still queued on the instance. Must not outlive Kokkos. Move-only.
/// Construction costs a lock and, while the pool is empty, the creation of an instance.
///
/// Kokkos 3.4 has a single instance of each host space, including Serial. There, all `instance`
/// objects share it, and their work must not overlap (work started by this library does not).
template <class Space = Kokkos::DefaultExecutionSpace>
class instance {
 public:
  /// @throws usage_error when Kokkos is not initialised
  instance() : m_space(checked()) {}
  instance(instance&& other) noexcept
      : m_space(std::move(other.m_space)), m_held(std::exchange(other.m_held, false)) {}
  instance& operator=(instance&& other) noexcept {
    std::swap(m_space, other.m_space);
    std::swap(m_held, other.m_held);
    return *this;
  }
  ~instance() {
    if (m_held) detail::instance_pool<Space>::shared().give_back(std::move(m_space));
  }

  [[nodiscard]] const Space& get() const noexcept { return m_space; }
  operator const Space&() const noexcept { return m_space; }

 private:
  [[nodiscard]] static Space checked() {
    require_initialized("instance");
    return detail::instance_pool<Space>::shared().take();
  }

  Space m_space;
  bool m_held = true;
};

}  // namespace starling::kokkos
