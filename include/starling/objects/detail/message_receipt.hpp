// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

namespace starling::detail {

class job;

/// Accompanies a message from another rank until it is processed. Its destruction reports to the
/// sender that the message's bytes are processed, so that the sender may send more.
class message_receipt {
 public:
  message_receipt() noexcept = default;
  message_receipt(job& by, int from, std::uint64_t bytes) noexcept
      : m_job(&by), m_from(from), m_bytes(bytes) {}
  message_receipt(message_receipt&& other) noexcept
      : m_job(std::exchange(other.m_job, nullptr)), m_from(other.m_from), m_bytes(other.m_bytes) {}
  message_receipt& operator=(message_receipt&& other) noexcept {
    std::swap(m_job, other.m_job);
    std::swap(m_from, other.m_from);
    std::swap(m_bytes, other.m_bytes);
    return *this;
  }
  ~message_receipt() {
    if (m_job != nullptr) give();
  }

 private:
  void give() noexcept;

  job* m_job = nullptr;
  int m_from = 0;
  std::uint64_t m_bytes = 0;
};

/// Receipt of messages from this rank: empty.
struct no_receipt {};

}  // namespace starling::detail
