// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "net/bootstrap/local/stop_word.hpp"

namespace starling::launch {

using detail::stop_state;

/// The launcher's end of the request to stop at a checkpoint, for one start of the ranks.
class stop_request {
 public:
  /// Creates the file at `path`, which rank 0 maps. @throws bootstrap_error
  explicit stop_request(const std::string& path);
  stop_request(const stop_request&) = delete;
  stop_request& operator=(const stop_request&) = delete;
  ~stop_request();

  /// Returns whether the program has opened checkpoints.
  [[nodiscard]] bool has_checkpoints() const noexcept;
  /// Returns the signal that the program takes as a request; 0: none, or not known yet.
  [[nodiscard]] int signal() const noexcept;

  [[nodiscard]] stop_state state() const noexcept;
  /// Requests the stop, unless that has been done. After `failed` it requests it again.
  void make() noexcept;
  /// Returns false if the job is taking or has taken the checkpoint; otherwise no request is left.
  bool withdraw() noexcept;

  /// After `stopped`: the number of the checkpoint, and whether a signal to rank 0 was a cause.
  [[nodiscard]] std::uint64_t number() const noexcept;
  [[nodiscard]] bool is_by_signal() const noexcept;

 private:
  detail::stop_word* m_word;
};

}  // namespace starling::launch
