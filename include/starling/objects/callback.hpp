// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <typeinfo>
#include <utility>
#include <vector>

#include <starling/core/detail/counted.hpp>
#include <starling/core/future.hpp>
#include <starling/objects/archive.hpp>
#include <starling/objects/detail/job.hpp>
#include <starling/objects/detail/send.hpp>
#include <starling/objects/detail/stored_ids.hpp>

namespace starling {

/// The target of a result: an entry method of one element or of a whole array, or a future. Made by
/// `element::to`, `chare_array::to` and `make_reply`. A small value that can be copied and sent, to
/// other ranks too.
template <class V>
class callback {
 public:
  class target : public detail::counted {
   public:
    virtual void deliver(V&& value) noexcept = 0;
    virtual void fail(const std::exception_ptr& error) noexcept = 0;
    /// Returns the target's form for another rank: the number of its maker function and the maker's
    /// arguments. @throws usage_error when V or the target cannot travel
    [[nodiscard]] virtual std::vector<std::byte> pack() = 0;
  };

  /// Makes a callback that drops its result.
  callback() noexcept = default;
  explicit callback(detail::counted_ptr<target> to) noexcept : m_target(std::move(to)) {}

  /// Passes the result to the target. On a worker, as `fail`.
  void deliver(V&& value) const noexcept {
    if (m_target != nullptr) m_target->deliver(std::move(value));
  }
  void fail(const std::exception_ptr& error) const noexcept {
    if (m_target != nullptr) m_target->fail(error);
  }

 private:
  friend struct codec<callback>;
  detail::counted_ptr<target> m_target;
};

namespace detail {

/// Reports a second result of a callback that takes one. @throws usage_error
[[noreturn]] void throw_second_reply();

/// Makes a callback<V>::target from the bytes of `pack`; `result` is the type V.
/// @throws archive_error, not_made_yet
[[nodiscard]] counted_owner make_target(input_archive& ar, const std::type_info& result);

/// The target that sends the result to a future of another rank.
template <class V>
class remote_reply final : public starling::callback<V>::target {
 public:
  using result = V;
  explicit remote_reply(const reply_address& to) noexcept : m_to(to) {}
  static constexpr auto made = remote_function::kind::target;
  static counted_owner make(input_archive& ar) {
    return counted_owner(new remote_reply(read_reply_address(ar)));
  }
  void deliver(V&& value) noexcept override {
    or_end_run(*worker::current(),
               [&] { require_job().send(m_to.rank, make_reply_message(m_to, value)); });
  }
  void fail(const std::exception_ptr& error) noexcept override {
    or_end_run(*worker::current(), [&] { send_failure(require_job(), m_to, error); });
  }
  std::vector<std::byte> pack() override { return pack_made<remote_reply>(m_to); }

 private:
  reply_address m_to;
};

/// The target that fulfils a future of this rank.
template <class V>
class reply_target final : public starling::callback<V>::target {
 public:
  promise<V> result;

  void deliver(V&& value) noexcept override {
    if (is_first()) result.set_value(std::move(value));
  }
  void fail(const std::exception_ptr& error) noexcept override {
    if (is_first()) result.set_exception(error);
  }
  std::vector<std::byte> pack() override {
    if constexpr (travels<V>) {
      return pack_made<remote_reply<V>>(made_known());
    } else {
      refuse_to_travel<V>("a callback");
    }
  }

 private:
  struct slot final : reply_slot {
    explicit slot(reply_target* of) noexcept : m_of(of) {}
    void deliver(input_archive& ar) override {
      if constexpr (travels<V>) m_of->deliver(ar.read<V>());
    }
    void fail(const std::exception_ptr& error) noexcept override { m_of->fail(error); }

   private:
    counted_ptr<reply_target> m_of;
  };

  reply_address made_known() {
    {
      const std::lock_guard lock(m_mutex);
      if (m_known_as.slot != 0) return m_known_as;
    }
    // Without the lock: after the end of the run `expect` calls `fail`, which takes the lock.
    job& j = require_job();
    const auto made = j.expect(std::unique_ptr<reply_slot>(new slot(this)));
    const std::lock_guard lock(m_mutex);
    if (m_known_as.slot == 0)
      m_known_as = made;
    else
      j.forget(made.slot);
    return m_known_as;
  }
  bool is_first() noexcept {
    const bool first = !m_told.test_and_set(std::memory_order_relaxed);
    if (!first) {
      or_end_run(*worker::current(), [] { throw_second_reply(); });
    } else {
      const std::lock_guard lock(m_mutex);
      job* j = m_known_as.slot == 0 ? nullptr : current_job();
      if (j != nullptr) j->forget(m_known_as.slot);
    }
    return first;
  }

  std::mutex m_mutex;
  reply_address m_known_as;  // for other ranks; slot 0: not sent yet. Guarded by `m_mutex`
  std::atomic_flag m_told;   // relaxed: elects the first result, publishes no data
};

}  // namespace detail

/// Returns a callback for one result and the future that it fulfils. A second result ends the run
/// with usage_error. @throws std::bad_alloc
template <class V>
[[nodiscard]] std::pair<callback<V>, future<V>> make_reply() {
  detail::counted_ptr to(new detail::reply_target<V>());
  future<V> answer = to->result.get_future();
  return {callback<V>(std::move(to)), std::move(answer)};
}

template <class V>
struct codec<callback<V>> {
  template <class Archive>
  static void save(Archive& ar, const callback<V>& c) {
    if (c.m_target != nullptr) detail::refuse_in_checkpoint("a callback");
    ar(c.m_target == nullptr ? std::vector<std::byte>() : c.m_target->pack());
  }
  static callback<V> load(input_archive& ar) {
    const auto packed = ar.read<std::vector<std::byte>>();
    if (packed.empty()) return {};
    input_archive from(packed);
    return callback<V>(
        detail::counted_ptr<typename callback<V>::target>(detail::make_target(from, typeid(V))));
  }
};

}  // namespace starling
