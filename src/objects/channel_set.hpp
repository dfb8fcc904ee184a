// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
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

  std::vector<channel_end*> ends;
  std::vector<channel_offer> unclaimed;  // in order of arrival
  struct former_end {
    channel_name peer;
    offer_order order;
  };
  std::vector<former_end> former;  // ends that were destroyed and may be made again
  std::shared_ptr<open_transfers> open;
};

/// Returns the channels of a chare, made if there are none.
[[nodiscard]] channel_set& channels_of(chare_core& c);

}  // namespace starling::detail
