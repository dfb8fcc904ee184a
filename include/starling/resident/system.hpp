// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <starling/core/runtime.hpp>
#include <starling/core/task.hpp>
#include <starling/objects/entry.hpp>
#include <starling/resident/context.hpp>
#include <starling/resident/detail/host_group.hpp>
#include <starling/resident/detail/session.hpp>
#include <starling/resident/detail/step_trace.hpp>
#include <starling/resident/end_report.hpp>
#include <starling/resident/error.hpp>
#include <starling/resident/options.hpp>

namespace starling::resident {

/// Assignment of elements to schedulers.
enum class placement : std::uint8_t {
  block,       ///< contiguous indices on each scheduler, in shares of nearly equal size
  round_robin  ///< index modulo the number of schedulers
};

namespace detail {

template <class Program, class Group>
class host_scheduler_of final : public host_scheduler {
 public:
  host_scheduler_of(const world& w, std::uint32_t self, const group_shape& shape)
      : m_team(shape.threads, shape.blocks) {
    for (int b = 0; b < shape.blocks; ++b) m_of_block.emplace_back(w, self);
    if (m_team.size() > 1) mine().core.in.be_served();
  }
  void begin(int rank) noexcept override {
    Group group(m_team, rank);
    of(rank).begin(group);
    const world& w = mine().core.shared();
    if (rank == 0 && w.l.trace_records != 0) m_trace.emplace(w, mine().core.self());
  }
  work step(int rank) noexcept override {
    Group group(m_team, rank);
    const work done = of(rank).step(group);
    if (rank == 0 && m_trace) m_trace->note(done, mine().core.end.entry());
    return done;
  }
  work serve() noexcept override {
    auto& in = mine().core.in;
    if (in.is_watched()) in.watch_host();
    if (in.receive()) return work::some;
    if (!in.is_closed()) return work::none;
    in.leave();
    return work::over;
  }
  void end() noexcept override {
    if (m_trace) m_trace->end();
    mine().end();
  }

 private:
  using scheduler_type = scheduler<Group, Program>;
  /// The scheduler object of the leader's block.
  [[nodiscard]] scheduler_type& mine() noexcept { return m_of_block.front(); }
  [[nodiscard]] scheduler_type& of(int rank) noexcept {
    return m_of_block[std::size_t(m_team.block_of(rank))];
  }

  host_team m_team;
  std::deque<scheduler_type> m_of_block;
  std::optional<step_trace<Group>> m_trace;
};

template <class Program, class Group>
[[nodiscard]] std::unique_ptr<host_scheduler> make_host_scheduler(const world& w,
                                                                  std::uint32_t self,
                                                                  const group_shape& shape) {
  return std::make_unique<host_scheduler_of<Program, Group>>(w, self, shape);
}

/// Returns the name of a chare template, without its arguments: `block` for `block<…>`.
template <class Chare>
[[nodiscard]] constexpr std::string_view chare_name() noexcept {
  constexpr std::string_view whole = starling::detail::type_name<Chare>();
  return whole.substr(0, whole.find('<'));
}

template <auto... Methods>
[[nodiscard]] std::vector<std::string_view> names_of(entries<Methods...>) {
  return {starling::detail::entry_name<Methods>()...};
}

template <class Program>
[[nodiscard]] program_description describe();

/// Runs on each further rank of the program.
template <class Program>
std::vector<memory_name> join_program_here(join_request request) {
  return join_program(describe<Program>(), std::move(request));
}

template <template <class> class... Chares>
[[nodiscard]] program_description describe_chares(program<Chares...>) {
  using cx = context<host_group, program<Chares...>>;
  static_assert((std::derived_from<Chares<cx>, chare> && ...),
                "the chares of a program derive from starling::resident::chare");
  return {{{chare_name<Chares<cx>>(), sizeof(Chares<cx>)}...},
          names_of(entries_of_program<cx, Chares...>{}),
          &make_host_scheduler<program<Chares...>, host_group>,
          &code_of<program<Chares...>>,
          [](rank to, join_request request) {
            return async<&join_program_here<program<Chares...>>>(to, std::move(request));
          }};
}
template <class Program>
program_description describe() {
  return describe_chares(Program{});
}

}  // namespace detail

/// A resident program and its connection to host tasks. It is constructed, given arrays and
/// host mailboxes, started, used and stopped. Its schedulers run beside the workers of `rt`: on
/// devices as persistent kernels, on the host as threads (one for each scheduler by default).
///
///     resident::system<resident::program<block>> sys(rt, {.schedulers = 4});
///     const auto blocks = sys.create<block>(64);
///     const auto result = sys.make_host_mailbox<float>();
///     co_await sys.start();
///     co_await sys.invoke(blocks[0], entry<&block<decltype(sys)::context>::run>, result);
///     float x = co_await sys.receive(result);
///     sys.stop();
///     const resident::end_report r = co_await sys.ended();
///
/// Calls after `start` are thread-safe and throw `resident_error` once the program has failed. The
/// destructor stops the program and waits for its schedulers, that is, for the running entry
/// methods; no task may still await the program then. On the host, entry methods must not throw.
template <class Program>
class system {
  using table = detail::entry_table<resident::context<detail::host_group, Program>, Program>;

 public:
  /// The context type that names entry methods in host code, for every backend.
  using context = resident::context<detail::host_group, Program>;

  explicit system(runtime& rt, const options& chosen = {})
      : m_session(rt, chosen, detail::describe<Program>()) {}

