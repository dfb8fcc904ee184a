// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <starling/device/buffer.hpp>
#include <starling/device/memory_name.hpp>
#include <starling/objects/detail/job.hpp>

/// Device memory of elements that migrate to another rank of the host:
/// docs/design/0064-exported-device-memory.md.
namespace starling::detail {

class object_space;

/// Scope in which the calling thread reads or writes the state of an element by `ar`. It connects
/// the archive with what belongs to it: meanwhile the thread may also write messages to other
/// archives.
template <class Archive, class Of>
class archive_scope {
 public:
  archive_scope(const Archive& ar, Of& of) noexcept;
  archive_scope(const archive_scope&) = delete;
  archive_scope& operator=(const archive_scope&) = delete;
  ~archive_scope();

  /// Returns what belongs to the archive of the innermost scope; null if that is not `ar`.
  [[nodiscard]] static Of* find(const Archive& ar) noexcept;

 private:
  const Archive& m_archive;
  Of& m_of;
  archive_scope* m_outer;
};

/// Smallest size, in bytes, of device memory that is exported. Smaller memory is sent faster than
/// an allocation is mapped for the first time.
inline constexpr std::size_t worth_exporting = std::size_t{64} << 10;

struct exported_piece {
  memory_name name;
  std::uint64_t bytes;
};

/// What the receiver of exported memory has done with the message.
enum class import_result : std::uint8_t {
  done,      ///< read everything
  unmapped,  ///< nothing, as it cannot map the memory
  full       ///< nothing, as its device has no room
};

/// The device memory that the receiver of a message with states of elements reads itself, instead
/// of finding it in the states. Its names are in the message, and the sender keeps the elements
/// until the receiver answers. If the receiver has not read the memory, the sender sends the
/// message again with the contents. For one worker.
class exported_memory {
 public:
  /// `to`: the worker, numbered across all ranks, that receives the message.
  exported_memory(object_space& space, std::size_t to) noexcept : m_space(&space), m_to(to) {}

  /// Exports the device memory of a buffer, after the work that its stream has so far. `holder`:
  /// the address of the buffer object. Returns false, without an effect, if the memory must be
  /// written to `ar`. @throws device_error
  [[nodiscard]] static bool add(const output_archive& ar, const void* holder, const void* memory,
                                std::size_t bytes, stream_state* order);

  /// Sends `make(exported)`, a message with `exported` as one of its values. Destroys `owner`,
  /// which owns the memory, when it is not needed any more: now, on this worker when the receiver
  /// answers, or, if the run ends before, after the workers have stopped. @throws the exceptions of
  /// `make` and of its copies; then, too, `owner` is destroyed
  template <class Make, class Owner>
  static void send(exported_memory exported, const Make& make, Owner owner) {
    static_assert(std::is_nothrow_move_constructible_v<Owner>);
    if (exported.m_pieces.empty()) return exported.send_message(make(std::as_const(exported)));
    send_and_keep(std::move(exported), make, std::make_shared<Owner>(std::move(owner)));
  }

 private:
  class slot;
  using message_maker = std::function<message(const exported_memory&)>;

  template <class Out>
  friend void save_value(Out& ar, const exported_memory& e) {
    save_value(ar, e.m_pieces);
    if (e.m_pieces.empty()) return;
    save_value(ar, e.m_answer_to);
    save_value(ar, e.m_contents);
  }
  static void send_and_keep(exported_memory exported, message_maker make,
                            std::shared_ptr<const void> owner);
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  void send_message(message m) const;
  [[nodiscard]] bool add(const void* memory, std::size_t bytes, stream_state* order);
  void read_contents();

  object_space* m_space;
  std::size_t m_to;
  std::vector<exported_piece> m_pieces;
  std::vector<const void*> m_addresses;            // as many
  reply_address m_answer_to;                       // slot 0: no answer is expected
  std::vector<std::vector<std::byte>> m_contents;  // as many, or none
};

/// The element that an archive writes. `object` is the memory of the C++ object of the element. A
/// buffer whose own address is in `object` is a member of the element: nothing changes it before
/// the element is deleted, so its device memory may be exported.
struct exported_element {
  exported_memory& to;
  std::span<const std::byte> object;
};
using exporting_scope = archive_scope<output_archive, exported_element>;

/// What exported_memory has written to a received message.
class imported_memory {
 public:
  /// @throws archive_error
  imported_memory(const received_call& a, input_archive& ar);

  /// Copies the memory to this worker's device. Returns false if that is impossible: the message
  /// then has no effect, as the sender is asked to send it again.
  /// @throws device_error; out_of_memory if the message has been sent again already
  [[nodiscard]] bool read();
  /// Answers, when all states have been read, that the memory is not needed any more.
  void give_back() { answer(import_result::done); }

  /// Returns the next memory that was exported instead of being written to `ar`.
  /// @throws archive_error if there is none
  [[nodiscard]] static buffer<std::byte> take(const input_archive& ar);

 private:
  void answer(import_result what);
  void map_and_copy();

  job* m_job;
  std::vector<exported_piece> m_exported;
  reply_address m_answer_to;
  std::vector<std::vector<std::byte>> m_contents;
  std::vector<buffer<std::byte>> m_read;
  std::size_t m_taken = 0;
};

using importing_scope = archive_scope<input_archive, imported_memory>;

extern template class archive_scope<output_archive, exported_element>;
extern template class archive_scope<input_archive, imported_memory>;

}  // namespace starling::detail
