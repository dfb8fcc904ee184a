// SPDX-License-Identifier: Apache-2.0
#include "scheduler_impl.hpp"

#include <algorithm>
#include <cstdio>

#include "binding.hpp"
#include "diagnosis.hpp"

namespace starling::detail {
namespace {

/// Of no runtime at all: two that block for each other would never end.
void refuse_workers(const char* message) {
  if (worker::current() != nullptr) throw usage_error(message);
}

}  // namespace

scheduler_impl::scheduler_impl(runtime& facade, runtime_options options)
    : m_facade(facade), m_options(std::move(options)) {
  if (!m_options.trace_file.empty() || m_options.summary) m_tracer.enable();
  if (m_options.chaos) m_chaos_state.store(*m_options.chaos, std::memory_order_relaxed);
  if (m_options.workers == 0) m_options.workers = allowed_cores();
  add_poller(m_timers);
  start_workers();
  try {
    runtime_registry::instance().add(*this);
  } catch (...) {
    stop_workers();
    throw;
  }
}

scheduler_impl::~scheduler_impl() {
  drain();
  while (!m_services.empty()) m_services.pop_back();  // newest first
  runtime_registry::instance().remove(*this);
  stop_workers();
  await_visitors();
  finish_trace();
  if (m_end) report_to_stderr(m_end, "the run was ended and nobody waited for it");
  if (m_unhandled) report_to_stderr(m_unhandled, "posted task failed and nobody waited for it");
}

void scheduler_impl::start_workers() {
  const unsigned count = m_options.workers;
  for (unsigned i = 0; i < count; ++i)
    m_workers.push_back(std::make_unique<worker>(*this, i, m_board));
  const bool bind = m_options.bind == binding::core ||
                    (m_options.bind == binding::automatic && count == allowed_cores());
  try {
    for (unsigned i = 0; i < count; ++i)
      m_threads.emplace_back([this, i, bind] {
        if (bind) bind_to_core(i);
        m_workers[i]->run();
      });
  } catch (...) {
    stop_workers();
    throw;
  }
}

void scheduler_impl::stop_workers() noexcept {
  m_stopping.store(true, std::memory_order_seq_cst);
  wake_all();
  for (std::thread& t : m_threads) t.join();
  m_threads.clear();
}

void scheduler_impl::await_visitors() const noexcept {
  // A few instructions, as with a lock. Acquire: their accesses precede our end.
  while (m_visitors.load(std::memory_order_acquire) != 0) std::this_thread::yield();
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
  }
}

// --- ready work from outside

void scheduler_impl::inject(promise_base& c) noexcept {
  {
    std::lock_guard lock(m_inject_lock);
    m_injected.push(c);
    // seq_cst: in one order with a sleeper's announcement, as in worker::post.
    m_injected_size.store(m_injected.size(), std::memory_order_seq_cst);
  }
  wake_searcher();
}

promise_base* scheduler_impl::take_injected() noexcept {
  if (m_injected_size.load(std::memory_order_relaxed) == 0) return nullptr;
  std::lock_guard lock(m_inject_lock);
  promise_base* c = m_injected.pop();
  m_injected_size.store(m_injected.size(), std::memory_order_relaxed);
  return c;
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
  // A worker counts itself asleep and then looks at the flag; we raise it and then count sleepers.
  // So it sees the flag, or we see it asleep. One that searches looks at the flag before it sleeps.
  m_notified.store(true, std::memory_order_seq_cst);
  wake_searcher();
}

bool scheduler_impl::owns(const worker* w) const noexcept {
  return std::any_of(m_workers.begin(), m_workers.end(),
                     [w](const auto& mine) { return mine.get() == w; });
}

bool scheduler_impl::shared_work_in_sight() const noexcept {
  return m_injected_size.load(std::memory_order_seq_cst) != 0 ||
         std::any_of(m_workers.begin(), m_workers.end(),
                     [](const auto& w) { return w->looks_stealable(); });
}

bool scheduler_impl::alarm_is_set() const noexcept {
  const std::uint64_t deadline = next_deadline();
  return deadline == 0 || std::any_of(m_workers.begin(), m_workers.end(), [&](const auto& w) {
           const std::uint64_t alarm = w->alarm();
           return alarm != 0 && alarm <= deadline;
         });
}

// --- polling

void scheduler_impl::add_poller(poller& p) {
  std::lock_guard lock(m_pollers_lock);
  m_pollers.push_back(&p);
}

void scheduler_impl::remove_poller(poller& p) noexcept {
  std::lock_guard lock(m_pollers_lock);  // nobody is inside a poll while we hold it
  std::erase(m_pollers, &p);
}

