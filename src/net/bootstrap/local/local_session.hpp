// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "unique_fd.hpp"
#include "wire.hpp"

namespace starling::detail {

/// What `starling launch` tells a rank by its environment.
struct local_settings {
  std::string socket;
  wire::secret secret{};
  int rank = 0;
  int size = 1;
  std::chrono::milliseconds timeout{60'000};
};

/// @throws bootstrap_error naming the variable that is missing or wrong
[[nodiscard]] local_settings local_settings_of_environment();

/// A rank's connection to the launcher. After a failure every all_gather throws the same.
class local_session {
 public:
  /// Connects. @throws bootstrap_error
  explicit local_session(local_settings settings);

  [[nodiscard]] const local_settings& settings() const noexcept { return m_settings; }
  [[nodiscard]] std::vector<std::string> all_gather(const std::string& mine);
  void abort(int exit_code, const std::string& why) noexcept;

 private:
  using clock = std::chrono::steady_clock;

  void connect();
  void check_peer() const;
  void send(wire::kind what, const std::string& body);
  /// False when the launcher did not read for the timeout.
  [[nodiscard]] bool write_frame(wire::kind what, const std::string& body);
  /// The next message, which must be of this kind.
  wire::message receive(wire::kind expected, clock::time_point deadline);
  bool wait_for_bytes(clock::time_point deadline);
  [[noreturn]] void fail(const std::string& why);
  [[noreturn]] void fail_after_timeout(const char* what);

  local_settings m_settings;
  unique_fd m_fd;
  wire::reader m_reader;
  std::uint32_t m_round = 0;
  std::string m_failure;
  bool m_is_torn = false;  // part of a frame was sent: nothing can follow it
};

}  // namespace starling::detail
