// SPDX-License-Identifier: Apache-2.0
#include "driver.hpp"

#include <new>

#include <starling/resident/detail/host_group.hpp>

namespace starling::resident::detail {

void driver::make_link() {
  m_link = shared_memory(sizeof(host_link));
  m_world.link = ::new (m_link.data()) host_link;
  pin(m_link);
}

void driver::map_link(const memory_name& name) {
  m_link = shared_memory(name);
  m_world.link = reinterpret_cast<host_link*>(m_link.data());
  pin(m_link);
}

void driver::end_own() noexcept {
  const std::uint32_t yes = 1;
  try {
    for (std::uint32_t d = m_own.first; d < m_own.end(); ++d)
      write(d, m_world.l.ending, &yes, sizeof yes);
  } catch (...) {  // the device is lost: no scheduler runs there
  }
}

bool driver::is_ended() noexcept {
  for (std::uint32_t d = m_own.first; d < m_own.end(); ++d)
    if (host_group::load_acquire(&m_world.link->ended[d * 32]) == 0) return false;
  return true;
}

}  // namespace starling::resident::detail
