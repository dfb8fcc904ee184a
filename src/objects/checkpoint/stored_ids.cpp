// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/stored_ids.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <starling/core/error.hpp>
#include <starling/objects/error.hpp>

namespace starling::detail {
namespace {

constinit thread_local const stored_ids* t_ids = nullptr;

}  // namespace

std::uint64_t stored_ids::number_of(object_id id) const {
  const auto found = std::ranges::find(m_ids, id);
  if (found == m_ids.end())
    throw usage_error("a checkpoint: a state refers to " + name_of(id) +
                      ", which was not created by starling::checkpoints");
  return std::uint64_t(found - m_ids.begin());
}

object_id stored_ids::id_of(std::uint64_t number) const {
  if (number >= m_ids.size())
    throw archive_error("a checkpoint: a state refers to object " + std::to_string(number) +
                        ", of which there are " + std::to_string(m_ids.size()));
  return m_ids[number];
}

stored_ids::scope::scope(const stored_ids& ids) noexcept
    : m_before(std::exchange(t_ids, &ids)), m_space_before(set_receiving_space(&ids.space())) {}

stored_ids::scope::~scope() {
  t_ids = m_before;
  static_cast<void>(set_receiving_space(m_space_before));
}

std::uint64_t written_id(object_id id) { return t_ids == nullptr ? id : t_ids->number_of(id); }

object_id read_id(std::uint64_t written) {
  return t_ids == nullptr ? written : t_ids->id_of(written);
}

bool is_in_checkpoint() noexcept { return t_ids != nullptr; }

void refuse_in_checkpoint(const char* what) {
  if (t_ids != nullptr)
    throw usage_error(std::string("a checkpoint cannot store ") + what +
                      ": it has a meaning in one run only");
}

}  // namespace starling::detail
