// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <starling/device/buffer.hpp>
#include <starling/device/memory_name.hpp>
#include <starling/objects/detail/channel_offer.hpp>
#include <starling/objects/detail/job.hpp>

/// Memory that is offered to another rank. One message offers it, whichever way it goes:
/// - inside: with that message, up to `most_inside` bytes;
/// - transfer: from memory to memory under a tag of the sender's, host memory at both ends: memory
///   of a device goes by way of pinned memory, piece by piece, so that one is copied while others
///   travel;
/// - mapped: not at all. A device of the same host reads it where it lies, and says when it has.
namespace starling::detail {

enum class memory_way : std::uint8_t { inside, transfer, mapped };

/// With what stands ahead of it that fits into a segment of UCX' shared memory, 8 256 bytes. Larger
/// messages are fetched, which takes four times as long.
inline constexpr std::size_t most_inside = std::size_t{7} << 10;
inline constexpr std::uint64_t most_offered = std::uint64_t{1} << 40;
inline constexpr std::uint64_t piece_of_staging = std::uint64_t{4} << 20;

/// What stands in the message. The bytes that go inside follow, or a mapped_note.
struct offer_note {
  std::uint64_t bytes;
  std::uint64_t tag;  // of the transfer; of a mapped offer, where it cannot be mapped
  std::uint32_t type;
  memory_way way;
  bool is_in_pieces;  // the transfer: of `piece_of_staging` bytes each, but the last
};
struct mapped_note {
  memory_name name;
  reply_address reader;  // is told `true`: read; `false`: send it, by transfer. No slot: nobody is
};

/// As an argument of make_remote: bytes without their number, the last ones of the message.
struct last_bytes {
  std::span<const std::byte> bytes;
};
template <class Out>
void save_value(Out& ar, const last_bytes& last) {
  ar.write(last.bytes.data(), last.bytes.size());
}

/// One of the transfers that bring an offer's bytes.
struct piece {
  std::size_t from;
  std::size_t bytes;
};
/// In their order; one at least.
[[nodiscard]] std::vector<piece> pieces_of(std::size_t bytes, bool is_in_pieces);

/// An offer of another rank, on the worker of the receiver.
class remote_memory {
 public:
  /// What `ar` has left. @throws archive_error
  remote_memory(arrival& a, input_archive& ar);

  [[nodiscard]] const offer_note& note() const noexcept { return m_note; }
  [[nodiscard]] int rank() const noexcept { return m_rank; }
  [[nodiscard]] job& by() const noexcept { return m_job; }
  [[nodiscard]] std::span<const std::byte> inside() const noexcept { return m_inside; }
  [[nodiscard]] const memory_name& name() const noexcept { return m_mapped.name; }

  [[nodiscard]] bool is_answered() const noexcept { return m_mapped.reader.slot != 0; }

  /// It will have to wait: what is inside is copied, so that the message does not count as on its
  /// way any longer.
  void keep();
  /// As channel_offer::answer.
  void answer(stream* reader, const std::exception_ptr& error);
  /// It cannot be mapped: it comes by transfer. False: the sender does not wait for an answer.
  [[nodiscard]] bool ask_for_transfer();

 private:
  void drop_transfers();

  job& m_job;
  int m_rank;
  offer_note m_note;
  mapped_note m_mapped{};
  message m_whole;  // while what is inside lies there
  std::vector<std::byte> m_kept;
  std::span<const std::byte> m_inside;
};

/// What `ar` has left. @throws archive_error
[[nodiscard]] channel_offer load_offer(arrival& a, input_archive& ar, channel_name from);

/// Writes the message that offers memory to one chare.
class offer_writer {
 public:
  virtual ~offer_writer() = default;
  [[nodiscard]] virtual message write(const offer_note& note,
                                      std::span<const std::byte> rest) const = 0;
};

/// What an end offers an end on another rank, in order: each offer waits for its stream. On the
/// worker of the chare, and kept by what is on its way.
class channel_outbox : public std::enable_shared_from_this<channel_outbox> {
 public:
  channel_outbox(job& by, int peer, std::unique_ptr<const offer_writer> writer) noexcept;
  /// @throws device_error, std::bad_alloc; nothing was sent then
  void send(channel_offer offer);

 private:
  friend class mapped_slot;
  struct parcel {
    channel_offer offer;
    std::optional<memory_name> name;                   // how it can be mapped
    std::shared_ptr<const buffer<std::byte>> staging;  // null: the data stay where they are
    std::vector<future<void>> ready = {};              // of the pieces, in order

    /// That go on their way.
    [[nodiscard]] const std::byte* bytes() const noexcept {
      return staging != nullptr ? staging->data() : static_cast<const std::byte*>(offer.data);
    }
    /// Whether the other end hears of it before the data are ready.
    [[nodiscard]] bool goes_ahead() const noexcept {
      return ready.empty() || (staging != nullptr && offer.bytes > most_inside);
    }
  };
  enum class mapping : std::uint8_t { unknown, works, fails };

  void prepare(parcel& p);
  static void stage(parcel& p);
  static task<> send_all(std::shared_ptr<channel_outbox> self);
  static task<> send_staged(std::shared_ptr<channel_outbox> self, parcel p, std::uint64_t tag);
  void dispatch(parcel p);
  void offer_mapped(parcel p);
  void send_inside(parcel& p);
  void transfer(const parcel& p, std::uint64_t tag, const piece& which);
  [[nodiscard]] static offer_note note_of(const parcel& p, memory_way way, std::uint64_t tag);

  job& m_job;
  int m_peer;
  std::unique_ptr<const offer_writer> m_writer;
  mapping m_mapping;
  bool m_is_sending = false;
  std::deque<parcel> m_waiting;
};

class channel_end;

/// Memory on its way to a request, from another rank.
class incoming_memory;
void abandon_incoming(incoming_memory& m) noexcept;

/// An offer of another rank and a request that fit. True: the receive is over.
[[nodiscard]] bool receive_remote(channel_end& to, channel_offer& offer, channel_request& request);

}  // namespace starling::detail
