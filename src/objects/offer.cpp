// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/offer.hpp>

#include <atomic>

#include <starling/objects/detail/object_space.hpp>
#include <starling/objects/ranks.hpp>

namespace starling::detail {
namespace {

/// The peer of an end that only receives: no offer is sent to it.
class offering_rank final : public channel_peer {
 public:
  explicit offering_rank(std::string receiver) : m_receiver(std::move(receiver)) {}
  void send(channel_offer) const override {
    throw usage_error("an offer of memory is received, not answered by another");
  }
  [[nodiscard]] std::string name() const override { return m_receiver; }

 private:
  std::string m_receiver;
};

}  // namespace

std::shared_ptr<channel_end> open_offer(chare_core& by, std::int32_t rank, std::uint64_t number,
                                        const std::string& receiver) {
  return std::make_shared<channel_end>(
      by, channel_name(), name_offer(rank, number), std::make_unique<const offering_rank>(receiver),
      "offer " + std::to_string(number) + " of rank " + std::to_string(rank));
}

channel_offer make_offer(chare_core& by, std::uint32_t type, std::span<const std::byte> data,
                         const stream_point& available, const std::string& receiver) {
  static std::atomic<std::uint64_t> last{0};  // guards no other data
  const std::uint64_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  auto text =
      std::make_shared<const std::string>("offer " + std::to_string(number) + " to " + receiver);
  return {name_offer(this_rank().number, number),
          type,
          data.data(),
          data.size(),
          available,
          std::make_shared<channel_operation>(std::move(text), ": send"),
          by.element_state().local->home,
          nullptr};
}

}  // namespace starling::detail
