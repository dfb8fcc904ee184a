// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <starling/net/bootstrap.hpp>

#include "unique_fd.hpp"
#include "wire.hpp"

namespace starling::detail {

/// Settings that `starling launch` passes to a rank in its environment.
struct local_settings {
  std::string socket;
  wire::secret secret{};
  int rank = 0;
  int size = 1;
  std::chrono::milliseconds timeout{60'000};
};

/// A rank's connection to the launcher. After a failure every all_gather throws the same error.
class local_session final : public bootstrap {
 public:
  /// Connects and sends hello. @throws bootstrap_error
  explicit local_session(local_settings settings);

  int rank() const noexcept override { return m_settings.rank; }
  int size() const noexcept override { return m_settings.size; }
  int local_rank() const noexcept override { return rank(); }
  int local_size() const noexcept override { return size(); }
  const char* name() const noexcept override { return "starling launch"; }
  std::vector<std::string> all_gather(const std::string& mine) override;
  void abort(int exit_code, const std::string& why) noexcept override;

 private:
  using clock = std::chrono::steady_clock;

  void connect();
  void check_peer() const;
  void send(wire::kind what, const std::string& body);
  /// Returns false if the launcher did not read within the timeout.
  [[nodiscard]] bool write_frame(wire::kind what, const std::string& body);
  /// Returns the next message. @throws bootstrap_error if its kind differs or none comes
  wire::message receive(wire::kind expected, clock::time_point deadline);
  bool wait_for_bytes(clock::time_point deadline);
  [[noreturn]] void fail(const std::string& why);
  [[noreturn]] void fail_after_timeout(const char* what);

  local_settings m_settings;
  unique_fd m_fd;
  wire::reader m_reader;
  std::uint32_t m_round = 0;
  std::string m_failure;
  bool m_is_torn = false;  // a frame was sent in part: no other frame can follow it
};

}  // namespace starling::detail
