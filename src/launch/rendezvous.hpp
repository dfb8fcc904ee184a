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

/// What ranks, and strangers, make the launcher do.
class rendezvous_events {
 public:
  virtual ~rendezvous_events() = default;
  /// Somebody was turned away. One line, without the end of the line.
  virtual void refused(const std::string& line) = 0;
  /// A rank wants the job to end.
  virtual void aborted(int rank, int exit_code, const std::string& why) = 0;
  /// No more connections can be taken: ranks that have not come never will.
  virtual void deaf(const std::string& why) = 0;
};

/// The place where ranks meet: serves all_gather on a Unix-domain socket. Never waits; the owner
/// polls. Whoever does not keep to the protocol is turned away, and the others notice nothing.
class rendezvous {
 public:
  /// Makes the socket at `path`. @throws bootstrap_error
  rendezvous(const std::string& path, const detail::wire::secret& secret, int size,
             rendezvous_events& events);
  ~rendezvous();

  /// Appends what to poll for.
  void wants(std::vector<pollfd>& into) const;
  /// Serves what poll() found among those; other descriptors are ignored.
  void serve(const std::vector<pollfd>& polled);
  /// Takes in all that has been sent until now.
  void serve_all();
  /// The rank's process is over: whoever waits for it is told.
  void rank_ended(int rank);

 private:
  struct connection;

  void accept_all();
  void stop_if_exhausted(int number);
  void drop_oldest_stranger();
  void read(connection& from);
  void take(connection& from, const detail::wire::message& whole);
  void welcome(connection& from, const detail::wire::message& hello);
  void gather(connection& from, const detail::wire::message& part);
  void answer_missing(connection& to);
  [[nodiscard]] std::string who_is_missing() const;
  void refuse(connection& whom, const std::string& why);
  void send(connection& to, std::shared_ptr<const std::string> bytes);
  void send_failure(connection& to, const std::string& why);
  void flush(connection& to);
  void forget_closed();

  struct rank_state {
    bool connected = false;  ///< now or before
    bool ended = false;
    std::optional<std::string> given;  ///< to the round in progress
  };

  detail::wire::secret m_secret;
  rendezvous_events& m_events;
  detail::unique_fd m_listener;
  std::vector<std::unique_ptr<connection>> m_connections;  // oldest first
  std::vector<rank_state> m_ranks;
  std::size_t m_given = 0;
  std::uint32_t m_round = 0;
};

}  // namespace starling::launch
