// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/bootstrap/local/unique_fd.hpp"
#include "net/bootstrap/local/wire.hpp"

namespace starling::launch {

/// Events that connections cause in the launcher.
class rendezvous_events {
 public:
  virtual ~rendezvous_events() = default;
  /// A connection was refused. `line` has no newline.
  virtual void refused(const std::string& line) = 0;
  /// A rank has asked for the end of the job.
  virtual void aborted(int rank, int exit_code, const std::string& why) = 0;
  /// No more connections can be accepted, so ranks not connected yet cannot join.
  virtual void exhausted(const std::string& why) = 0;
};

/// Server of all_gather on a Unix-domain socket. Never blocks; the owner polls. A connection that
/// violates the protocol is closed, without effect on the connections of ranks.
class rendezvous {
 public:
  /// Creates the socket at `path`. @throws bootstrap_error
  rendezvous(const std::string& path, const detail::wire::secret& secret, int size,
             rendezvous_events& events);
  ~rendezvous();

  /// Appends the descriptors and events to poll.
  void wants(std::vector<pollfd>& into) const;
  /// Serves the events that poll() has reported; ignores other descriptors.
  void serve(const std::vector<pollfd>& polled);
  /// Accepts all connections and reads all messages that have arrived.
  void serve_all();
  /// Reports that the rank's process has ended: ranks that wait for it get a failure.
  void rank_ended(int rank);

 private:
  struct connection;

  void accept_all();
  void stop_if_exhausted(int number);
  void drop_oldest_unauthenticated();
  void read(connection& from);
  void take(connection& from, const detail::wire::message& whole);
  void welcome(connection& from, const detail::wire::message& hello);
  void gather(connection& from, const detail::wire::message& contribution);
  [[nodiscard]] std::string who_is_missing() const;
  void refuse(connection& whom, const std::string& why);
  void send(connection& to, std::shared_ptr<const std::string> bytes);
  void send_failure(connection& to, const std::string& why);
  void flush(connection& to);
  void forget_closed();

  struct rank_state {
    bool connected = false;  ///< now or earlier
    bool ended = false;
    std::optional<std::string> given;  ///< contribution to the current round
  };

  detail::wire::secret m_secret;
  rendezvous_events& m_events;
  detail::unique_fd m_listener;
  std::vector<std::unique_ptr<connection>> m_connections;  // oldest first
  std::vector<rank_state> m_ranks;
  std::uint32_t m_round = 0;
};

}  // namespace starling::launch
