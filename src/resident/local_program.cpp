// SPDX-License-Identifier: Apache-2.0
#include "local_program.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <starling/core/detail/error_text.hpp>
#include <starling/resident/detail/host_group.hpp>

#include "timeline.hpp"

namespace starling::resident::detail {

local_program::local_program(runtime& rt, const program_description& program, join_request request)
    : m_runtime(&rt), m_request(std::move(request)), m_program(program),
      m_plan(m_request.chosen, m_program, m_request.arrays, m_request.is_traced) {
  const options& o = m_request.chosen;
  m_memory = o.place == place::host
                 ? make_host_driver(rt, m_program, shape_of(o), o.reach)
                 : make_device_driver(rt, m_program, shape_of(o), o.multiprocessors, o.reach);
  m_memory->allocate(m_plan.sizes(), {m_request.position * o.devices, o.devices});
  m_plan.write_to(*m_memory);
}

local_program::~local_program() {
  m_memory->join();
  if (!m_has_started || m_memory->shared().l.trace_records == 0 || m_memory->error() != nullptr)
    return;
  try {
    write_timeline(*m_memory, m_program.entries, m_runtime->tracer());
  } catch (...) {  // then the timeline is incomplete
  }
}

std::vector<memory_name> local_program::names() {
  std::vector<memory_name> result;
  const device_range own = m_memory->own();
  for (std::uint32_t d = own.first; d < own.end(); ++d) result.push_back(m_memory->name_of(d));
  return result;
}

void local_program::map(const std::vector<memory_name>& slabs) {
  for (std::uint32_t d = 0; d < slabs.size(); ++d)
    if (!m_memory->own().has(d)) m_memory->map(d, slabs[d]);
}

void local_program::start() {
  m_memory->start();
  m_has_started = true;
}

bool local_program::has_lost_the_first() const noexcept {
  const host_link& link = *shared().link;
  return host_group::load_acquire(&link.lost) != 0 && host_group::load_acquire(&link.ended[0]) != 0;
}

bool local_program::is_over() noexcept {
  if (m_is_over) return true;
  host_link& link = *shared().link;
  const device_range own = m_memory->own();
  const bool is_first = m_request.position == 0;
  if (!m_is_abandoned) {
    std::uint32_t& heart = link.beats[own.first * 32];
    host_group::store_release(&heart, heart + 1);
    if (!m_memory->is_ended()) return false;
    if (m_memory->error() != nullptr && !std::exchange(m_has_told, true)) tell_loss();
    // The first rank owns the link, so it ends last.
    const auto& those = is_first ? link.left : link.ended;
    for (std::uint32_t d = 0; d < shared().l.devices; ++d)
      if ((!is_first || !own.has(d)) && host_group::load_acquire(&those[d * 32]) == 0) return false;
  }
  m_is_over = true;
  if (is_first) return true;
  m_memory->join();
  try {
    link.reports[own.first] = report();
  } catch (...) {  // a device was lost meanwhile
  }
  // After these stores the first rank may free the link.
  for (std::uint32_t d = own.first; d < own.end(); ++d)
    host_group::store_release(&link.left[d * 32], 1u);
  return true;
}

/// Writes the error text into the link, unless another rank did so first. Then requests the end of
/// the program, and marks its own devices as ended.
void local_program::tell_loss() noexcept {
  host_link& link = *shared().link;
  const device_range own = m_memory->own();
  try {
    const std::string text = starling::detail::error_text(m_memory->error());
    const std::size_t bytes = std::min(text.size(), sizeof link.loss - 1);
    if (host_group::set_once(&link.loses)) {
      std::memcpy(link.loss, text.data(), bytes);
      host_group::store_release(&link.lost, 1u);
    }
  } catch (...) {  // the program ends without a reason
  }
  ask_for_end();
  for (std::uint32_t d = own.first; d < own.end(); ++d)
    host_group::store_release(&link.ended[d * 32], 1u);
}

device_report local_program::report() const {
  device_report result;
  const layout& l = shared().l;
  const device_range own = m_memory->own();
  if (m_memory->error() != nullptr) return result;
  for (std::uint32_t d = own.first; d < own.end(); ++d)
    for (std::uint32_t s = 0; s < l.schedulers; ++s) {
      scheduler_line line;
      m_memory->read(d, l.lines + s * sizeof line, &line, sizeof line);
      result.sent += line.sent;
      result.done += line.done;
      result.entries_run += line.entries_run;
    }
  return result;
}

void local_program::ask_for_end() noexcept {
  host_group::store_release(&shared().link->stop_wanted, 1u);
  m_memory->wake();
}

void local_program::abandon() noexcept {
  m_memory->end_own();
  m_memory->wake();
  m_memory->join();
  m_is_abandoned = true;
}

}  // namespace starling::resident::detail
