// SPDX-License-Identifier: Apache-2.0
#include "references.hpp"

#include <string_view>

#include <fmt/format.h>

#include <starling/core/error.hpp>

namespace starling::resident::detail {
namespace {

/// Throws usage_error. `maker`: the function that makes this kind of reference.
[[noreturn]] void refuse(const std::string& what, std::string_view maker = "create") {
  throw usage_error(fmt::format(
      "a host task names {}. References are made by `{}` of the same system", what, maker));
}

}  // namespace

void require_array(const program_description& program, const std::vector<array_request>& arrays,
                   const array_reference& to, std::optional<std::uint32_t> index) {
  if (to.number >= arrays.size())
    refuse(fmt::format("array {}: this program has {}", to.number, arrays.size()));
  const array_request& array = arrays[to.number];
  const std::string_view name = program.chares[array.type].name;
  const std::size_t size = array.scheduler_of.size();
  if (to.type != array.type)
    refuse(fmt::format("array {} as one of {}: it is one of {}", to.number,
                       program.chares[to.type].name, name));
  if (index && *index >= size)
    refuse(fmt::format("element {} of array {} ({}): it has {} elements", *index, to.number, name,
                       size));
  if (to.count != size)
    refuse(fmt::format("array {} ({}) as one of {} elements: it has {}", to.number, name, to.count,
                       size));
}

std::uint32_t host_mailbox_table::add(std::size_t bytes) {
  m_all.push_back({bytes});
  return static_cast<std::uint32_t>(m_all.size() - 1);
}

void host_mailbox_table::require(std::uint32_t number, std::size_t bytes) const {
  if (number >= m_all.size())
    refuse(fmt::format("host mailbox {}: this program has {}", number, m_all.size()),
           "make_host_mailbox");
  if (bytes != m_all[number].bytes)
    refuse(fmt::format("host mailbox {} for values of {} bytes: its values have {}", number, bytes,
                       m_all[number].bytes),
           "make_host_mailbox");
}

void host_mailbox_table::put(const message& m) {
  if (m.target < m_all.size() && m.bytes == m_all[m.target].bytes)
    m_all[m.target].held.push_back(m);
  else
    m_stray = m;
}

bool host_mailbox_table::take(std::uint32_t number, message& into) noexcept {
  if (!has_value(number)) return false;
  std::deque<message>& held = m_all[number].held;
  into = held.front();
  held.pop_front();
  return true;
}

bool host_mailbox_table::has_value(std::uint32_t number) const noexcept {
  return !m_all[number].held.empty();
}

std::string host_mailbox_table::text_of_stray() const {
  std::string text;
  if (m_stray->target < m_all.size())
    text = fmt::format("a resident program sent {} bytes to host mailbox {}, whose values have {}",
                       m_stray->bytes, m_stray->target, m_all[m_stray->target].bytes);
  else
    text = fmt::format(
        "a resident program sent to host mailbox {}, which is not one of this program: it has {}",
        m_stray->target, m_all.size());
  return text + ". Host mailboxes are made by `make_host_mailbox` of the same system";
}

}  // namespace starling::resident::detail
