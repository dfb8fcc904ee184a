// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <starling/device/buffer.hpp>
#include <starling/device/memory_name.hpp>
#include <starling/objects/detail/channel_offer.hpp>
#include <starling/objects/detail/job.hpp>

/// Memory that is offered to another rank. One message offers it; the data take one of three ways:
/// - inside: in that message, up to `most_inside` bytes;
/// - transfer: from host memory to host memory, under a tag that the sender chooses. Device memory
///   is staged in pinned memory, piece by piece, so that copies and transfers overlap;
/// - mapped: not moved. A device of the same host reads the memory in place and then notifies the
///   sender.
namespace starling::detail {

enum class memory_way : std::uint8_t { inside, transfer, mapped };

/// Largest offer that is sent inside its message: with the header it fits into a segment of UCX'
/// shared memory, 8 256 bytes. Larger messages are fetched, which takes four times as long.
inline constexpr std::size_t most_inside = std::size_t{7} << 10;
inline constexpr std::uint64_t most_offered = std::uint64_t{1} << 40;
inline constexpr std::uint64_t piece_of_staging = std::uint64_t{4} << 20;

/// The offer as its message describes it. The data (way `inside`) or a mapped_note follow.
struct offer_note {
  std::uint64_t bytes;
  std::uint64_t tag;  // tag of the transfer; of a mapped offer: tag to use if mapping fails
  offer_position position;
  std::uint32_t type;
  memory_way way;
  bool is_in_pieces;  // transfers of `piece_of_staging` bytes each, except the last
};
struct mapped_note {
  memory_name name;
  reply_address reader;  // receives `true`: read; `false`: send by transfer. Slot 0: no reply
};

/// An argument of make_remote: bytes without their length, at the end of the message.
struct last_bytes {
  std::span<const std::byte> bytes;
};
template <class Out>
void save_value(Out& ar, const last_bytes& last) {
  ar.write(last.bytes.data(), last.bytes.size());
}

/// The part of an offer's bytes that one transfer moves.
struct piece {
  std::size_t from;
  std::size_t bytes;
};
/// Returns the pieces in order, at least one.
[[nodiscard]] std::vector<piece> pieces_of(std::size_t bytes, bool is_in_pieces);

/// An offer of another rank, on the worker of the receiver.
class remote_memory {
 public:
  /// Reads the rest of `ar`. @throws archive_error
  remote_memory(received_call& a, input_archive& ar);

  [[nodiscard]] const offer_note& note() const noexcept { return m_note; }
  [[nodiscard]] int rank() const noexcept { return m_rank; }
  [[nodiscard]] job& by() const noexcept { return m_job; }
  [[nodiscard]] std::span<const std::byte> inside() const noexcept { return m_inside; }
  [[nodiscard]] const memory_name& name() const noexcept { return m_mapped.name; }

  [[nodiscard]] bool is_answered() const noexcept { return m_mapped.reader.slot != 0; }

  /// Prepares the offer to wait: copies data that are inside the message, so that the message
  /// counts as processed.
  void keep();
  /// Notifies the sender, as channel_offer::answer.
  void answer(stream* reader, const std::exception_ptr& error);
  /// Asks the sender for a transfer, because mapping has failed. Returns false when the sender
  /// waits for no answer.
  [[nodiscard]] bool ask_for_transfer();

 private:
  job& m_job;
  int m_rank;
  offer_note m_note;
  mapped_note m_mapped{};
  message m_whole;  // holds the data of way `inside` until keep()
  std::vector<std::byte> m_kept;
  std::span<const std::byte> m_inside;
};

/// Reads an offer from the rest of `ar`. @throws archive_error
[[nodiscard]] channel_offer load_offer(received_call& a, input_archive& ar, channel_name from);

/// Writes the message that offers memory to one chare: the note, then `rest`.
using offer_writer =
    std::function<message(const offer_note& note, std::span<const std::byte> rest)>;

/// The offers of one channel end to its peer on another rank, sent in order: each waits for its
/// stream. Used on the worker of the chare. The sends in progress own a reference to it.
class channel_outbox : public std::enable_shared_from_this<channel_outbox> {
 public:
  /// `open`: the transfers of the sending chare, to which offers count that wait for their stream,
  /// or for the answer of a reader. Null: none.
  channel_outbox(job& by, int peer, offer_writer writer,
                 std::shared_ptr<open_transfers> open) noexcept;
  /// @throws device_error, std::bad_alloc; then no message was sent
  void send(channel_offer offer);
  /// Sends an offer of host memory that belongs to `owner`. @throws as `send`
  void send_owned(channel_offer offer, std::shared_ptr<const void> owner);

 private:
  friend class mapped_slot;
  struct parcel {
    channel_offer offer;
    std::optional<memory_name> name;                   // name by which the peer maps the memory
    std::shared_ptr<const buffer<std::byte>> staging;  // pinned copy; null: none is needed
    std::vector<future<void>> ready = {};              // completions of the pieces, in order
    std::shared_ptr<const void> owner = nullptr;       // of the offered memory; null: the user

    /// Returns the bytes to be sent.
    [[nodiscard]] const std::byte* bytes() const noexcept {
      return staging != nullptr ? staging->data() : static_cast<const std::byte*>(offer.data);
    }
    /// Whether the offer is sent before its data are ready.
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
  offer_writer m_writer;
  std::shared_ptr<open_transfers> m_open;
  mapping m_mapping;
  bool m_is_sending = false;
  std::deque<parcel> m_waiting;
};

class channel_end;

/// A receive of memory from another rank, in progress.
class memory_receive;
void abandon_receive(memory_receive& m) noexcept;

/// Serves a request with a fitting offer of another rank. Returns true when the receive is
/// complete.
[[nodiscard]] bool receive_remote(channel_end& to, channel_offer& offer, channel_request& request);

}  // namespace starling::detail
