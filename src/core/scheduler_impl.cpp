// SPDX-License-Identifier: Apache-2.0
#include "scheduler_impl.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <starling/core/detail/demangle.hpp>
#include <starling/core/detail/error_text.hpp>
#include <starling/core/detail/process_end.hpp>
#include <starling/core/detail/system_resources.hpp>

#include "diagnosis.hpp"

namespace starling::detail {
namespace {

/// Time for which the end of a runtime waits for running work if `end_run` has ended its run.
constexpr std::chrono::seconds patience_after_end(5);

/// Throws usage_error if the calling thread is a worker of any runtime: two runtimes could block
/// each other for ever.
void refuse_workers(const char* message) {
  refuse_forked_copy();
  if (worker::current() != nullptr) throw usage_error(message);
}

/// Checks at the start that the trace file can be written, so that the user need not wait for the
/// error until the end.
void check_trace_file(const std::string& name) {
  if (name.empty()) return;
  std::FILE* const file = std::fopen(name.c_str(), "a");
  if (file == nullptr)
    throw option_error("--starling-trace (or STARLING_TRACE): '" + name +
                       "' cannot be written: " + std::strerror(errno));
  std::fclose(file);
}

}  // namespace

scheduler_impl::scheduler_impl(runtime& facade, runtime_options options)
    : m_facade(facade), m_options(std::move(options)) {
  prepare_process_end();
  refuse_forked_copy();
  check_trace_file(m_options.trace_file);
  if (!m_options.trace_file.empty() || m_options.summary) m_tracer.enable();
  if (m_options.chaos) m_chaos_state.store(*m_options.chaos, std::memory_order_relaxed);
  if (m_options.workers == 0) m_options.workers = default_workers();
  add_poller(m_timers);
  start_workers();
  try {
    runtime_registry::instance().add(*this);
  } catch (...) {
    stop_workers();
    throw;
  }
}

scheduler_impl::~scheduler_impl() = default;

bool scheduler_impl::end() noexcept {
  if (runtime_registry::is_forked_copy()) return false;
  const bool is_over = drain();
  if (is_over) {
    while (!m_services.empty()) m_services.pop_back();  // newest first
    runtime_registry::instance().remove(*this);
    stop_workers();
    // A few instructions, as with a lock. Acquire: the visitors' accesses precede the destruction.
    while (m_visitors.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  } else {
    leave_behind();
  }
  finish_trace();
  if (m_end) report_to_stderr(m_end, "the run was ended with an error that no thread waited for");
  if (m_unhandled)
    report_to_stderr(m_unhandled, "a posted task failed with an error that no thread waited for");
  return is_over;
}

/// Stops the workers without waiting. Their running work may refer to any object of the runtime.
void scheduler_impl::leave_behind() noexcept {
  try {
    std::fprintf(
        stderr,
        "starling: the run was ended %d s ago and is not over; the program goes on without "
        "its workers, which have:\n%s",
        int(patience_after_end.count()), describe_running().c_str());
  } catch (const std::bad_alloc&) {  // out of memory: the running work is not listed
  }
  m_stopping.store(true, std::memory_order_seq_cst);
  wake_all();
  runtime_registry::instance().remove(*this, true);
}

void scheduler_impl::start_workers() {
  const unsigned count = m_options.workers;
  for (unsigned i = 0; i < count; ++i)
    m_workers.push_back(std::make_unique<worker>(*this, i, m_board));
  m_cores.emplace(m_options.bind, count);
  try {
    for (unsigned i = 0; i < count; ++i)
      m_threads.emplace_back([this, i] {
        m_cores->bind(i);
        m_workers[i]->run();
        end_forked_worker();
      });
  } catch (const std::system_error& e) {
    const std::size_t got = m_threads.size();
    stop_workers();
    throw_no_thread("the workers of a runtime", got, count,
                    "ask for fewer workers with --starling-workers", e.code().value());
  }
}

void scheduler_impl::stop_workers() noexcept {
  m_stopping.store(true, std::memory_order_seq_cst);
  wake_all();
  for (std::thread& t : m_threads) t.join();
  m_threads.clear();
}

void scheduler_impl::check_index(unsigned index) const {
  if (index >= worker_count())
    throw usage_error("worker " + std::to_string(index) + " does not exist: there are " +
                      std::to_string(worker_count()));
}

void scheduler_impl::finish_trace() noexcept {
  try {
    if (m_options.summary) std::fputs(m_tracer.summary().c_str(), stderr);
    if (!m_options.trace_file.empty()) m_tracer.write(m_options.trace_file);
  } catch (...) {
    report_to_stderr(std::current_exception(), "trace not written");
    fail_exit_code();
  }
}

// --- idle workers

void scheduler_impl::wake_one() noexcept {
  for (auto& w : m_workers)
    if (w->wake()) return;
}

void scheduler_impl::wake_searcher() noexcept {
  if (m_board.sleeping.load(std::memory_order_seq_cst) > 0 &&
      m_board.searching.load(std::memory_order_seq_cst) == 0)
    wake_one();
}

void scheduler_impl::wake_all() noexcept {
  for (auto& w : m_workers) w->wake();
}

void scheduler_impl::notify_pollers() noexcept {
  // A worker counts itself asleep and then reads the flag; this thread raises the flag and then
  // reads the count. So the worker reads the raised flag, or this thread finds the worker asleep. A
  // worker that searches reads the flag before it sleeps.
  m_notified.store(true, std::memory_order_seq_cst);
  wake_searcher();
}

bool scheduler_impl::owns(const worker* w) const noexcept {
  return std::ranges::any_of(m_workers, [w](const auto& mine) { return mine.get() == w; });
}

bool scheduler_impl::shared_work_in_sight() const noexcept {
  return !m_shared.empty() ||
         std::ranges::any_of(m_workers, [](auto& w) { return w->looks_stealable(); });
}

bool scheduler_impl::alarm_is_set() const noexcept {
  const std::uint64_t deadline = next_deadline();
  return deadline == 0 || std::ranges::any_of(m_workers, [&](const auto& w) {
           const std::uint64_t alarm = w->alarm();
           return alarm != 0 && alarm <= deadline;
         });
}

// --- polling

void scheduler_impl::add_poller(poller& p) {
  refuse_forked_copy();
  std::scoped_lock lock(m_polling, m_pollers_lock);
  m_pollers.push_back(&p);
}

void scheduler_impl::remove_poller(poller& p) noexcept {
  if (runtime_registry::is_forked_copy()) return;    // a lost thread may hold the locks
  std::scoped_lock lock(m_polling, m_pollers_lock);  // no thread is inside a poll
  std::erase(m_pollers, &p);
}

void scheduler_impl::poll() noexcept {
  ready_list ready;
  if (!m_polling.try_lock()) return;
  // Cleared before the poll, so that a notification during it causes another poll.
  if (m_notified.load(std::memory_order_relaxed)) m_notified.exchange(false);
  for (poller* p : m_pollers) p->poll(ready);
  m_polling.unlock();
  while (promise_base* c = ready.pop()) schedule(*c);
}

std::size_t scheduler_impl::in_flight(const poller* except) const noexcept {
  std::lock_guard lock(m_pollers_lock);
  std::size_t sum = 0;
  for (const poller* p : m_pollers)
    if (p != except) sum += p->in_flight();
  return sum;
}

bool scheduler_impl::needs_polling() const noexcept {
  std::lock_guard lock(m_pollers_lock);
  return std::ranges::any_of(m_pollers, &poller::needs_polling);
}

std::uint64_t scheduler_impl::next_deadline() const noexcept {
  std::lock_guard lock(m_pollers_lock);
  std::uint64_t first = 0;
  for (const poller* p : m_pollers)
    if (const std::uint64_t due = p->next_deadline(); due != 0 && (first == 0 || due < first))
      first = due;
  return first;
}

// --- waits of outside threads

std::string scheduler_impl::describe_waiting_errors() const {
  std::lock_guard lock(m_root_mutex);
  std::string list;
  if (m_end)
    list +=
        "  an error that has ended the run waits for a thread to be told: " + error_text(m_end) +
        "\n";
  if (m_unhandled)
    list += "  the error of a posted task waits for wait_idle or the end of the runtime: " +
            error_text(m_unhandled) + "\n";
  return list;
}

void scheduler_impl::wait_root(task<void> body, sync_root& root) {
  refuse_workers("sync_wait on a worker would block it: co_await instead");
  {
    // Until the root's body is posted, its wait must not count as a hang.
    const external_work until_posted(*this);
    {
      std::lock_guard lock(m_root_mutex);
      // The run ended before a thread waited for it: this thread gets the error. m_run_ended stays
      // set, so that further errors of the same run are dropped until a thread waits again.
      if (m_end) std::rethrow_exception(std::exchange(m_end, nullptr));
      m_run_ended = false;
      m_roots.push_back(&root);
      m_hangs = 0;
    }
    m_facade.post(std::move(body));
  }
  root.m_done.wait(0, std::memory_order_acquire);
  std::lock_guard lock(m_root_mutex);
  std::erase(m_roots, &root);
  m_hangs = 0;  // the next report is about another hang
  if (root.failure) std::rethrow_exception(root.failure);
}

void scheduler_impl::unhold() noexcept {
  if (runtime_registry::is_forked_copy()) return;
  // Under the lock, so that a thread that ends the runtime after the release of the last token
  // waits until this function has finished.
  std::lock_guard lock(m_root_mutex);
  if (m_external.fetch_sub(1, std::memory_order_seq_cst) == 1) wake_one();
}

void scheduler_impl::set_connected(bool connected) noexcept {
  std::lock_guard lock(m_root_mutex);
  m_is_connected = connected;
  wake_one();  // all workers may be asleep already: a worker must check
}

void scheduler_impl::wait_idle() {
  refuse_workers("wait_idle on a worker would block it: co_await the futures of the work instead");
  std::unique_lock lock(m_root_mutex);
  ++m_idle_waits;
  const std::uint64_t before = m_quiescences;
  wake_one();  // all workers may be asleep already: a worker must check
  m_root_changed.wait(lock, [&] { return m_quiescences != before; });
  --m_idle_waits;
  if (m_end) std::rethrow_exception(std::exchange(m_end, nullptr));
  if (m_unhandled) std::rethrow_exception(std::exchange(m_unhandled, nullptr));
}

bool scheduler_impl::drain() noexcept {
  refuse_workers("the end of a runtime on a worker would block that: end it on another thread");
  std::unique_lock lock(m_root_mutex);
  m_hangs = 0;
  m_timers.begin_end();
  ++m_drains;
  const std::uint64_t before = m_quiescences;
  wake_one();  // all workers may be asleep already: a worker must check
  m_root_changed.wait(lock, [&] { return m_quiescences != before || m_run_ended; });
  const bool is_over =
      m_root_changed.wait_for(lock, patience_after_end, [&] { return m_quiescences != before; });
  --m_drains;
  return is_over;
}

void scheduler_impl::report_unhandled(std::exception_ptr error) noexcept {
  std::lock_guard lock(m_root_mutex);
  if (m_drains != 0 && is_a<runtime_ends>(error)) return;       // as intended
  if (m_run_ended && is_a<operation_cancelled>(error)) return;  // ends the waits of an ended run
  if (m_unhandled)
    report_to_stderr(error, "another posted task failed");
  else
    m_unhandled = std::move(error);
}

void scheduler_impl::end_run(std::exception_ptr error) noexcept {
  std::lock_guard lock(m_root_mutex);
  const bool ended_before = std::exchange(m_run_ended, true);
  if (!ended_before) m_ended_runs.fetch_add(1, std::memory_order_release);
  m_root_changed.notify_all();  // drain() then waits for patience_after_end at most
  if (!error) return;           // the error is reported elsewhere
  if (is_waited_for())
    fail_roots(error);
  else if (!ended_before)
    m_end = std::move(error);
}

std::uint32_t scheduler_impl::chaos(std::uint32_t bound) noexcept {
  if (!m_options.chaos || bound == 0) return 0;
  const std::uint64_t z = m_chaos_state.fetch_add(chaos_source::step, std::memory_order_relaxed);
  return std::uint32_t((chaos_source::mix(z) >> 32) * bound >> 32);
}

/// Makes a service. @throws usage_error when it requests itself. Requires m_service_mutex.
std::shared_ptr<void> scheduler_impl::make_service(
    std::type_index type, const std::function<std::shared_ptr<void>()>& make) {
  if (std::ranges::find(m_services_in_making, type) != m_services_in_making.end())
    throw usage_error("the service " + demangle(type.name()) +
                      " needs itself: its constructor asks for it, or for a service that does");
  struct entry {
    std::vector<std::type_index>& list;
    ~entry() { list.pop_back(); }
  };
  m_services_in_making.push_back(type);
  const entry until_made{m_services_in_making};
  return make();
}

void* scheduler_impl::find_service(std::type_index type,
                                   const std::function<std::shared_ptr<void>()>& make,
                                   bool ends_early) {
  refuse_forked_copy();
  std::lock_guard lock(m_service_mutex);
  for (const service_entry& s : m_services)
    if (s.type == type) return s.object.get();
  if (make == nullptr) return nullptr;
  const service_entry made{type, make_service(type, make), ends_early};
  const auto before = std::ranges::find_if(
      m_services, [&](const service_entry& s) { return s.ends_early && !ends_early; });
  return m_services.insert(before, made)->object.get();
}

}  // namespace starling::detail
