// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/objects/detail/array_base.hpp>

/// Arrays whose elements migrate together: docs/design/0048-bound-arrays.md.
namespace starling::detail {

/// Two arrays of one placement. The elements with the same index, the leader and its follower, are
/// always on the same worker, until one of them is destroyed. Called on that worker.
class bond {
 public:
  bond() = default;
  bond(const bond&) = delete;
  bond& operator=(const bond&) = delete;
  virtual ~bond() = default;

  [[nodiscard]] virtual const array_base& leading() const noexcept = 0;
  [[nodiscard]] virtual const array_base& following() const noexcept = 0;
  /// Returns the element of the other array with the index of `c`; null: it has been destroyed.
  [[nodiscard]] virtual chare_core* partner(chare_core& c) = 0;
  /// Lets the leader of `follower` depart, if it is to depart and both can.
  virtual void try_leader(chare_core& follower) = 0;
  /// Called when `leader`, perhaps with a destination, cannot depart now: each wait of its follower
  /// repeats the request.
  void delay(chare_core& leader);
  /// Lets both depart to a worker of any rank, after `before_migration` of the leader. Returns
  /// false, without an effect, if the follower has been destroyed.
  [[nodiscard]] virtual bool depart_together(chare_core& leader, std::uint32_t to) = 0;
};

/// Returns whether the array is bound to another one, whose elements are the leaders.
[[nodiscard]] inline bool follows(const array_base& array) noexcept {
  return array.bound() != nullptr && &array.bound()->following() == &array;
}

/// Throws usage_error if `c` is a follower: `call` is for its leader.
void require_no_follower(chare_core& c, const char* call);

}  // namespace starling::detail
