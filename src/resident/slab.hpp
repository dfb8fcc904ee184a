// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <starling/resident/detail/session.hpp>

#include "driver.hpp"

namespace starling::resident::detail {

/// Returns the shape of a scheduler's group, with defaults applied.
[[nodiscard]] group_shape shape_of(const options& chosen);

/// Checks all options. @throws option_error, naming option, value and the accepted range
void check_options(const options& chosen);

/// The memory layout of a program's slabs and their initial contents.
class slab_plan {
 public:
  /// @throws option_error as `check_options`; usage_error if an element's scheduler does not exist
  slab_plan(const options& chosen, const program_description& program,
            const std::vector<array_request>& arrays, bool is_traced);

  [[nodiscard]] const layout& sizes() const noexcept { return m_layout; }
  [[nodiscard]] const std::vector<array_info>& arrays() const noexcept { return m_infos; }
  /// Writes the initial contents to the driver's own devices.
  void write_to(driver& memory) const;

 private:
  /// The distribution of an array's elements.
  struct distribution {
    std::vector<std::vector<std::uint32_t>> on_device;  // indices, by device and slot
    std::vector<std::uint32_t> of_scheduler;            // number of elements
  };

  [[nodiscard]] std::uint64_t reserve(std::uint64_t bytes);
  void distribute(const array_request& request);
  void lay_out(const array_request& request, const chare_description& type, const distribution& d);
  void write_array(driver& memory, std::size_t number) const;
  [[nodiscard]] std::vector<std::uint64_t> locations_of(std::size_t number) const;
  [[nodiscard]] std::vector<std::uint32_t> expected(const distribution& d) const;

  const std::vector<array_request>* m_requests;
  layout m_layout;
  std::vector<array_info> m_infos;
  std::vector<distribution> m_distributions;
};

}  // namespace starling::resident::detail
