// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>

#include <starling/core/task.hpp>
#include <starling/device/event.hpp>
#include <starling/device/stream.hpp>
#include <starling/objects/detail/job.hpp>

namespace starling::detail {

/// Tells other ranks that a stream has read what they have lent it. Of one worker and its own.
///
/// A mark between two copies of the reader's stream would cost it as much as a small copy, and many
/// may follow each other: the reader's stream records events alone, and another stream waits for
/// them and tells the host.
class read_receipts : public std::enable_shared_from_this<read_receipts> {
 public:
  explicit read_receipts(job& by) noexcept : m_job(by) {}

  /// `to` is told when `reader` has passed this point, in the order of the calls.
  /// @throws device_error, std::bad_alloc; nobody is told then
  void add(stream& reader, const reply_address& to);

 private:
  struct receipt {
    event read;
    reply_address to;
  };
  static task<> tell_all(std::shared_ptr<read_receipts> self, stream behind);
  static task<> wait_for(stream& behind, const event& read);

  job& m_job;
  std::deque<receipt> m_due;
  bool m_is_telling = false;
};

}  // namespace starling::detail
