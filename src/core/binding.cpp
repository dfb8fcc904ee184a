// SPDX-License-Identifier: Apache-2.0
#include "binding.hpp"

#include <algorithm>
#include <memory>
#include <thread>

#include <hwloc.h>

namespace starling::detail {
namespace {

/// The machine as hwloc sees it, restricted to the affinity mask the process started with.
class machine {
 public:
  static const machine& instance() {
    static const machine m;
    return m;
  }
  [[nodiscard]] unsigned cores() const { return m_cores; }

  void bind(unsigned index) const {
    if (!m_usable) return;
    hwloc_obj_t core =
        hwloc_get_obj_inside_cpuset_by_type(m_topology, m_allowed, HWLOC_OBJ_CORE, index % m_cores);
    if (core == nullptr) return;
    hwloc_bitmap_t set = hwloc_bitmap_dup(core->cpuset);
    hwloc_bitmap_and(set, set, m_allowed);
    hwloc_set_cpubind(m_topology, set, HWLOC_CPUBIND_THREAD);
    hwloc_bitmap_free(set);
  }

 private:
  machine() : m_allowed(hwloc_bitmap_alloc()) {
    if (hwloc_topology_init(&m_topology) == 0 && hwloc_topology_load(m_topology) == 0 &&
        hwloc_get_cpubind(m_topology, m_allowed, HWLOC_CPUBIND_PROCESS) == 0) {
      const int found =
          hwloc_get_nbobjs_inside_cpuset_by_type(m_topology, m_allowed, HWLOC_OBJ_CORE);
      m_usable = found > 0;
      if (m_usable) m_cores = unsigned(found);
    }
    if (!m_usable) m_cores = std::max(1u, std::thread::hardware_concurrency());
  }

  hwloc_topology_t m_topology = nullptr;
  hwloc_bitmap_t m_allowed;
  unsigned m_cores = 1;
  bool m_usable = false;
};

}  // namespace

unsigned allowed_cores() { return machine::instance().cores(); }
void bind_to_core(unsigned index) noexcept { machine::instance().bind(index); }

}  // namespace starling::detail
