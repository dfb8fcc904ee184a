// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

namespace starling::resident {
struct options;
}
template <>
inline constexpr bool starling::travels_as_bytes<starling::resident::detail::message> = true;
template <>
inline constexpr bool starling::travels_as_bytes<starling::resident::options> = true;

/// The host's side of a resident program, without its types.
namespace starling::resident {

/// Where the schedulers of a resident program run.
enum class place : std::uint8_t {
  host,   ///< threads of the host
  device  ///< the runtime's devices, for which the program needs code (`cuda::instantiate`)
};

/// Sizes of a resident program. All are checked when it is made.
struct options {
  resident::place place = resident::place::host;
  /// Ranks of the job that take part, this one first and those behind it, of one host. Their
  /// devices are one after the other; messages of host tasks and mailboxes are this rank's.
  std::uint32_t ranks = 1;
  std::uint32_t devices = 1;     ///< of each rank; on the host: memory with schedulers of its own
  std::uint32_t schedulers = 4;  ///< of each device; on the host a thread each
  /// Of each scheduler, of each of its blocks; 0: on a device 128, on the host one. On a device
  /// there are 64 more in a block, which serve it: so at most 960. On the host at most 64 in all
  /// blocks.
  std::uint32_t threads = 0;
  /// What of a device runs a scheduler; the program must be compiled for it (`cuda::instantiate`).
  /// Where that is the whole device, `schedulers` is 1.
  resident::granularity granularity = resident::granularity::block;
  /// Blocks of threads of a scheduler: of a cluster 2, 4, 8 or 16 (where the device allows so many,
  /// and not with `multiprocessors`), of a whole device at most 2048. 0: two in a cluster, on a
  /// device one for each of its multiprocessors, on the host two for those.
  std::uint32_t group_blocks = 0;
  /// The program must be compiled for one that is not `mapped`: `nvshmem::instantiate`, on the host
  /// `host::instantiate_far`. By NVSHMEM a rank has one device, and all such programs of a process
  /// the same ranks.
  resident::reach reach = resident::reach::mapped;
  /// What `reach::nvshmem` sets apart on each device for all such programs, at the first one. That
  /// waits for all kernels of the device, so start it before programs of other kinds.
  std::uint64_t symmetric_bytes = std::uint64_t{256} << 20;
  /// Of each source device and scheduler, a power of two; and up to 32 of them for each of eight
  /// senders that often send there.
  std::uint32_t ring_slots = 64;
  std::uint32_t cells = 1024;  ///< messages that a scheduler can keep, half of them its own
  std::uint32_t blocks = 8;    ///< for spans: of each scheduler for each source device, at most 64
  std::uint32_t block_bytes = 4096;    ///< longest span of a message
  std::uint64_t heap_bytes = 1 << 20;  ///< of each scheduler: channels, `allocate`, spans that wait
  double stall_seconds = 2;            ///< how long a sender waits for room before the program ends
  /// Last things that each scheduler did which are in the timeline, where the runtime has one; a
  /// power of two.
  std::uint32_t trace_records = 4096;
  /// Least number of compute units of each device that its schedulers run on, and no others; those
  /// of `system::beside` run on the rest. 0: all. Without a meaning on the host.
  std::uint32_t multiprocessors = 0;
};

/// How a resident program ended.
struct end_report {
  std::uint64_t messages = 0;  ///< sent, broadcasts once for each scheduler
  std::uint64_t left = 0;      ///< of these, dropped by `stop`
  std::uint64_t entries_run = 0;
};

/// Where elements go.
enum class placement : std::uint8_t {
  block,       ///< contiguous numbers on one scheduler, as equal in size as can be
  round_robin  ///< number modulo schedulers
};

namespace detail {

/// A scheduler on the host, behind its program's type.
class host_scheduler {
 public:
  virtual ~host_scheduler() = default;
  /// Each thread of its group, 0 ≤ rank < threads, calls these.
  virtual void begin(int rank) noexcept = 0;
  virtual work step(int rank) noexcept = 0;
  /// One more, where the group has several threads, until `over`: receives for the leader.
  virtual work serve() noexcept = 0;
  /// The first one, at the end.
  virtual void end() noexcept = 0;
};

struct chare_description {
  std::string_view name;
  std::size_t bytes;
};

/// An array that is to be made at the start.
struct array_request {
  std::uint32_t type = 0;
  std::vector<std::uint32_t> scheduler_of{};  // by index
  bool has_setup = false;
  message setup{};

