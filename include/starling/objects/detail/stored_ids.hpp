// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <starling/objects/detail/remote.hpp>

/// References between the objects of a program within a checkpoint. Ids of objects are valid in one
/// run only, so a checkpoint stores the numbers of the objects in its list instead.
namespace starling::detail {

class object_space;

/// The objects of a checkpoint, in the order of its list: arrays, then read-only values. Immutable.
class stored_ids {
 public:
  stored_ids(object_space& space, std::vector<object_id> ids) noexcept
      : m_space(space), m_ids(std::move(ids)) {}

  [[nodiscard]] object_space& space() const noexcept { return m_space; }
  /// @throws usage_error when the object is not in the list
  [[nodiscard]] std::uint64_t number_of(object_id id) const;
  /// @throws archive_error when there is no such number
  [[nodiscard]] object_id id_of(std::uint64_t number) const;

  /// While it exists, the calling thread writes or reads states of a checkpoint: proxies in them
  /// are numbers, and those that are read belong to the space.
  class scope {
   public:
    explicit scope(const stored_ids& ids) noexcept;
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope();

   private:
    const stored_ids* m_before;
    object_space* m_space_before;
  };

 private:
  object_space& m_space;
  std::vector<object_id> m_ids;
};

/// Returns what is written for an object's id: the id, or its number in a checkpoint. @throws
/// usage_error when the checkpoint has no such object
[[nodiscard]] std::uint64_t written_id(object_id id);
/// Returns the id for a number that written_id has returned. @throws archive_error
[[nodiscard]] object_id read_id(std::uint64_t written);
/// Returns whether the calling thread writes or reads states of a checkpoint.
[[nodiscard]] bool is_in_checkpoint() noexcept;
/// @throws usage_error when the calling thread writes a checkpoint, which cannot have a `what`
void refuse_in_checkpoint(const char* what);

}  // namespace starling::detail
