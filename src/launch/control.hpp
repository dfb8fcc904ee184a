// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/bootstrap/local/unique_fd.hpp"

namespace starling::launch {

/// Request of `starling resize`.
struct resize_request {
  int ranks = 0;
  double within = 0;  ///< seconds until the job has to be at a checkpoint
};

/// Name of the socket of a launcher, in the abstract namespace of Unix-domain sockets: it has no
/// file, and disappears with the launcher.
struct control_address {
  control_address(uid_t user, pid_t launcher);
  sockaddr_un address{};
  socklen_t length = 0;
};
/// Returns the launcher that a name of /proc/net/unix belongs to, if it is one of `user`.
[[nodiscard]] std::optional<pid_t> launcher_of(std::string_view name, uid_t user);

/// The messages between `starling resize` and the launcher: one packet each way.
[[nodiscard]] std::string pack(const resize_request& wanted);
/// Returns no value for bytes that are no request, such as those of another version.
[[nodiscard]] std::optional<resize_request> unpack_request(const std::string& bytes);

/// Events that requests cause in the launcher.
class control_events {
 public:
  virtual ~control_events() = default;
  /// A client waits for `control::answer`. There is no second one until then.
  virtual void resize_requested(const resize_request& wanted) = 0;
  /// The client has closed its connection before the answer.
  virtual void requester_left() = 0;
};

/// Server of requests to a launcher, for the whole job: also between two starts of the ranks.
/// Accepts connections of the same user only. Never blocks; the owner polls.
class control {
 public:
  /// Begins to listen as `launcher`. If that fails, `fault` is not empty and no request arrives.
  explicit control(pid_t launcher);
  control(const control&) = delete;
  control& operator=(const control&) = delete;
  /// Answers that the job has ended.
  ~control();
  [[nodiscard]] const std::string& fault() const noexcept { return m_fault; }

  /// Appends the descriptors and events to poll.
  void wants(std::vector<pollfd>& into) const;
  /// Serves the events that poll() has reported; ignores other descriptors.
  void serve(const std::vector<pollfd>& polled, control_events& events);
  /// Answers the waiting client, if there is one, and closes its connection.
  void answer(bool is_done, const std::string& text);

 private:
  void accept_all();
  void read(detail::unique_fd from, control_events& events);

  std::string m_fault;
  detail::unique_fd m_listener;
  std::vector<detail::unique_fd> m_new;  // connections without a request, oldest first
  detail::unique_fd m_waiting;           // of the client that waits for an answer
};

}  // namespace starling::launch
