// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace starling {

/// Base class of all exceptions that the runtime throws. Exceptions of user code are passed on
/// unchanged.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A call that the interface forbids, such as blocking on a worker thread. The message names the
/// alternative.
class usage_error : public error {
 public:
  using error::error;
};

/// An option or configuration value that cannot be used. The message names option, value, remedy.
class option_error : public error {
 public:
  using error::error;
};

/// The destruction of a `promise` before a value or an exception was set.
class broken_promise : public error {
 public:
  broken_promise() : error("promise destroyed before a value or an exception was set") {}
};

/// A `send` on a closed channel.
class channel_closed : public error {
 public:
  channel_closed() : error("send on a closed channel") {}
};

/// The cancellation of an awaited operation through its `std::stop_token`.
class operation_cancelled : public error {
 public:
  operation_cancelled() : error("operation cancelled by its stop token") {}

 protected:
  explicit operation_cancelled(const char* why) : error(why) {}
};

/// The early end of a sleep because its runtime ends, see `~runtime`.
class runtime_ends : public operation_cancelled {
 public:
  runtime_ends() : operation_cancelled("the sleep was cut short because the runtime ends") {}
};

/// A hang: no work is runnable or in flight, and coroutines still wait. The message lists each
/// waiting coroutine with the awaited object, the place (file and line, function) and the duration.
class hang_error : public error {
 public:
  using error::error;
};

/// A failure that a device (CUDA, SYCL, host stream) reported. Thrown from the future of the failed
/// work, or from the call that detected the failure.
class device_error : public error {
 public:
  /// `code` is the backend's own error number, 0 if it has none.
  explicit device_error(const std::string& message, int code = 0) : error(message), m_code(code) {}
  [[nodiscard]] int code() const noexcept { return m_code; }

 private:
  int m_code;
};

/// A thread or a descriptor that the operating system refused. The message names the resource, the
/// requested and the granted number, and the remedy.
class resource_error : public error {
 public:
  using error::error;
};

/// A requested backend that is not linked into this program. The message names the CMake option.
class backend_unavailable : public error {
 public:
  using error::error;
};

/// An allocation that the device, the pinned pool or a configured limit refused.
class out_of_memory : public error {
 public:
  using error::error;
};

}  // namespace starling
