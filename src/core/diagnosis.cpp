// SPDX-License-Identifier: Apache-2.0
// The suspended coroutines of a runtime, found by a visit of all frames.
//
// Lock order: frame pools (held during the visit) → locks of awaited objects (`withdraw`). A visit
// neither allocates nor frees a block of the pools. The caller may hold runtime_registry::m_mutex
// and m_root_mutex.
#include "diagnosis.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <source_location>
#include <string_view>

#include <fmt/format.h>

#include <starling/core/detail/suspended.hpp>

#include "scheduler_impl.hpp"

namespace starling::detail {
namespace {

const char* name_of(await_kind kind) {
  static constexpr const char* names[] = {"its start",   "something of its own",
                                          "a worker",    "a child task",
                                          "a future",    "a join",
                                          "a channel",   "device work",
                                          "a timer",     "something of its own",
                                          "its consumer"};
  static_assert(std::size(names) == std::size_t(await_kind::done) + 1, "in the enum's order");
  return std::size_t(kind) < std::size(names) ? names[std::size_t(kind)] : "?";
}

/// The fields of a coroutine's promise that the walk reads.
struct view {
  await_kind kind;
  bool pinned;
  const worker* home;
  std::source_location created;
  std::source_location location;
  std::uint64_t since;
  const void* on;
};

template <class Whole, class Member>
__attribute__((always_inline, no_sanitize("address"), no_sanitize("thread"))) inline Whole raw(
    const Member& member) {
  static_assert(sizeof(Whole) == sizeof(Member));
  return *reinterpret_cast<const volatile Whole*>(&member);
}

/// Reads a coroutine's promise, for SIGQUIT also while the coroutine runs. The values may be stale
/// or from different moments, but reading is safe (no frame is unmapped during a visit, locations
/// are static data, `home` is only compared). So the race is intended: plain loads, excluded from
/// the sanitizers.
__attribute__((noinline, no_sanitize("address"), no_sanitize("thread"))) view look_at(
    const promise_base& p) {
  view v;
  v.kind = raw<await_kind>(p.kind);
  // In a block without a frame the byte may have any value.
  v.pinned = raw<std::uint8_t>(p.pinned) == 1;
  v.home = raw<const worker*>(p.home);
  void* const created = raw<void*>(p.created);
  void* const location = raw<void*>(p.location);
  __builtin_memcpy(static_cast<void*>(&v.created), &created, sizeof created);
  __builtin_memcpy(static_cast<void*>(&v.location), &location, sizeof location);
  v.since = raw<std::uint64_t>(p.since);
  v.on = raw<const void*>(p.on);
  return v;
}

/// Returns the function's name within a coroutine's name: from the last space before the parameter
/// list, where the result type ends, up to the parameter list. `{anonymous}`, `operator()` and the
/// parameter lists of functions that contain lambdas belong to the name.
std::string_view without_types(std::string_view name) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == ' ' && depth == 0) begin = i + 1;
    if (c == '(' && depth == 0) {
      int inner = 0;
      std::size_t close = i;
      for (; close < name.size(); ++close)
        if ((inner += (name[close] == '(') - (name[close] == ')')) == 0) break;
      const std::string_view rest = name.substr(std::min(close + 1, name.size()));
      if (!rest.starts_with("::") && !rest.starts_with('(')) return name.substr(begin, i - begin);
      i = close;
      continue;
    }
    depth += (c == '<') - (c == '>');
  }
  return name.substr(begin);
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at; (at = text.find(what)) != text.npos;) text.replace(at, what.size(), by);
}

/// Returns a coroutine's name for the user: without types, parameters and the runtime's namespaces.
std::string name_of(const view& v) {
  const std::string_view full = v.created.function_name();
  std::string name(without_types(full.substr(0, full.find(" ["))));
  if (name.find("starling::detail::sync_body") != name.npos) return "a thread in sync_wait";
  if (name.find("starling::detail::then_value") != name.npos ||
      name.find("starling::detail::call") != name.npos)
    return "a function given to then or async";
  for (std::size_t at, end;
       (at = name.find("<lambda(")) != name.npos && (end = name.find(")>", at)) != name.npos;)
    name.replace(at, end + 2 - at, "<lambda>");
  replace_all(name, "(anonymous class)::operator()", "<lambda>");  // of clang
  for (const char* internal :
       {"{anonymous}::", "(anonymous namespace)::", "starling::detail::", "starling::"})
    replace_all(name, internal, "");
  return name;
}

/// Returns whether `location` is in user code: a location in the runtime's headers does not help a
/// user.
bool is_of_user(const std::source_location& location) {
  const std::string_view file = location.file_name();
  return !file.empty() && file.find("include/starling/") == file.npos;
}

