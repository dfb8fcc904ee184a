// SPDX-License-Identifier: Apache-2.0
#include <starling/device/aggregator.hpp>

#include <algorithm>
#include <string>

#include <starling/core/error.hpp>
#include <starling/device/device.hpp>

#include "argument_check.hpp"
#include "collector.hpp"
#include "device_impl.hpp"
#include "waiter_future.hpp"

namespace starling {

void sequence_awaiter::finish() {
  using wait_status = detail::device_waiter::wait_status;
  const wait_status result = std::exchange(m_member->result, wait_status::waiting);
  const std::exception_ptr error = std::exchange(m_member->error, nullptr);
  m_member->failed.store(false, std::memory_order_relaxed);
  m_member->operations.clear();
  if (result == wait_status::waiting) detail::throw_interrupted();
  if (result == wait_status::withdrawn) throw operation_cancelled();
  if (error) std::rethrow_exception(error);
}

void sequence::check_extent(const range& extent, detail::kernel_entry& entry, std::int64_t most) {
  detail::require_extent("sequence", extent, entry, most);
}

void sequence::check_sizes(std::size_t to, std::size_t from) {
  detail::require_sizes("sequence", to, from);
}

void sequence::add(const detail::kernel_call& call) {
  const backend_kind backend = m_member.target->device().backend();
  if (backend != backend_kind::host && call.entry->launcher(backend) == nullptr)
    throw usage_error(detail::missing_launcher(*call.entry, backend));
  detail::require_scratch("sequence", call, m_member.target->device());
  m_member.operations.add(call);
}

void sequence::copy_bytes(void* dst, const void* src, std::size_t bytes) {
  if (bytes != 0) m_member.operations.add(detail::transfer{dst, src, bytes});
}

future<void> sequence::get_future() {
  auto* block = new detail::waiter_future<detail::batch_member>(*m_member.target,
                                                                std::move(m_member.operations));
  future<void> result(block);
  try {
    if (!detail::commit(*block)) block->finish();
  } catch (...) {
    m_member.operations = std::move(block->operations);
    block->finish();  // so that `result` can free it
    throw;
  }
  return result;
}

aggregator::aggregator(device& target, aggregation how) : m_device(&target), m_how(how) {
  if (how.most == 0 || how.streams == 0 || how.depth == 0)
    throw usage_error(
        "aggregator: most, streams and depth must be at least 1 (most = 1 aggregates nothing)");
  constexpr std::size_t limit = 65'536;  // limit of `most`: each batch reserves that many places
  if (how.most > limit)
    throw usage_error("aggregator: most = " + std::to_string(how.most) + " is beyond " +
                      std::to_string(limit));
  static_cast<void>(collector_of(priority::normal));
}

aggregator::~aggregator() {
  for (auto& slot : m_collectors)
    if (detail::collector* c = slot.load(std::memory_order_acquire)) c->abandon();
}

detail::collector& aggregator::collector_of(starling::priority priority) {
  std::atomic<detail::collector*>& slot = m_collectors[static_cast<std::size_t>(priority)];
  if (detail::collector* made = slot.load(std::memory_order_acquire)) return *made;
  return m_device->internals().add_collector(m_how, priority, slot);
}

sequence aggregator::begin(starling::priority priority) { return sequence(collector_of(priority)); }

aggregation_statistics& aggregation_statistics::operator+=(
    const aggregation_statistics& other) noexcept {
  submissions += other.submissions;
  launches += other.launches;
  largest = std::max(largest, other.largest);
  divided += other.divided;
  withdrawn += other.withdrawn;
  waiting_ns += other.waiting_ns;
  return *this;
}

aggregation_statistics aggregator::statistics() const noexcept {
  aggregation_statistics sum;
  for (const auto& slot : m_collectors) {
    if (const detail::collector* c = slot.load(std::memory_order_acquire)) sum += c->statistics();
  }
  return sum;
}

}  // namespace starling
