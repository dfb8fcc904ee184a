// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <starling/resident/detail/session.hpp>

#include "driver.hpp"

namespace starling::resident::detail {

/// The threads of a scheduler that are meant.
[[nodiscard]] group_shape shape_of(const options& chosen);

/// @throws option_error naming option, value and what is accepted
void check_options(const options& chosen);

/// Where everything of a program lies, and what is written there before it starts.
class slab_plan {
 public:
  slab_plan(const options& chosen, const program_description& program,
            const std::vector<array_request>& arrays, bool is_traced);

  [[nodiscard]] const layout& sizes() const noexcept { return m_layout; }
  [[nodiscard]] const std::vector<array_info>& arrays() const noexcept { return m_infos; }
  /// To its own devices.
  void write_to(driver& memory) const;

 private:
  /// An array's elements: which of them each device has, in the order of their slots.
  struct distribution {
    std::vector<std::vector<std::uint32_t>> on_device;  // indices
    std::vector<std::uint32_t> of_scheduler;            // elements
  };

  [[nodiscard]] std::uint64_t reserve(std::uint64_t bytes);
  void distribute(const array_request& request);
  void place(const array_request& request, const chare_description& type, const distribution& d);
  void write_array(driver& memory, std::size_t number) const;
  [[nodiscard]] std::vector<std::uint64_t> locations_of(std::size_t number) const;
  [[nodiscard]] std::vector<std::uint32_t> expected(const distribution& d) const;

  const std::vector<array_request>* m_requests;
  layout m_layout;
  std::vector<array_info> m_infos;
  std::vector<distribution> m_distributions;
};

}  // namespace starling::resident::detail
