// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

namespace starling {

/// Root of every exception that the runtime throws itself. Exceptions of user code travel
/// unchanged.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A call that the interface forbids, such as blocking on a worker thread. The message says what
/// to do instead.
class usage_error : public error {
 public:
  using error::error;
};

/// An option or configuration value that cannot be used. The message names option, value, remedy.
class option_error : public error {
 public:
  using error::error;
};

/// A `promise` was destroyed before it was given a value or an exception.
class broken_promise : public error {
 public:
  broken_promise() : error("promise destroyed before a value or an exception was set") {}
};

/// `send` on a channel that has been closed.
class channel_closed : public error {
 public:
  channel_closed() : error("send on a closed channel") {}
};

/// The awaited operation was cancelled through its `std::stop_token`.
class operation_cancelled : public error {
 public:
  operation_cancelled() : error("operation cancelled by its stop token") {}

 protected:
  explicit operation_cancelled(const char* why) : error(why) {}
};

/// A sleep was cut short because its runtime ends, see `~runtime`.
class runtime_ends : public operation_cancelled {
 public:
  runtime_ends() : operation_cancelled("the sleep was cut short because the runtime ends") {}
};

/// Nothing is runnable, nothing is in flight, and coroutines still wait. The message lists each
/// awaiter: what it awaits, where (file:line, function) and for how long.
class hang_error : public error {
 public:
  using error::error;
};

/// A device (CUDA, SYCL, host stream) reported a failure. Thrown from the future of the work that
/// failed, or from the call that noticed it.
class device_error : public error {
 public:
  /// `code` is the backend's own error number, 0 where it has none.
  explicit device_error(const std::string& message, int code = 0) : error(message), m_code(code) {}
  [[nodiscard]] int code() const noexcept { return m_code; }

 private:
  int m_code;
};

/// The operating system refused a thread or a descriptor. The message names the resource, how many
/// were asked for and given, and the remedy.
class resource_error : public error {
 public:
  using error::error;
};

/// The backend asked for was not linked into this program. The message names the CMake option.
class backend_unavailable : public error {
 public:
  using error::error;
};

/// An allocation that the device, the pinned pool or a configured cap refused.
class out_of_memory : public error {
 public:
  using error::error;
};

}  // namespace starling
