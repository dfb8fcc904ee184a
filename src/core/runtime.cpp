// SPDX-License-Identifier: Apache-2.0
#include <starling/core/runtime.hpp>

#include <string>

#include "scheduler_impl.hpp"

namespace starling {
namespace detail {

void sync_root::release() noexcept {
  m_done.store(1, std::memory_order_release);
  m_done.notify_one();
}

}  // namespace detail

external_work::external_work(detail::scheduler_impl& owner) noexcept : m_owner(&owner) {
  owner.hold();
}

external_work::~external_work() {
  if (m_owner != nullptr) m_owner->unhold();
}

runtime::runtime() : runtime(runtime_options::from_environment()) {}

runtime::runtime(int& argc, char** argv) : runtime(runtime_options::parse(argc, argv)) {}

runtime::runtime(runtime_options options)
    : m_impl(std::make_unique<detail::scheduler_impl>(*this, std::move(options))) {}

runtime::~runtime() {
  if (!m_impl->end()) static_cast<void>(m_impl.release());
}

const runtime_options& runtime::options() const noexcept { return m_impl->options(); }

unsigned runtime::worker_count() const noexcept { return m_impl->worker_count(); }

tracer& runtime::tracer() noexcept { return m_impl->tracer(); }

executor runtime::get_executor(starling::priority priority) noexcept {
  return {m_impl->at(0), false, priority};
}

executor runtime::on_worker(unsigned index, starling::priority priority) {
  m_impl->check_index(index);
  return {m_impl->at(index), true, priority};
}

void runtime::wait_idle() { m_impl->wait_idle(); }

void runtime::add_poller(poller& p) { m_impl->add_poller(p); }
void runtime::remove_poller(poller& p) noexcept { m_impl->remove_poller(p); }
void runtime::notify_pollers() noexcept { m_impl->notify_pollers(); }

external_work runtime::hold_external_work() noexcept { return external_work(*m_impl); }

std::uint64_t runtime::ended_runs() const noexcept { return m_impl->ended_runs(); }

worker_statistics runtime::statistics(unsigned worker) const {
  m_impl->check_index(worker);
  const detail::worker_counters& c = m_impl->at(worker).counters();
  const auto read = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  return {read(c.resumed), read(c.stolen), read(c.slept), read(c.polled)};
}

void runtime::set_connected(bool connected) noexcept { m_impl->set_connected(connected); }

std::string runtime::describe_awaiters(bool quiescent) const {
  return m_impl->describe_awaiters(quiescent);
}

std::uint32_t runtime::chaos(std::uint32_t bound) noexcept { return m_impl->chaos(bound); }

runtime* runtime::current() noexcept {
  return detail::t_worker == nullptr ? nullptr : &detail::t_worker->owner().facade();
}

int runtime::worker_index() noexcept {
  return detail::t_worker == nullptr ? -1 : int(detail::t_worker->index());
}

void runtime::start_root(task<void> body, detail::sync_root& root) {
  m_impl->wait_root(std::move(body), root);
}

void* runtime::find_service(std::type_index type,
                            const std::function<std::shared_ptr<void>()>& make, bool ends_early) {
  return m_impl->find_service(type, make, ends_early);
}

}  // namespace starling