std::size_t scheduler_impl::poll() noexcept {
  ready_list ready;
  if (!m_pollers_lock.try_lock()) return 0;
  // Taken back before the look, so that what is notified during it is looked for again.
  if (m_notified.load(std::memory_order_relaxed)) m_notified.exchange(false);
  for (poller* p : m_pollers) p->poll(ready);
  m_pollers_lock.unlock();
  const std::size_t collected = ready.size();
  while (promise_base* c = ready.pop()) schedule(*c);
  return collected;
}

std::size_t scheduler_impl::in_flight() const noexcept {
  std::lock_guard lock(m_pollers_lock);
  std::size_t sum = 0;
  for (const poller* p : m_pollers) sum += p->in_flight();
  return sum;
}

bool scheduler_impl::needs_polling() const noexcept {
  std::lock_guard lock(m_pollers_lock);
  for (const poller* p : m_pollers)
    if (p->needs_polling()) return true;
  return false;
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

void scheduler_impl::wait_root(task<void> body, sync_root& root) {
  refuse_workers("sync_wait on a worker would block it: co_await instead");
  {
    const external_work until_posted(*this);  // a root with nothing runnable yet is no hang
    {
      std::lock_guard lock(m_root_mutex);
      // A run that ended before anyone waited for it: this is who is told. Others that are about to
      // end the same run say nothing new until somebody waits again.
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
  m_hangs = 0;  // the next report is about something else
  if (root.failure) std::rethrow_exception(root.failure);
}

void scheduler_impl::unhold() noexcept {
  // Under the lock: whoever sees the last token gone and lets the runtime end must wait for us.
  std::lock_guard lock(m_root_mutex);
  if (m_external.fetch_sub(1, std::memory_order_seq_cst) == 1) wake_one();
}

void scheduler_impl::set_connected(bool connected) noexcept {
  std::lock_guard lock(m_root_mutex);
  m_is_connected = connected;
  wake_one();  // somebody must look: all may be asleep already
}

void scheduler_impl::wait_for_rest(std::unique_lock<std::mutex>& lock, int& waiting) {
  ++waiting;
  const std::uint64_t before = m_rests;
  wake_one();  // somebody must look: all may be asleep already
  m_root_changed.wait(lock, [&] { return m_rests != before; });
  --waiting;
}

void scheduler_impl::wait_idle() {
  refuse_workers("wait_idle on a worker would block it: co_await what it is to wait for");
  std::unique_lock lock(m_root_mutex);
  wait_for_rest(lock, m_idle_waits);
  if (m_end) std::rethrow_exception(std::exchange(m_end, nullptr));
  if (m_unhandled) std::rethrow_exception(std::exchange(m_unhandled, nullptr));
}

void scheduler_impl::drain() noexcept {
  refuse_workers("the end of a runtime on a worker would block that: end it on another thread");
  std::unique_lock lock(m_root_mutex);
  m_hangs = 0;
  wait_for_rest(lock, m_drains);
}

void scheduler_impl::report_unhandled(std::exception_ptr error) noexcept {
  std::lock_guard lock(m_root_mutex);
  if (m_unhandled)
    report_to_stderr(error, "another posted task failed");
  else
    m_unhandled = std::move(error);
}

void scheduler_impl::end_run(std::exception_ptr error) noexcept {
  std::lock_guard lock(m_root_mutex);
  const auto waits = [](const sync_root* r) { return r->m_done.load() == 0; };
  const bool ended_before = std::exchange(m_run_ended, true);
  if (!ended_before) m_ended_runs.fetch_add(1, std::memory_order_release);
  if (!error) return;  // somebody else is told
  if (std::any_of(m_roots.begin(), m_roots.end(), waits))
    fail_roots(error);
  else if (!ended_before)
    m_end = std::move(error);
}

std::uint32_t scheduler_impl::chaos(std::uint32_t bound) noexcept {
  if (!m_options.chaos || bound == 0) return 0;
  const std::uint64_t z = m_chaos_state.fetch_add(chaos_source::step, std::memory_order_relaxed);
  return std::uint32_t((chaos_source::mix(z) >> 32) * bound >> 32);
}

void* scheduler_impl::find_service(std::type_index type,
                                   const std::function<std::shared_ptr<void>()>& make,
                                   bool ends_early) {
  std::lock_guard lock(m_service_mutex);
  for (const service_entry& s : m_services)
    if (s.type == type) return s.object.get();
  const service_entry made{type, make(), ends_early};
  const auto before = std::ranges::find_if(
      m_services, [&](const service_entry& s) { return s.ends_early && !ends_early; });
  return m_services.insert(before, made)->object.get();
}

}  // namespace starling::detail
