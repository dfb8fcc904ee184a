// SPDX-License-Identifier: Apache-2.0
#include "host_split.hpp"

#include <algorithm>
#include <new>

namespace starling::detail {

host_split::host_split(const parallel_operation& work, std::int64_t first, std::int64_t grain,
                       const executor& helpers, int most_helpers, promise_base& strand) noexcept
    : m_work(&work), m_first(first), m_executor(helpers), m_strand(&strand),
      // More chunks than workers, so that a slow worker does not delay the end.
      m_chunks(std::min<std::int64_t>((work.units - first) / grain, 8 * (most_helpers + 1))),
      m_unfinished(m_chunks + 1), m_more_helpers(most_helpers) {}

void host_split::release() noexcept {
  // acq_rel: all uses of the object happen before its destruction.
  if (m_references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void host_split::take_part() noexcept {
  call_helper();
  const std::int64_t ran = run_chunks();
  // Not the last decrement, because the strand has not left.
  if (ran != 0) static_cast<void>(finish(ran));
}

void host_split::call_helper() noexcept {
  if (m_next.load(std::memory_order_relaxed) >= m_chunks) return;
  if (m_more_helpers.fetch_sub(1, std::memory_order_relaxed) <= 0) return;
  m_references.fetch_add(1, std::memory_order_relaxed);
  try {
    m_executor.post(help(*this));
  } catch (const std::bad_alloc&) {  // continues with fewer helpers
    m_references.fetch_sub(1, std::memory_order_relaxed);
  }
}

task<void> host_split::help(host_split& split) {
  split.call_helper();
  const std::int64_t ran = split.run_chunks();
  if (ran != 0 && split.finish(ran)) schedule(*split.m_strand);
  split.release();
  co_return;
}

std::int64_t host_split::run_chunks() noexcept {
  std::int64_t ran = 0;
  for (;; ++ran) {
    const std::int64_t number = m_next.fetch_add(1, std::memory_order_relaxed);
    if (number >= m_chunks) return ran;
    run_chunk(number);
  }
}

/// Returns the first unit of a chunk. Chunks differ by one unit at most. Not computed as
/// units · chunk / chunks, which may overflow.
std::int64_t host_split::begin_of(std::int64_t chunk) const noexcept {
  const std::int64_t units = m_work->units - m_first;
  return m_first + units / m_chunks * chunk + std::min(chunk, units % m_chunks);
}

void host_split::run_chunk(std::int64_t number) noexcept {
  try {
    m_work->run(*m_work, begin_of(number), begin_of(number + 1));
  } catch (...) {
    if (!m_failed.exchange(true, std::memory_order_relaxed)) m_error = std::current_exception();
  }
}

}  // namespace starling::detail
