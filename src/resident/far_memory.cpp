// SPDX-License-Identifier: Apache-2.0
#include <starling/resident/detail/far_memory.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <starling/core/error.hpp>
#include <starling/device/memory_name.hpp>
#include <starling/device/types.hpp>
#include <starling/resident/detail/world.hpp>

namespace starling::resident::detail {

void far_memory::require_same(const far_meeting& all, const std::string& device) const {
  if (m_state == state::broken)
    throw usage_error("NVSHMEM failed to start earlier in this process, and can start only once");
  if (m_meeting.processes != all.processes)
    throw usage_error(fmt::format(
        "a resident program with `reach` nvshmem on {} processes: the first one was of {}, or of "
        "other ones, and NVSHMEM starts only once. Give all programs the same ranks",
        all.processes.size(), m_meeting.processes.size()));
  if (m_device != device)
    throw usage_error(fmt::format(
        "a resident program with `reach` nvshmem on device {}: the first one of this process was "
        "on {}, where NVSHMEM has begun. Let all have the same device",
        device, m_device));
}

bool far_memory::prepare(const far_meeting& all, const std::string& device) {
  const std::lock_guard hold(m_mutex);
  if (m_state == state::prepared && m_meeting.number != all.number)
    throw usage_error(
        "two resident programs with `reach` nvshmem start for the first time at once. Start one "
        "when the other has started");
  if (m_state == state::met || m_state == state::broken) {
    require_same(all, device);
    return true;
  }
  check(device);
  m_state = state::prepared;
  m_meeting = all;
  m_device = device;
  return false;
}

void far_memory::forget(std::uint64_t meeting) noexcept {
  const std::lock_guard hold(m_mutex);
  if (m_state == state::prepared && m_meeting.number == meeting) m_state = state::fresh;
}

void far_memory::meet(const far_meeting& all, const std::string& device) {
  const std::lock_guard hold(m_mutex);
  if (m_state != state::prepared) {  // another rank of this process has met first
    if (m_failure && m_meeting.number == all.number) std::rethrow_exception(m_failure);
    return require_same(all, device);
  }
  const auto here = std::ranges::find(all.processes, process_number());
  if (here == all.processes.end())
    throw usage_error("a process was called to a meeting that does not list it");
  const auto position = static_cast<std::uint32_t>(here - all.processes.begin());
  m_state = state::broken;
  try {
    m_memory = begin(all, position, device);
  } catch (...) {
    m_failure = std::current_exception();
    throw;
  }
  m_position = position;
  m_state = state::met;
}

/// Takes the first free range that is large enough.
std::byte* far_memory::allocate(std::uint64_t bytes) {
  const std::lock_guard hold(m_mutex);
  const std::uint64_t whole = std::max(whole_lines(bytes), line_bytes);
  std::uint64_t at = 0;
  for (const auto& [begin, end] : m_used) {
    if (begin - at >= whole) break;
    at = end;
  }
  if (whole < bytes || at > m_memory.size() || m_memory.size() - at < whole)
    throw out_of_memory(fmt::format(
        "a resident program with `reach` nvshmem needs {} bytes on a device: {} are set apart "
        "for all such programs, and no gap of them is large enough. Raise `symmetric_bytes` of "
        "the first one, or take fewer schedulers, cells, slots or a smaller heap",
        bytes, m_memory.size()));
  m_used.emplace(at, at + whole);
  return m_memory.data() + at;
}

void far_memory::give_back(std::byte* memory) noexcept {
  const std::lock_guard hold(m_mutex);
  m_used.erase(offset_of(memory));
}

}  // namespace starling::resident::detail
