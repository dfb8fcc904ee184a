// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <starling/core/future.hpp>
#include <starling/core/runtime.hpp>
#include <starling/core/task.hpp>
#include <starling/device/memory_name.hpp>
#include <starling/device/stream.hpp>
#include <starling/objects/codec.hpp>
#include <starling/objects/ranks.hpp>
#include <starling/resident/detail/group_shape.hpp>
#include <starling/resident/detail/program_code.hpp>
#include <starling/resident/detail/scheduler.hpp>
#include <starling/resident/end_report.hpp>
#include <starling/resident/options.hpp>

template <>
inline constexpr bool starling::travels_as_bytes<starling::resident::detail::message> = true;
template <>
inline constexpr bool starling::travels_as_bytes<starling::resident::options> = true;

/// The host's side of a resident program, without the program's types.
namespace starling::resident {
namespace detail {

/// A scheduler on the host, independent of its program's type.
class host_scheduler {
 public:
  virtual ~host_scheduler() = default;
  /// Called by each thread of the scheduler's group, 0 ≤ rank < threads.
  virtual void begin(int rank) noexcept = 0;
  virtual work step(int rank) noexcept = 0;
  /// Receives messages for the leader. If the group has several threads, an additional thread calls
  /// this function until it returns `over`.
  virtual work serve() noexcept = 0;
  /// Called by rank 0 at the end.
  virtual void end() noexcept = 0;
};

struct chare_description {
  std::string_view name;
  std::size_t bytes;
};

/// The request to make an array when the program starts.
struct array_request {
  std::uint32_t type = 0;
  std::vector<std::uint32_t> scheduler_of{};  // by element index
  bool has_setup = false;
  message setup{};

  template <class Archive>
  void serialize(Archive& ar) {
    ar(type, scheduler_of, has_setup, setup);
  }
};

/// The description of an array in a reference that a host task uses.
struct array_reference {
  std::uint32_t number = 0;
  std::uint32_t count = 0;  // elements
  std::uint32_t type = 0;   // position of the chare in the program
};

/// The description of a program that is sent to a rank that takes part in it.
struct join_request {
  std::uint64_t program = 0;   // unique number of the program
  std::uint32_t position = 0;  // position of the rank among the program's ranks
  bool is_traced = false;
  options chosen{};
  std::vector<array_request> arrays{};

  template <class Archive>
  void serialize(Archive& ar) {
    ar(program, position, is_traced, chosen, arrays);
  }
};

/// Names and functions of a program, as the host needs them to run it.
struct program_description {
  std::vector<chare_description> chares;
  std::vector<std::string_view> entries;
  program_code::host_maker make;
  const program_code* code;
  /// Makes another rank take part; returns the names of its devices' memory.
  future<std::vector<memory_name>> (*join)(rank to, join_request request);
};

/// Takes part in a program of another rank. Returns the names of this rank's device memory.
/// @throws option_error, usage_error, out_of_memory, backend_unavailable, device_error
[[nodiscard]] std::vector<memory_name> join_program(const program_description& program,
                                                    join_request request);

/// The event that a host task waits for.
enum class wait_kind : std::uint8_t { begin, message, room, quiescence, end };

class session;

/// A host task's wait for an event of a resident program. Stored in the task's frame; guarded by
/// the session's lock while it is registered.
struct host_wait : starling::detail::described_wait {
  wait_kind kind = wait_kind::end;
  std::uint32_t mailbox = 0;
  session* by = nullptr;
  starling::detail::promise_base* waiting = nullptr;
  host_wait* next = nullptr;
  bool is_withdrawn = false;
  bool is_satisfied = false;
  message received;

  [[nodiscard]] bool withdraw() noexcept;
};

/// A resident program: its memory, the driver of its schedulers, and the host tasks that wait for
/// it. Thread-safe from `start` on.
class session {
 public:
  session(runtime& rt, const options& chosen, program_description program);
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Adds an array. @throws usage_error after the start, or when there are too many arrays
  std::uint32_t add_array(array_request request);
  /// Adds a host mailbox for values of `bytes` bytes and returns its number.
  std::uint32_t add_host_mailbox(std::size_t bytes);
  /// Starts the program; completes when the schedulers of all ranks run. @throws option_error
  /// naming the option, its value and the accepted values; usage_error on a second call
  task<void> start();
  void stop() noexcept;
  [[nodiscard]] std::uint32_t scheduler_count() const noexcept;
  [[nodiscard]] stream beside(std::uint32_t device) const;

  /// Sends a message to scheduler 0. Returns false where there is no room; the caller then waits
  /// for `wait_kind::room` and tries again, because another task may take the room.
  /// @throws resident_error, usage_error when the program does not run
  [[nodiscard]] bool try_send(const message& m);
  /// Returns whether the wait is over already. If it is not, the caller registers it by `enlist`.
  [[nodiscard]] bool is_over(host_wait& w);
  /// Registers the wait. Returns false if the wait is over by now.
  [[nodiscard]] bool enlist(host_wait& w);
  /// Removes a registered wait. Returns false if it is not registered any more.
  [[nodiscard]] bool withdraw(host_wait& w) noexcept;
  /// Throws if the wait ended without its event. @throws resident_error, usage_error, hang_error
  void check(const host_wait& w) const;
  [[nodiscard]] end_report report() const;
  /// Returns the text of a wait for a hang report, with the elements that wait.
  [[nodiscard]] std::string describe(const host_wait& w) const;
  /// Checks a reference of a host task: to an array of the program and its element `index`, to
  /// a host mailbox for values of `bytes` bytes.
  /// @throws usage_error naming the requested and the existing objects
  void require_array(const array_reference& to, std::optional<std::uint32_t> index = {}) const;
  void require_host_mailbox(std::uint32_t number, std::size_t bytes) const;

  struct impl;

 private:
  std::unique_ptr<impl> m_impl;
};

/// The awaiter of an event of a session.
class host_awaiter {
 public:
  host_awaiter(session& by, wait_kind kind, std::uint32_t mailbox = 0) noexcept {
    m_wait.by = &by;
    m_wait.kind = kind;
    m_wait.mailbox = mailbox;
  }
  bool await_ready() { return m_wait.by->is_over(m_wait); }
  template <starling::detail::runtime_promise Promise>
  bool await_suspend(std::coroutine_handle<Promise> h,
                     const starling::detail::call_location& at = {}) {
    m_wait.describe = [](const starling::detail::described_wait& w) {
      const auto& wait = static_cast<const host_wait&>(w);
      return wait.by->describe(wait);
    };
    m_wait.waiting = &h.promise();
    mark_suspended(h.promise(), m_wait, at);
    return confirm_suspended(h.promise(), m_wait.by->enlist(m_wait));
  }
  const message& await_resume() const {
    m_wait.by->check(m_wait);
    return m_wait.received;
  }

 private:
  host_wait m_wait;
};

}  // namespace detail
}  // namespace starling::resident
