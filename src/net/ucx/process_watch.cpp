// SPDX-License-Identifier: Apache-2.0
#include "process_watch.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "resources.hpp"

namespace starling::detail {
namespace {

/// Returns the identity of this process's namespace of the given kind, such as "net".
std::string name_space(const char* kind) {
  std::error_code none;
  return std::filesystem::read_symlink(std::string("/proc/self/ns/") + kind, none).string();
}

/// Returns a text that is equal for processes that share host, pid namespace and network namespace.
/// Containers may share processes but not the network; heartbeats over Unix-domain sockets with
/// abstract names do not cross network namespaces.
std::string own_view() {
  std::string kernel;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> kernel;
  return kernel + ":" + name_space("pid") + ":" + name_space("net");
}

std::string own_host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "?";
}

}  // namespace

std::string process_location::name() const { return fmt::format("process {} on {}", id, host); }

bool process_location::is_near() const { return view == own_view(); }

std::vector<process_location> all_processes(bootstrap& ranks) {
  std::vector<process_location> all;
  for (const std::string& text : ranks.all_gather(
           fmt::format("{} {} {} {}", getpid(), own_host(), own_view(), free_shared_memory()))) {
    std::istringstream words(text);
    process_location& p = all.emplace_back();
    words >> p.id >> p.host >> p.view >> p.shared_memory;
  }
  return all;
}

process_watch::process_watch(long id) noexcept
    : m_descriptor(static_cast<int>(syscall(SYS_pidfd_open, id, 0))) {
  m_is_gone = !m_descriptor && errno == ESRCH;
}

bool process_watch::has_ended() const noexcept {
  if (!m_descriptor) return m_is_gone;  // no pidfd (old kernel): only heartbeats show the end
  pollfd p{m_descriptor.get(), POLLIN, 0};
  return poll(&p, 1, 0) == 1;
}

}  // namespace starling::detail
