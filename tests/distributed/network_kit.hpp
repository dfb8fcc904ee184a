// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "command.hpp"

/// Separate hosts, emulated by namespaces of this host: each has a name, an address and a cable to
/// a switch.
namespace distributed {

/// Error: the system permits no namespaces or network faults. The message names the permission.
class no_network : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A process that only keeps a network namespace and a host name. They end with the process, which
/// ends with the test that started it.
class small_host {
 public:
  /// Starts the process. @throws no_network
  explicit small_host(const std::string& name) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    m_pid = ::fork();
    if (m_pid == 0) keep(name, ends[1]);
    ::close(ends[1]);
    int error = EPIPE;
    const ssize_t got = ::read(ends[0], &error, sizeof error);
    ::close(ends[0]);
    if (got == sizeof error && error == 0) return;
    end();
    throw no_network(std::string("needs to be root, and namespaces: unshare: ") +
                     std::strerror(error));
  }
  small_host(const small_host&) = delete;
  small_host& operator=(const small_host&) = delete;
  ~small_host() { end(); }

  [[nodiscard]] std::string id() const { return std::to_string(m_pid); }
  /// Returns the beginning of a command line that runs a program on this host.
  [[nodiscard]] std::vector<std::string> within() const {
    return {"nsenter", "--target", id(), "--net", "--uts", "--"};
  }
  [[nodiscard]] outcome try_run(const std::vector<std::string>& line) const {
    std::vector<std::string> whole = within();
    whole.insert(whole.end(), line.begin(), line.end());
    return distributed::run(whole);
  }
  /// Runs a command on this host. @throws no_network if it fails
  void run(const std::vector<std::string>& line) const {
    const outcome end = try_run(line);
    if (end.code == 0) return;
    std::string all = "needs a system that permits";
    for (const std::string& word : line) all += " " + word;
    throw no_network(all + ": " + end.errors);
  }

 private:
  [[noreturn]] static void keep(const std::string& name, int said) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool is_done =
        ::unshare(CLONE_NEWNET | CLONE_NEWUTS) == 0 && ::sethostname(name.data(), name.size()) == 0;
    const int error = is_done ? 0 : errno;
    (void)!::write(said, &error, sizeof error);
    // A reader of the test's output must not wait for this process.
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    for (;;) ::pause();
  }
  void end() noexcept {
    ::kill(m_pid, SIGKILL);
    while (::waitpid(m_pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_t m_pid = 0;
};

/// Hosts with one network card each, `eth0`, connected to a switch.
class small_network {
 public:
  /// Starts the hosts and the switch. @throws no_network
  explicit small_network(int hosts) : m_switch("switch") {
    m_switch.run({"ip", "link", "add", "wires", "type", "bridge"});
    m_switch.run({"ip", "link", "set", "wires", "up"});
    for (int i = 0; i < hosts; ++i) add(i);
  }
  [[nodiscard]] const small_host& operator[](int host) const { return *m_hosts[std::size_t(host)]; }
  [[nodiscard]] static std::string address(int host) {
    return "10.0.0." + std::to_string(host + 1);
  }

  /// Disconnects a host. Its card detects that at once.
  void pull_cable(int host) const { m_switch.run({"ip", "link", "set", port(host), "down"}); }
  void put_cable_back(int host) const { m_switch.run({"ip", "link", "set", port(host), "up"}); }
  /// Drops all traffic from and to a host; no host detects it.
  void swallow(int host) const {
    m_switch.run({"bridge", "link", "set", "dev", port(host), "state", "0"});
  }
  /// Switches the card off from within the host, as its administrator would.
  void switch_off_card(int host) const { (*this)[host].run({"ip", "link", "set", "eth0", "down"}); }
  /// Limits the rate of the traffic to a host. @throws no_network
  void slow_down(int host, const std::string& rate) const {
    m_switch.run({"tc", "qdisc", "add", "dev", port(host), "root", "tbf", "rate", rate, "burst",
                  "16k", "latency", "300ms"});
  }
  void let_go_on(int host) const {
    m_switch.run({"tc", "qdisc", "del", "dev", port(host), "root"});
  }
  /// Resets the connections of host `of` to host `with`; the reset is sent to `with`, too.
  /// @throws no_network
  void reset_connections(int of, int with) const {
    const outcome end =
        (*this)[of].try_run({"ss", "--no-header", "--kill", "--tcp", "dst", address(with)});
    if (end.code != 0 || end.output.empty())
      throw no_network("needs ss --kill and a kernel with CONFIG_INET_DIAG_DESTROY: " + end.errors);
  }

 private:
  static std::string port(int host) { return "port" + std::to_string(host); }
  void add(int i) {
    m_hosts.push_back(std::make_unique<small_host>("host-" + std::to_string(i)));
    const small_host& h = *m_hosts.back();
    m_switch.run(
        {"ip", "link", "add", port(i), "type", "veth", "peer", "name", "eth0", "netns", h.id()});
    m_switch.run({"ip", "link", "set", port(i), "master", "wires", "up"});
    h.run({"ip", "address", "add", address(i) + "/24", "dev", "eth0"});
    h.run({"ip", "link", "set", "lo", "up"});
    h.run({"ip", "link", "set", "eth0", "up"});
    wait_for_carrier(h);
  }
  /// Waits until the card of a host may be used: the kernel notices a new cable a little later, on
  /// a busy machine up to a second. @throws std::runtime_error after ten seconds
  static void wait_for_carrier(const small_host& h) {
    for (int i = 0; i < 100; ++i) {
      if (h.try_run({"ip", "link", "show", "eth0"}).output.find("state UP") != std::string::npos)
        return;
      ::usleep(100'000);  // `ip monitor` would miss a change that comes before its start
    }
    throw std::runtime_error("the card of an emulated host has no carrier after 10 s");
  }
  small_host m_switch;
  std::vector<std::unique_ptr<small_host>> m_hosts;
};

}  // namespace distributed