  template <class Archive>
  void serialize(Archive& ar) {
    ar(type, scheduler_of, has_setup, setup);
  }
};

/// What a reference of a host task says of the array that it is to.
struct array_reference {
  std::uint32_t number = 0;
  std::uint32_t count = 0;  // elements
  std::uint32_t type = 0;   // place of the chare in the program
};

/// What a rank is told of a program in which it takes part.
struct part_request {
  std::uint64_t program = 0;  // a number that no other one has
  std::uint32_t place = 0;    // among its ranks
  bool is_traced = false;
  options chosen{};
  std::vector<array_request> arrays{};

  template <class Archive>
  void serialize(Archive& ar) {
    ar(program, place, is_traced, chosen, arrays);
  }
};

/// A program as the host runs it and names it.
struct program_description {
  std::vector<chare_description> chares;
  std::vector<std::string_view> entries;
  std::unique_ptr<host_scheduler> (*make)(const world& w, std::uint32_t self,
                                          const group_shape& shape);
  const program_code* code;
  /// Has another rank take part; gives the names of its devices' memory.
  future<std::vector<memory_name>> (*join)(rank where, part_request part);
};

/// Takes part: on the rank that was asked. @throws option_error, usage_error, out_of_memory,
/// backend_unavailable, device_error
[[nodiscard]] std::vector<memory_name> join_program(const program_description& program,
                                                    part_request part);

/// What a host task waits for.
enum class wait_kind : std::uint8_t { begin, message, room, rest, end };

class session;

/// A host task that waits for something of a resident program. Lies in its frame.
struct host_wait : starling::detail::described_wait {
  wait_kind kind = wait_kind::end;
  std::uint32_t mailbox = 0;
  session* by = nullptr;
  starling::detail::promise_base* waiting = nullptr;
  host_wait* next = nullptr;
  bool is_withdrawn = false;
  bool is_satisfied = false;
  message received;
};

/// A resident program: its memory, whoever drives its schedulers, and host tasks that wait for it.
/// Thread-safe from `start` on.
class session {
 public:
  session(runtime& rt, const options& chosen, program_description program);
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// @throws usage_error after the start, or when there are too many
  std::uint32_t add_array(array_request request);
  /// One for values of so many bytes.
  std::uint32_t add_mailbox(std::size_t bytes);
  /// Done when the schedulers of all ranks run. @throws option_error naming option, value and what
  /// is accepted; usage_error the second time
  task<void> start();
  void stop() noexcept;
  [[nodiscard]] std::uint32_t scheduler_count() const noexcept;
  [[nodiscard]] stream beside(std::uint32_t device) const;

  /// Sends a message, for which there must be room: one task after the other.
  /// @throws resident_error, usage_error when the program does not run
  [[nodiscard]] bool try_send(const message& m);
  /// Whether the wait is over at once; else it is enlisted by `enlist`.
  [[nodiscard]] bool is_over(host_wait& w);
  /// False: it is over by now.
  [[nodiscard]] bool enlist(host_wait& w);
  [[nodiscard]] bool withdraw(host_wait& w) noexcept;
  /// What the wait came to. @throws resident_error, usage_error, hang_error
  void check(const host_wait& w) const;
  [[nodiscard]] end_report report() const;
  /// What a wait is called in a list of those that wait; with what elements wait for, at rest.
  [[nodiscard]] std::string describe(const host_wait& w) const;
  /// Of what a host task names: whether the program has such an array, an element of that index, a
  /// mailbox for values of so many bytes.
  /// @throws usage_error naming what was asked for and what there is
  void require_array(const array_reference& to) const;
  void require_element(const array_reference& to, std::uint32_t index) const;
  void require_mailbox(std::uint32_t number, std::size_t bytes) const;

  struct impl;

 private:
  std::unique_ptr<impl> m_impl;
};

bool withdraw_host_wait(starling::detail::promise_base& c) noexcept;

/// Awaits something of a session.
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
                     const starling::detail::source_mark& at = {}) {
    m_wait.describe = [](const starling::detail::described_wait& w) {
      const auto& wait = static_cast<const host_wait&>(w);
      return wait.by->describe(wait);
    };
    m_wait.waiting = &h.promise();
    mark_suspended(h.promise(), await_kind::custom,
                   static_cast<starling::detail::described_wait*>(&m_wait), &withdraw_host_wait,
                   at);
    if (m_wait.by->enlist(m_wait)) return true;
    h.promise().kind.store(await_kind::running, std::memory_order_relaxed);
    return false;
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