/// Calls `visit(promise_base&, view)` for the suspended coroutines of `owner`.
template <class Visitor>
void for_each_suspended(const scheduler_impl& owner, Visitor visit) {
  auto look = [&](void* frame) {
    promise_base& p = std::coroutine_handle<promise_base>::from_address(frame).promise();
    const view v = look_at(p);
    if (v.kind == await_kind::not_started || v.kind == await_kind::done) return;
    if (owner.owns(v.home)) visit(p, v);
  };
  for_each_frame(
      [](void* frame, void* context) { (*static_cast<decltype(look)*>(context))(frame); }, &look);
}

}  // namespace

std::string short_text(const std::source_location& location) {
  const std::string_view file = location.file_name();
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), location.line());
}

/// Other workers go on, so that only the values of `view` are read until `home` is known. The
/// coroutines that are passed to `visit` do not change: only the calling worker resumes them.
void for_each_suspended_here(const std::function<void(promise_base&)>& visit) {
  auto look = [&visit](void* frame) {
    promise_base& p = std::coroutine_handle<promise_base>::from_address(frame).promise();
    const view v = look_at(p);
    const bool waits = v.kind >= await_kind::future && v.kind <= await_kind::custom;
    if (waits && v.pinned && v.home == worker::current()) visit(p);
  };
  for_each_frame(
      [](void* frame, void* context) { (*static_cast<decltype(look)*>(context))(frame); }, &look);
}

bool withdraw_task_waiter(promise_base& c) noexcept { return withdraw_waiter(c); }

std::vector<promise_base*> hung_coroutines(const scheduler_impl& owner) {
  std::vector<promise_base*> leaves;
  std::vector<promise_base*> inner;  // await tasks, which may be among `leaves`
  for_each_suspended(owner, [&](promise_base& p, const view& v) {
    const await_kind kind = v.kind;
    if (kind == await_kind::child || kind == await_kind::running) return;
    const withdraw_fn withdraw = p.withdraw.load(std::memory_order_relaxed);
    if (withdraw == nullptr) return;
    const bool awaits_tasks = kind == await_kind::join ||
                              (kind == await_kind::future && withdraw == &withdraw_task_waiter);
    (awaits_tasks ? inner : leaves).push_back(&p);
  });
  if (!leaves.empty() || inner.empty()) return leaves;
  return {inner.front()};
}

void abandon_frames(const scheduler_impl& owner) noexcept {
  for_each_suspended(owner, [](promise_base& p, const view& v) {
    const await_kind kind = v.kind;
    const withdraw_fn withdraw = p.withdraw.load(std::memory_order_relaxed);
    if (kind != await_kind::child && kind != await_kind::running && withdraw != nullptr)
      static_cast<void>(withdraw(p));
    p.kind.store(await_kind::done, std::memory_order_relaxed);
    p.home = nullptr;
  });
}

std::string scheduler_impl::describe_awaiters(bool quiescent) const {
  std::string list, internal;  // waits in user code come first
  const std::uint64_t now = tracer::now();
  for_each_suspended(*this, [&](promise_base&, const view& v) {
    if (v.kind == await_kind::running && !quiescent) return;
    const auto* custom = static_cast<const described_wait*>(v.on);
    const bool described = v.kind == await_kind::custom && quiescent && custom != nullptr;
    const bool of_user = is_of_user(v.location);
    std::string line = of_user ? fmt::format("  {}: ", short_text(v.location)) : "  ";
    line += fmt::format("{} awaits {}", name_of(v),
                        described ? custom->describe(*custom) : name_of(v.kind));
    // Equal addresses identify coroutines that wait for the same object.
    if (v.kind == await_kind::channel || v.kind == await_kind::future)
      line += fmt::format(" {}", v.on);
    if (v.kind != await_kind::child && v.since != 0 && v.since <= now)
      line += fmt::format(" since {:.3f} s", double(now - v.since) * 1e-9);
    if (v.pinned) line += fmt::format(" on worker {}", v.home->index());
    (of_user ? list : internal) += line + '\n';
  });
  return list + internal;
}

std::string scheduler_impl::describe_running() const {
  std::string list;
  for_each_suspended(*this, [&](promise_base&, const view& v) {
    if (v.kind == await_kind::running || v.kind == await_kind::ready)
      list += fmt::format("  {}, {}\n", name_of(v),
                          v.kind == await_kind::running ? "running" : "ready to run");
  });
  return list + (in_flight() == 0 ? "" : fmt::format("  {} operations in flight\n", in_flight()));
}

void report_to_stderr(const std::exception_ptr& error, const char* what) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "starling: %s: %s\n", what, e.what());
  } catch (...) {
    std::fprintf(stderr, "starling: %s: an exception that is no std::exception\n", what);
  }
}

}  // namespace starling::detail
