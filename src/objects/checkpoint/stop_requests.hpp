// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <starling/core/options.hpp>

#include "net/bootstrap/local/stop_word.hpp"

namespace starling {
class runtime;
}

namespace starling::detail {

/// Returns the signal that option `stop-signal` names; 0: none. @throws option_error
[[nodiscard]] int stop_signal_of(const runtime_options& options);

/// Requests to stop at the next checkpoint: from `starling launch`, and by a signal to the process.
/// A service of a runtime. Rank 0 decides by those that it has got. Thread-safe, except `take` and
/// `connect`.
class stop_requests {
 public:
  explicit stop_requests(runtime&) noexcept {}
  stop_requests(const stop_requests&) = delete;
  stop_requests& operator=(const stop_requests&) = delete;
  /// Restores the default action of the signal if no other runtime of the process takes it.
  ~stop_requests();

  /// Takes `signal` from now on as a request; 0: none. Returns false if the program has a handler
  /// of its own or ignores the signal, which then stays so.
  [[nodiscard]] bool take(int signal);
  /// On rank 0: connects with `starling launch`, if it has started this process, and reports the
  /// signal that is taken; 0: none. Without a launcher it does nothing.
  void connect(int signal);

  [[nodiscard]] bool is_requested() const noexcept;
  /// Called where the checkpoint begins. Returns whether it is the last one, as a request cannot be
  /// withdrawn from now on. Then `fail` or `complete` follows.
  [[nodiscard]] bool accept() noexcept;
  /// The checkpoint could not be taken. A request by a signal remains.
  void fail() noexcept;
  /// The checkpoint is complete on disk, and the run ends. Returns whether a launcher reports that.
  [[nodiscard]] bool complete(std::uint64_t number) noexcept;

 private:
  int m_signal = 0;             // taken
  stop_word* m_word = nullptr;  // shared with the launcher; null: there is none
};

/// Calls stop_requests::take on this rank; rank 0 calls it on all of them.
[[nodiscard]] bool take_stop_signal(int signal);

}  // namespace starling::detail
