// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include <Kokkos_Core.hpp>

#include <starling/core/error.hpp>
#include <starling/core/future.hpp>
#include <starling/device/interop/kokkos_bridge.hpp>
#include <starling/device/interop/kokkos_instance.hpp>

/// Implementation of kokkos.hpp: kernels and copies as work objects, and their execution on
/// workers, on native streams and in place.
namespace starling::kokkos::detail {

/// Returns an address that identifies the instance; null if the space has a single instance.
template <class Space>
[[nodiscard]] const void* identity_of(const Space& space) noexcept {
  if constexpr (requires { space.impl_internal_space_instance(); })
    return space.impl_internal_space_instance();
  else
    return nullptr;
}

// --- kernels and copies. Each has `result`, `pieces()`, `run(piece)` and `take()`.

/// Reducers of Kokkos, such as Kokkos::Max<double>; values of other types are summed.
template <class R>
concept reducer = requires {
  typename R::reducer;
  typename R::value_type;
};
template <class R>
struct value_of {
  using type = R;
};
template <reducer R>
struct value_of<R> {
  using type = typename R::value_type;
};

template <class Derived>
struct whole {  // runs as one piece
  [[nodiscard]] std::int64_t pieces() const noexcept { return 1; }
  void run(std::int64_t) { static_cast<Derived&>(*this).dispatch(); }
};

struct nothing : whole<nothing> {
  using result = void;
  void dispatch() const noexcept {}
  void take() const noexcept {}
};

template <class Policy, class F>
struct for_work : whole<for_work<Policy, F>> {
  using result = void;
  for_work(const Policy& p, const F& body) : policy(p), f(body) {}
  void dispatch() { Kokkos::parallel_for(policy, f); }
  void take() const noexcept {}
  Policy policy;
  F f;
};

/// Kernels with a result. `Derived::dispatch_to` writes it to its argument: `value`, or a View.
template <class Derived, class Policy, class F, class T>
struct valued : whole<Derived> {
  using result = T;
  valued(const Policy& p, const F& body) : policy(p), f(body) {}
  void dispatch() { static_cast<Derived&>(*this).dispatch_to(value); }
  T take() { return std::move(value); }
  Policy policy;
  F f;
  T value{};
};

template <class Policy, class F, class R>
struct reduce_work : valued<reduce_work<Policy, F, R>, Policy, F, typename value_of<R>::type> {
  using reduce_work::valued::valued;
  template <class Place>
  void dispatch_to(Place& place) {
    if constexpr (reducer<R>)
      Kokkos::parallel_reduce(this->policy, this->f, R(place));
    else
      Kokkos::parallel_reduce(this->policy, this->f, place);
  }
};

template <class Policy, class F, class T>
struct scan_work : valued<scan_work<Policy, F, T>, Policy, F, T> {
  using scan_work::valued::valued;
  template <class Place>
  void dispatch_to(Place& place) {
    Kokkos::parallel_scan(this->policy, this->f, place);
  }
};

template <class Space, class To, class From>
struct copy_work : whole<copy_work<Space, To, From>> {
  using result = void;
  copy_work(const Space& s, const To& to, const From& from) : space(s), dst(to), src(from) {}
  void dispatch() { Kokkos::deep_copy(space, dst, src); }
  void take() const noexcept {}
  Space space;
  To dst;
  From src;
};

// --- pieces of one kernel

/// MDRange policies: boxes. Pieces divide the slowest dimension of a box, or a range's indices.
template <class Policy>
concept box_policy = requires(const Policy& p) {
  p.m_lower;
  p.m_upper;
  p.m_tile;
};

template <box_policy Policy>
[[nodiscard]] constexpr int slowest() noexcept {
  return Policy::outer_direction == Kokkos::Iterate::Right ? 0 : Policy::rank - 1;
}

/// Returns last − first, or 0 if last <= first. @throws usage_error beyond std::int64_t
template <class Index>
[[nodiscard]] std::int64_t distance(Index first, Index last) {
  if (last <= first) return 0;
  const auto length = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  if (length > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw usage_error("kokkos::spread: more than 9223372036854775807 indices");
  return static_cast<std::int64_t>(length);
}

/// Returns the number of positions to divide. @throws usage_error when it is no std::int64_t
template <class Policy>
[[nodiscard]] std::int64_t length_of(const Policy& p) {
  if constexpr (box_policy<Policy>) {
    constexpr int d = slowest<Policy>();
    return distance(p.m_lower[d], p.m_upper[d]);
  } else {
    return distance(p.begin(), p.end());
  }
}

/// Returns `first` + `n`. The sum is a valid index even if `n` does not fit into `Index`.
template <class Index>
[[nodiscard]] Index advance(Index first, std::int64_t n) noexcept {
  return static_cast<Index>(static_cast<std::uint64_t>(first) + static_cast<std::uint64_t>(n));
}

/// Returns a policy of the positions first ≤ i < last of `p` on the instance `space`.
template <class Policy, class Space>
[[nodiscard]] Policy part_of(const Policy& p, const Space& space, std::int64_t first,
                             std::int64_t last) {
  if constexpr (box_policy<Policy>) {
    constexpr int d = slowest<Policy>();
    auto lower = p.m_lower;
    auto upper = p.m_upper;
    upper[d] = advance(lower[d], last);
    lower[d] = advance(lower[d], first);
    return Policy(space, lower, upper, p.m_tile);
  } else {
    return Policy(space, advance(p.begin(), first), advance(p.begin(), last));
  }
}

template <class Policy>
struct pieces_of {
  Policy policy;
  std::int64_t grain;  // positions of a piece; the last piece may be smaller
  [[nodiscard]] std::int64_t count() const {
    const std::int64_t n = length_of(policy);
    return n / grain + (n % grain != 0 ? 1 : 0);
  }
  template <class F>
  void run(std::int64_t number, const F& body) const {
    const instance<typename Policy::execution_space> own;
    const std::int64_t first = number * grain;
    const std::int64_t last = first + std::min(grain, length_of(policy) - first);
    Kokkos::parallel_for(part_of(policy, own.get(), first, last), body);
  }
};

template <class Policy, class F>
struct spread_for {
  using result = void;
  spread_for(const pieces_of<Policy>& p, const F& body) : all(p), f(body) {}
  [[nodiscard]] std::int64_t pieces() const { return all.count(); }
  void run(std::int64_t number) { all.run(number, f); }
  void take() const noexcept {}
  pieces_of<Policy> all;
  F f;
};

/// Calls a reducing functor with a piece's own accumulator.
template <class F, class T>
struct accumulate {
  const F* f;
  T* local;
  template <class... Index>
  void operator()(Index&&... i) const {
    (*f)(std::forward<Index>(i)..., *local);
  }
};

/// Reduces without parallel_reduce, whose scratch memory all calls share in Kokkos 3.4. Partial
/// results are joined in order, so the result does not depend on the number of workers.
template <class Policy, class F, class R>
struct spread_reduce {
  using result = typename value_of<R>::type;
  spread_reduce(const pieces_of<Policy>& p, const F& body)
      : all(p), f(body), partial(std::make_unique<result[]>(static_cast<std::size_t>(p.count()))) {}
  [[nodiscard]] std::int64_t pieces() const { return all.count(); }
  void run(std::int64_t number) {
    result local = neutral();
    all.run(number, accumulate<F, result>{&f, &local});
    partial[static_cast<std::size_t>(number)] = std::move(local);
  }
  result take() {
    result total = neutral();
    for (std::int64_t i = 0; i < pieces(); ++i) join(total, partial[static_cast<std::size_t>(i)]);
    return total;
  }
  static result neutral() {
    result value{};
    if constexpr (reducer<R>) R(value).init(value);
    return value;
  }
  static void join(result& total, const result& other) {
    if constexpr (reducer<R>)
      R(total).join(total, other);
    else
      total += other;
  }
  pieces_of<Policy> all;
  F f;
  std::unique_ptr<result[]> partial;
};

// --- execution

/// The state of a future together with the work that computes its value, in one pooled block.
/// Destroyed when the future is consumed, on the consumer's thread: a Kokkos without threads counts
/// references of Views without atomics, and the consumer is the task that uses those Views.
template <class Work>
class owned_host_work final : public host_work,
                              public starling::detail::block_state<typename Work::result>,
                              public starling::detail::pooled<starling::detail::block_kind::state> {
  using result_type = typename Work::result;

 public:
  explicit owned_host_work(Work&& work) : m_work(std::move(work)), m_left(m_work.pieces()) {
    this->free = [](starling::detail::block_state<result_type>& s) noexcept {
      delete static_cast<owned_host_work*>(&s);
    };
  }
  ~owned_host_work() = default;

  [[nodiscard]] std::int64_t pieces() const noexcept override { return m_work.pieces(); }
  void run(std::int64_t first, std::int64_t last) noexcept override {
    for (std::int64_t i = first; i < last; ++i) run_piece(i);
    // acq_rel: the thread that runs the last piece sees all writes of the pieces, and the error.
    if (m_left.fetch_sub(last - first, std::memory_order_acq_rel) == last - first) settle();
  }
  /// Fulfils the future. Called once, when all pieces are complete.
  void settle() noexcept {
    auto& place = this->starling::detail::state<result_type>::result;
    try {
      if (m_error) std::rethrow_exception(m_error);
      if constexpr (std::is_void_v<result_type>)
        place.set_value();
      else
        place.set_value(m_work.take());
    } catch (...) {
      place.set_error(std::current_exception());
    }
    starling::detail::complete<result_type>(*this);
  }

 private:
  void run_piece(std::int64_t number) noexcept {
    if (m_failed.load(std::memory_order_relaxed)) return;
    try {
      m_work.run(number);
    } catch (...) {
      if (!m_failed.exchange(true, std::memory_order_relaxed)) m_error = std::current_exception();
    }
  }

  Work m_work;
  std::atomic<std::int64_t> m_left;
  std::atomic<bool> m_failed{false};  // set by the first failing piece, which writes `m_error`
  std::exception_ptr m_error;
};

/// Queues the work on the workers, after all earlier work of the instance `space`.
template <class Space, class Work>
[[nodiscard]] future<typename Work::result> run_on_workers(const Space& space, Work&& work,
                                                           const char* call) {
  require_initialized(call);
  auto owned = std::make_unique<owned_host_work<Work>>(std::move(work));
  if (owned->pieces() == 0) {  // empty range: the future still needs its value
    owned->settle();
  } else {
    submit(identity_of(space), *owned, call);
  }
  return future<typename Work::result>(owned.release());
}

/// Storage that a kernel of a native stream needs until it is complete: the functor, and pinned
/// memory for the result. With a result in an ordinary variable, Kokkos would fence.
template <class Traits, class Work, class Result = typename Work::result>
struct owned_stream_work {
  owned_stream_work(Work&& given, device& target)
      : work(std::move(given)), memory(target, memory_kind::pinned, Traits::family, sizeof(Result)),
        value(new (memory.data()) Result{}) {}
  void dispatch() {
    using place = Kokkos::View<Result, typename Traits::result_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    const place here(value);
    work.dispatch_to(here);
  }
  Result take() { return std::move(*value); }
  Work work;
  memory_block memory;
  Result* value;
};
template <class Traits, class Work>
struct owned_stream_work<Traits, Work, void> {
  owned_stream_work(Work&& given, device&) : work(std::move(given)) {}
  void dispatch() { work.run(0); }
  void take() const noexcept {}
  Work work;
};

template <class Traits>
void require_no_error(const char* call) {
  if (const char* error = Traits::take_error())
    throw device_error(std::string("kokkos::") + call + ": the device says: " + error);
}

/// Submits the work to a native stream and returns the stream's future, which owns the work.
template <class Traits, class Space, class Work>
[[nodiscard]] future<typename Work::result> run_on_stream(const Space& space, Work&& work,
                                                          const char* call) {
  require_initialized(call);
  device& target = Traits::device_of(space, call);  // throws before any work is queued
  const auto owned = std::make_shared<owned_stream_work<Traits, Work>>(std::move(work), target);
  static_cast<void>(Traits::take_error());  // clears the error of an earlier, unrelated call
  require_no_error<Traits>(call);           // an error that remains means a lost device
  try {
    owned->dispatch();
    require_no_error<Traits>(call);
    return Traits::get_future(target, space).then([owned] { return owned->take(); });
  } catch (...) {
    // A running kernel may still write to the work's memory. An error that remains means a lost
    // device: no kernel writes any more, and a fence would make Kokkos end the program.
    if (Traits::take_error() == nullptr) space.fence();
    throw;
  }
}
/// As above without work: there is nothing to own.
template <class Traits, class Space>
[[nodiscard]] future<void> run_on_stream(const Space& space, nothing&&, const char* call) {
  require_initialized(call);
  return Traits::get_future(Traits::device_of(space, call), space);
}

/// Runs the work and waits for it on the calling thread.
template <class Space, class Work>
[[nodiscard]] future<typename Work::result> run_in_place(const Space& space, Work&& work,
                                                         const char* call) {
  require_initialized(call);
  promise<typename Work::result> done;
  auto result = done.get_future();
  try {
    work.run(0);
    space.fence();
    if constexpr (std::is_void_v<typename Work::result>)
      done.set_value();
    else
      done.set_value(work.take());
  } catch (...) {
    done.set_exception(std::current_exception());
  }
  return result;
}

}  // namespace starling::kokkos::detail
