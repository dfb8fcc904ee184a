// SPDX-License-Identifier: Apache-2.0
#include <starling/device/device_part.hpp>

#include <string>
#include <utility>

#include <starling/core/error.hpp>

#include "device_impl.hpp"

namespace starling {

device_part::device_part(device& where, std::unique_ptr<detail::backend_part> units) noexcept
    : m_device(&where), m_units(std::move(units)) {}
device_part::~device_part() = default;

int device_part::compute_units() const noexcept { return m_units->compute_units(); }

stream device_part::make_stream(priority urgency) {
  return stream(m_device->parts().make_stream(urgency, m_units.get()));
}

divided_device device::divide(int units) {
  const std::lock_guard lock(m_impl->mutex);
  auto found = m_impl->divisions.find(units);
  if (found == m_impl->divisions.end()) {
    detail::backend_parts made = m_impl->backend->divide(units);
    found =
        m_impl->divisions
            .emplace(units,
                     impl::division{std::make_unique<device_part>(*this, std::move(made.chosen)),
                                    std::make_unique<device_part>(*this, std::move(made.rest))})
            .first;
  }
  return {*found->second.chosen, *found->second.rest};
}

detail::backend_parts detail::backend_device::divide(int) {
  throw usage_error("device " + properties().name +
                    " cannot be divided: only the compute units of CUDA devices can be set apart "
                    "for some streams");
}

}  // namespace starling
