// SPDX-License-Identifier: Apache-2.0
#include "binding.hpp"

#include <algorithm>
#include <mutex>
#include <thread>

#include <hwloc.h>

#include "cpu_limit.hpp"

namespace starling::detail {
namespace {

/// The machine's topology by hwloc, restricted to the affinity mask that the process started with.
class machine {
 public:
  static const machine& instance() {
    static const machine m;
    return m;
  }
  /// Returns the number of cores in the affinity mask; at least 1.
  [[nodiscard]] unsigned cores() const { return m_cores; }

  void bind(unsigned index) const {
    if (!m_usable) return;
    hwloc_obj_t core =
        hwloc_get_obj_inside_cpuset_by_type(m_topology, m_allowed, HWLOC_OBJ_CORE, index);
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

/// The number of workers of this process that are bound to each core.
struct claims {
  std::mutex mutex;  // guards of_core
  std::vector<unsigned> of_core = std::vector<unsigned>(machine::instance().cores(), 0);
};

claims& all_claims() {
  static claims* const all = new claims;  // runtimes may outlive static destruction
  return *all;
}

}  // namespace

unsigned default_workers() {
  const unsigned limit = cpu_limit("/");
  const unsigned cores = machine::instance().cores();
  return limit == 0 ? cores : std::min(limit, cores);
}

core_claim::core_claim(binding wanted, unsigned workers) {
  claims& all = all_claims();
  std::lock_guard lock(all.mutex);
  const bool all_free = std::ranges::all_of(all.of_core, [](unsigned n) { return n == 0; });
  const bool fits = workers == all.of_core.size() && all_free;
  if (wanted == binding::none || (wanted == binding::automatic && !fits)) return;
  m_core_of_worker.reserve(workers);
  for (unsigned w = 0; w < workers; ++w) {
    const auto emptiest = std::ranges::min_element(all.of_core);  // the first, if several
    ++*emptiest;
    m_core_of_worker.push_back(unsigned(emptiest - all.of_core.begin()));
  }
}

core_claim::~core_claim() {
  claims& all = all_claims();
  std::lock_guard lock(all.mutex);
  for (const unsigned core : m_core_of_worker) --all.of_core[core];
}

void core_claim::bind(unsigned index) const noexcept {
  if (!m_core_of_worker.empty()) machine::instance().bind(m_core_of_worker[index]);
}

}  // namespace starling::detail