  /// Adds an array of `count` elements, made by their default constructors when the program starts.
  /// A program has at most 16 arrays. @throws usage_error
  template <template <class> class Chare>
  chare_array<Chare> create(std::uint32_t count, placement rule = placement::block) {
    return add<Chare>(request<Chare>(count, rule));
  }
  /// The same; each element runs `Method` with these arguments before its first message.
  template <template <class> class Chare, auto Method, class... Args>
  chare_array<Chare> create(std::uint32_t count, placement rule, entry_name<Method>,
                            const Args&... args) {
    return add<Chare>(with_setup<Chare, Method>(request<Chare>(count, rule), args...));
  }
  /// The same with a user-defined map: `where(index)` returns the element's scheduler, 0 ≤ … <
  /// scheduler_count(); a larger number makes `start` throw usage_error.
  template <template <class> class Chare, std::invocable<std::uint32_t> Map, auto Method,
            class... Args>
  chare_array<Chare> create(std::uint32_t count, const Map& map, entry_name<Method>,
                            const Args&... args) {
    detail::array_request r{table::template type_number<Chare<context>>(), {}};
    for (std::uint32_t i = 0; i < count; ++i)
      r.scheduler_of.push_back(static_cast<std::uint32_t>(map(i)));
    return add<Chare>(with_setup<Chare, Method>(std::move(r), args...));
  }

  template <class T>
  [[nodiscard]] host_mailbox<T> make_host_mailbox() {
    return host_mailbox<T>(m_session.add_host_mailbox(sizeof(T)));
  }
  [[nodiscard]] std::uint32_t scheduler_count() const noexcept {
    return m_session.scheduler_count();
  }
  /// Returns a stream of this rank's device `device`, 0 ≤ … < options::devices, for host work that
  /// runs beside the schedulers; with `options::multiprocessors` on the remaining multiprocessors.
  /// On the host a stream of a device of the runtime. Call it before `start`: the first call may
  /// wait for all running kernels. @throws usage_error, option_error, device_error
  [[nodiscard]] stream beside(std::uint32_t device = 0) const { return m_session.beside(device); }

  /// Starts the schedulers of all ranks, which make the elements; completes when they run. With
  /// several ranks it must be awaited on a worker. @throws option_error, usage_error,
  /// out_of_memory, device_error; backend_unavailable if ranks cannot access each other's memory
  task<void> start() { return m_session.start(); }
  /// Requests the end of the program: running entry methods finish, messages in flight are dropped.
  void stop() noexcept { m_session.stop(); }

  /// Sends a message to an element; completes when the message is in the ring to the program.
  /// @throws resident_error; usage_error, also if the element does not belong to this program
  template <template <class> class Chare, auto Method, class... Args>
  task<void> invoke(element_ref<Chare> to, entry_name<Method>, Args... args) {
    detail::require_fit<Chare<context>, Method, Args...>();
    m_session.require_array(reference_to<Chare>(to.array(), to.count()), to.index());
    detail::message m;
    detail::write_plain<table, Method>(m, to.array(), to.index(), args...);
    m.set(detail::message_kind::numbered, m.storage(), m.has_reference());
    return send(m);
  }
  /// Sends a message to all elements of an array.
  template <template <class> class Chare, auto Method, class... Args>
  task<void> broadcast(chare_array<Chare> to, entry_name<Method>, Args... args) {
    detail::require_fit<Chare<context>, Method, Args...>();
    m_session.require_array(reference_to<Chare>(to.number(), to.size()));
    detail::message m;
    detail::write_plain<table, Method>(m, to.number(), 0, args...);
    m.set(detail::message_kind::broadcast, m.storage(), m.has_reference());
    return send(m);
  }
  /// Waits for the next value sent to the host mailbox and returns it. @throws resident_error;
  /// usage_error if the program ends before a value arrives, or the host mailbox does not belong to
  /// this program
  template <class T>
  task<T> receive(host_mailbox<T> from) {
    m_session.require_host_mailbox(from.number(), sizeof(T));
    detail::host_awaiter next(m_session, detail::wait_kind::message, from.number());
    co_return detail::read_at<T>(co_await next, 0);
  }
  /// Waits for quiescence: no message of the program is queued, in flight or being processed.
  /// @throws resident_error; usage_error if the program ends first
  task<void> quiescence() {
    co_await detail::host_awaiter(m_session, detail::wait_kind::quiescence);
  }
  /// Waits until the program has ended. @throws resident_error
  task<end_report> ended() {
    co_await detail::host_awaiter(m_session, detail::wait_kind::end);
    co_return m_session.report();
  }

 private:
  template <template <class> class Chare>
  [[nodiscard]] static detail::array_reference reference_to(std::uint32_t array,
                                                            std::uint32_t count) noexcept {
    return {array, count, table::template type_number<Chare<context>>()};
  }
  template <template <class> class Chare>
  [[nodiscard]] detail::array_request request(std::uint32_t count, placement rule) const {
    detail::array_request r{table::template type_number<Chare<context>>(), {}};
    const std::uint64_t n = scheduler_count();
    for (std::uint64_t i = 0; i < count; ++i)
      r.scheduler_of.push_back(
          static_cast<std::uint32_t>(rule == placement::block ? i * n / count : i % n));
    return r;
  }
  template <template <class> class Chare, auto Method, class... Args>
  [[nodiscard]] static detail::array_request with_setup(detail::array_request r,
                                                        const Args&... args) {
    detail::require_fit<Chare<context>, Method, Args...>();
    r.has_setup = true;
    detail::write_plain<table, Method>(r.setup, 0, 0, args...);
    return r;
  }
  template <template <class> class Chare>
  chare_array<Chare> add(detail::array_request r) {
    const auto count = static_cast<std::uint32_t>(r.scheduler_of.size());
    return {m_session.add_array(std::move(r)), count};
  }
  task<void> send(detail::message m) {
    while (!m_session.try_send(m))
      co_await detail::host_awaiter(m_session, detail::wait_kind::room);
  }

  detail::session m_session;
};

}  // namespace starling::resident
