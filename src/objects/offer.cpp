// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/offer.hpp>

#include <atomic>

#include <starling/objects/detail/object_space.hpp>
#include <starling/objects/ranks.hpp>

namespace starling::detail {

std::shared_ptr<channel_end> open_offer(chare_core& by, std::int32_t rank, std::uint64_t number,
                                        const std::string& receiver) {
  return std::make_shared<channel_end>(
      by, channel_name(), name_offer(rank, number), nullptr,  // only receives: has no send()
      "offer " + std::to_string(number) + " of rank " + std::to_string(rank) + " to " + receiver);
}

channel_offer make_offer(chare_core& by, std::uint32_t type, std::span<const std::byte> data,
                         const stream_point& available, const std::string& receiver) {
  static std::atomic<std::uint64_t> last{0};  // guards no other data
  const std::uint64_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  auto label = std::make_shared<const channel_label>(
      channel_label{"offer " + std::to_string(number) + " to " + receiver, transfers_of(by)});
  return {name_offer(this_rank().number, number),
          type,
          data.data(),
          data.size(),
          available,
          std::make_shared<channel_operation>(std::move(label), channel_operation::kind::send),
          by.element_state().local->home,
          nullptr};
}

}  // namespace starling::detail
