// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <starling/objects/detail/job.hpp>

namespace starling {
class stream;
}
namespace starling::detail {

class channel_operation;
class channel_outbox;
class channel_transfer;
struct channel_request;

/// The part of a channel's end whose other end is on another rank. What is sent goes from memory to
/// memory under a number of the receiver's, which it has told once: no message goes ahead.
/// Receives are posted when they are asked for. Memory of streams goes by way of pinned memory, in
/// the order of the stream. On the worker of its chare.
class remote_channel {
 public:
  /// To a chare of rank `peer`.
  remote_channel(job& by, int peer);
  remote_channel(const remote_channel&) = delete;
  remote_channel& operator=(const remote_channel&) = delete;
  /// What has been sent goes all the same.
  ~remote_channel();

  /// What the other end is to send under.
  [[nodiscard]] std::uint64_t tag() const noexcept { return m_tag; }
  /// What this end is to send under. What was sent before has waited for it.
  void connect(std::uint64_t tag);

  /// `at`: whose order counts; null: the memory is the host's and as it should be. `sent` is told
  /// when it may be overwritten; null: nobody is.
  void send(const void* data, std::size_t bytes, stream* at,
            const std::shared_ptr<channel_operation>& sent);
  void receive(channel_request request);
  [[nodiscard]] bool receives() const noexcept { return !m_receives.empty(); }
  /// Ends all receives with operation_cancelled.
  void cancel() noexcept;

 private:
  friend class channel_transfer;

  job& m_job;
  int m_peer;
  std::uint64_t m_tag;
  std::shared_ptr<channel_outbox> m_outbox;
  std::vector<channel_transfer*> m_receives;  // under way
};

}  // namespace starling::detail
