// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <starling/device/memory_name.hpp>
#include <starling/objects/detail/job.hpp>

/// Device memory of elements on their way to another rank of the host:
/// docs/design/0064-exported-device-memory.md.
namespace starling::detail {

class stream_state;

/// Smallest size, in bytes, of device memory that is exported. Less is packed faster.
inline constexpr std::size_t worth_exporting = std::size_t{64} << 10;

struct exported_piece {
  memory_name name;
  std::uint64_t bytes;
};

/// The device memory that the receiver of a message with states of elements reads itself, instead
/// of finding it in the states. Its names are in the message, and the sender keeps the elements
/// until the receiver answers. If the receiver cannot map the memory, it drops the message, and the
/// sender sends it again with the contents. For one worker.
class exported_memory {
 public:
  /// Scope in which the calling thread writes a state to `ar`, and its buffers may be exported.
  class scope {
   public:
    scope(const output_archive& ar, exported_memory& to) noexcept;
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope();

   private:
    friend class exported_memory;
    const output_archive& m_archive;
    exported_memory& m_to;
    scope* m_outer;
  };

  /// `to`: the rank that receives the message.
  exported_memory(job& by, int to) noexcept : m_job(&by), m_to(to) {}

  /// Exports device memory, after the work that `order` (may be null) has so far. Returns false,
  /// without an effect, if it must be written to `ar`. @throws device_error
  [[nodiscard]] static bool add(const output_archive& ar, const void* from, std::size_t bytes,
                                stream_state* order);

  /// Sends `make(exported)`, a message with `exported` as one of its values. Destroys `owner`,
  /// which owns the memory, when it is not needed any more: now, on this worker when the receiver
  /// answers, or at the end of the job. @throws the exceptions of `make`
  template <class Make, class Owner>
  static void send(exported_memory exported, Make make, Owner owner) {
    if (exported.m_pieces.empty())
      return exported.m_job->send(exported.m_to, make(std::as_const(exported)));
    send_and_keep(std::move(exported), std::move(make), std::make_shared<Owner>(std::move(owner)));
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
  [[nodiscard]] bool add(const void* from, std::size_t bytes, stream_state* order);
  void read_contents();

  job* m_job;
  int m_to;
  std::vector<exported_piece> m_pieces;
  std::vector<const void*> m_addresses;            // as many
  reply_address m_answer_to;                       // slot 0: no answer is expected
  std::vector<std::vector<std::byte>> m_contents;  // as many, or none
};

/// What exported_memory has written to a received message.
class imported_memory {
 public:
  /// Scope in which the calling thread reads a state from `ar`, whose buffers may be exported.
  class scope {
   public:
    scope(const input_archive& ar, imported_memory& from) noexcept;
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope();

   private:
    friend class imported_memory;
    const input_archive& m_archive;
    imported_memory& m_from;
    scope* m_outer;
  };
  struct piece {
    const std::byte* data;
    std::size_t bytes;
    bool is_on_device;  ///< mapped; otherwise in host memory
  };

  /// @throws archive_error
  imported_memory(const received_call& a, input_archive& ar);

  /// Maps the memory. Returns false if that is impossible: the message then has no effect, as the
  /// sender is asked to send it again.
  [[nodiscard]] bool map();
  /// Answers, when all states have been read, that the memory is not used any more.
  void give_back();

  /// Returns the next memory that was exported instead of being written to `ar`.
  /// @throws archive_error if there is none
  [[nodiscard]] static piece take(const input_archive& ar);
  /// Copies it to device memory of this worker's device. @throws device_error
  static void read(void* to, const piece& from);

 private:
  job* m_job;
  std::vector<exported_piece> m_exported;
  reply_address m_answer_to;
  std::vector<std::vector<std::byte>> m_contents;
  std::vector<piece> m_pieces;
  std::size_t m_taken = 0;
};

}  // namespace starling::detail
