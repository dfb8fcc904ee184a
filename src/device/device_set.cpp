// SPDX-License-Identifier: Apache-2.0
#include <starling/device/device.hpp>

#include <string>
#include <utility>

#include <starling/core/error.hpp>

#include "device_impl.hpp"
#include "device_options.hpp"

namespace starling {
namespace detail {
namespace {

bool uses_cuda(const device_options& chosen) noexcept {
  return chosen.backend == backend_choice::cuda ||
         (chosen.backend == backend_choice::automatic && count_cuda_devices() > 0);
}

std::unique_ptr<backend> open_backend(const device_options& chosen,
                                      const backend_request& request) {
  switch (chosen.backend) {
    case backend_choice::host:
      return make_host_backend(request);
    case backend_choice::cuda:
      return make_cuda_backend(request);
    case backend_choice::sycl:
      return make_sycl_backend(request);
    case backend_choice::kokkos:
      return make_kokkos_backend(request);
    case backend_choice::automatic:
      break;
  }
  return uses_cuda(chosen) ? make_cuda_backend(request) : make_host_backend(request);
}

}  // namespace

}  // namespace detail

device_set::impl::impl(runtime& rt, completion_kind how, std::unique_ptr<detail::backend> family)
    : owner(rt), completion(how), backend(std::move(family)),
      poller(rt, how == completion_kind::event ||
                     (how == completion_kind::word && !backend->traits().notifies)) {
  owner.add_poller(poller);
}

// Removes the poller if the set's constructor threw before its devices; else it is removed already.
device_set::impl::~impl() { owner.remove_poller(poller); }

device_set::device_set(runtime& owner) {
  auto chosen = detail::device_options::read(owner.options());
  if (chosen.shares > 0 && detail::uses_cuda(chosen))
    chosen.which = chosen.devices_of_share(detail::count_cuda_devices());
  detail::worker& home = owner.get_executor().home();
  m_impl = std::make_unique<impl>(
      owner, chosen.completion,
      detail::open_backend(chosen, {&owner, chosen.completion, &home, chosen.which, chosen.count}));
  try {
    std::vector<std::vector<int>> nearby;
    for (int i = 0; i < m_impl->backend->device_count(); ++i) {
      m_devices.push_back(std::make_unique<starling::device>(
          std::make_unique<device::impl>(*m_impl, device_id{i}, m_impl->backend->open(i), home)));
      starling::device& d = *m_devices.back();
      d.internals().context.owner = &d;
      d.internals().context.barriers = chosen.barriers;
      d.internals().exports = chosen.memory != detail::peer_memory::stage;
      d.internals().imports = chosen.memory == detail::peer_memory::map;
      d.internals().pool = std::make_unique<stream_pool>(d, chosen.streams);
      nearby.push_back(d.properties().nearby_cores);
    }
    m_of_worker = detail::map_workers(
        chosen.mapping, detail::cores_of_workers(owner.options(), owner.worker_count()), nearby);
  } catch (...) {
    owner.remove_poller(m_impl->poller);  // before the streams of the devices opened so far end
    throw;
  }
}

device_set::~device_set() {
  m_impl->owner.remove_poller(m_impl->poller);  // before its streams are destroyed
  for (const auto& d : m_devices) d->internals().pool.reset();
  // Freed blocks may be in use by streams of other devices.
  for (const auto& d : m_devices) d->internals().finish_streams();
  m_devices.clear();
}

device& device_set::device(std::size_t index) const {
  if (index < m_devices.size()) return *m_devices[index];
  throw usage_error("device " + std::to_string(index) + " does not exist: there are " +
                    std::to_string(m_devices.size()));
}

device& device_set::on_worker(int worker) const {
  if (worker < 0) throw usage_error("device of worker " + std::to_string(worker));
  return *m_devices[m_of_worker[static_cast<std::size_t>(worker) % m_of_worker.size()]];
}

device& device_set::here() const {
  const bool inside = runtime::current() == &m_impl->owner;
  return inside ? on_worker(runtime::worker_index()) : *m_devices.front();
}

backend_kind device_set::backend() const noexcept { return m_impl->backend->traits().kind; }
completion_kind device_set::completion() const noexcept { return m_impl->completion; }
std::uint64_t device_set::stall_queries() const noexcept { return m_impl->poller.stall_queries(); }

}  // namespace starling
