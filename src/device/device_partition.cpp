// SPDX-License-Identifier: Apache-2.0
#include <starling/device/device_partition.hpp>

#include <utility>

#include "device_impl.hpp"

namespace starling {

device_partition::device_partition(device& target,
                                   std::unique_ptr<detail::backend_partition> units) noexcept
    : m_device(&target), m_units(std::move(units)) {}
device_partition::~device_partition() = default;

int device_partition::compute_units() const noexcept { return m_units->compute_units(); }

stream device_partition::make_stream(starling::priority priority) {
  return stream(m_device->internals().make_stream(priority, m_units.get()));
}

divided_device device::divide(int units) {
  const std::lock_guard lock(m_impl->mutex);
  auto found = m_impl->divisions.find(units);
  if (found == m_impl->divisions.end()) {
    detail::backend_partitions made = m_impl->backend->divide(units);
    found = m_impl->divisions
                .emplace(units,
                         impl::division{
                             std::make_unique<device_partition>(*this, std::move(made.chosen)),
                             std::make_unique<device_partition>(*this, std::move(made.remainder))})
                .first;
  }
  return {*found->second.chosen, *found->second.remainder};
}

}  // namespace starling
