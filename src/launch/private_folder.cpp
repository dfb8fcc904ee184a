// SPDX-License-Identifier: Apache-2.0
#include "private_folder.hpp"

#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <starling/net/bootstrap.hpp>

namespace starling::launch {

private_folder::private_folder() {
  std::string faults;
  for (const char* variable : {"XDG_RUNTIME_DIR", "TMPDIR", ""}) {
    const char* parent = *variable != '\0' ? std::getenv(variable) : "/tmp";
    if (parent == nullptr || *parent == '\0') continue;
    std::string path = fmt::format("{}/starling-XXXXXX", parent);
    const char* fault = nullptr;
    if (*parent != '/') {  // a rank may have another working directory
      fault = "it does not begin with /";
    } else if (socket_in(path).size() >= sizeof(sockaddr_un::sun_path)) {
      fault = "its path is too long for a socket";
    } else if (::mkdtemp(path.data()) == nullptr) {  // mode 0700
      fault = std::strerror(errno);
    } else {
      m_path = path;
      return;
    }
    faults += fmt::format("\n  {}{}{}: {}", variable, *variable != '\0' ? "=" : "", parent, fault);
  }
  throw bootstrap_error("no folder can be made for the ranks' socket:" + faults +
                        "\nSet TMPDIR to a folder with a short path that you may write to.");
}

void private_folder::remove(const std::string& path) noexcept {
  ::unlink(socket_in(path).c_str());
  for (const char* name : {"/requests", "/printed"}) ::unlink((path + name).c_str());
  ::rmdir(path.c_str());
}

}  // namespace starling::launch
