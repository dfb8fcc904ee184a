// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <starling/objects/detail/channel_end.hpp>

namespace starling::detail {

/// The channels of a chare. Made when the chare needs it first; used on the chare's worker.
class channel_set {
 public:
  explicit channel_set(chare_core& owner) : open(std::make_shared<open_transfers>(owner)) {}
  channel_set(const channel_set&) = delete;
  channel_set& operator=(const channel_set&) = delete;
  ~channel_set() { open->forget_owner(); }

  /// Removes and returns a line of `begun`; empty: it is not there.
  [[nodiscard]] std::optional<offer_line> take_line(std::uint64_t line);

  std::vector<channel_end*> ends;
  std::vector<channel_offer> unclaimed;  // in order of arrival
  struct former_end {
    channel_name peer;
    offer_order order;
  };
  std::vector<former_end> former;  // ends that were destroyed and may be made again
  std::vector<offer_line> begun;   // lines of all ends before the chare has come to this rank
  std::shared_ptr<open_transfers> open;
  bool is_asking = false;   // partners have not answered
  bool is_refused = false;  // one of them has not read everything
};

/// Returns the channels of a chare, made if there are none.
[[nodiscard]] channel_set& channels_of(chare_core& c);

}  // namespace starling::detail
