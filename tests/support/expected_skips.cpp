// SPDX-License-Identifier: Apache-2.0
// The permitted skips: a test that is skipped for any other reason fails.
#include "support/expected_skips.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <unistd.h>

#include "support/sanitizers.hpp"

namespace starling_test {
namespace {

bool always() { return true; }
bool no_gpu() { return !std::filesystem::exists("/dev/nvidia0"); }
bool fewer_than_two_gpus() { return !std::filesystem::exists("/dev/nvidia1"); }
/// Returns the core of which a processor is a hardware thread.
std::string core_of(int processor) {
  const std::string topology =
      "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/";
  std::string package, core;
  std::ifstream(topology + "physical_package_id") >> package;
  std::ifstream(topology + "core_id") >> core;
  return core.empty() ? std::to_string(processor) : package + ":" + core;
}
bool one_core() {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return false;
  if (::sched_setaffinity(0, sizeof usable, &usable) != 0) return true;  // threads cannot be bound
  std::set<std::string> cores;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &usable)) cores.insert(core_of(processor));
  return cores.size() < 2;
}
bool not_root() { return ::geteuid() != 0; }
bool no_namespaces() {
  return not_root() || std::system("unshare --net --mount true >/dev/null 2>&1") != 0;
}
bool no_ip_program() { return std::system("command -v ip >/dev/null 2>&1") != 0; }
bool no_network() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return true;
  bool found = false;
  for (const ifaddrs* i = all; i != nullptr; i = i->ifa_next)
    found = found || (i->ifa_addr != nullptr && (i->ifa_flags & IFF_LOOPBACK) == 0 &&
                      (i->ifa_flags & IFF_UP) != 0 && i->ifa_addr->sa_family == AF_INET);
  ::freeifaddrs(all);
  return !found;
}
bool overcommits() { return std::ifstream("/proc/sys/vm/overcommit_memory").get() == '1'; }
bool in_chaos_mode() { return std::getenv("STARLING_CHAOS") != nullptr; }
bool sanitized() { return has_address_sanitizer || has_thread_sanitizer; }

struct expected_skip {
  std::string_view reason;  // a part of the text passed to GTEST_SKIP
  const char* property;
  bool (*holds)();
};

constexpr const char* by_build = "the build has no such part, as the summary of CMake says";
constexpr const char* by_parameter = "the test does not apply to this parameter of its suite";

const expected_skip expected[] = {
    {"this program was built without ", by_build, always},
    {"this Starling knows one rank only", by_build, always},
    {"needs a build with PMIx", by_build, always},
    {"built without HDF5", by_build, always},
    {"no transport between processes", by_build, always},

    {"CUDA finds no device here", "no GPU", no_gpu},
    {"no CUDA device", "no GPU", no_gpu},
    {"no GPU here", "no GPU", no_gpu},
    {"computes on CUDA, and there is no device here", "no GPU", no_gpu},
    {"one CUDA device here; two are needed", "no second GPU", fewer_than_two_gpus},
    {"only one device here", "the backend has one device", always},
    {"no peer access between them", "GPUs without a way between them", always},
    {"no CUPTI here", "no CUPTI, which is optional", always},
    {"needs two cores", "one core", one_core},
    {"the process has one core, or cannot bind", "one core", one_core},
    {"only root can be another user", "an ordinary user", not_root},
    {"needs to be root, and namespaces", "no right to make namespaces", no_namespaces},
    {"failed to execute ip", "no iproute2", no_ip_program},
    {"needs ss --kill", "a kernel without CONFIG_INET_DIAG_DESTROY", always},
    {"this host has no address but its own", "no network", no_network},
    {"this system promises any amount", "memory is overcommitted without limit", overcommits},
    {"no memory with huge pages is seen here", "no huge pages, or an emulator", always},
    {"needs a newer env", "coreutils before 8.31", always},

    {"chaos mode shuffles priorities on purpose", "chaos mode", in_chaos_mode},
    {"chaos mode takes work in any order", "chaos mode", in_chaos_mode},
    {"chaos mode sends some hand-overs through the queues", "chaos mode", in_chaos_mode},
    {"the sanitizers open files themselves", "a sanitizer", sanitized},
    {"the address sanitizer's locks may be held", "a sanitizer", sanitized},

    {"written for CUDA streams", by_parameter, always},
    {"kernels can throw on the host only", by_parameter, always},
    {"kernels can wait for the host only there", by_parameter, always},
    {"chaos reorders host streams", by_parameter, always},
    {"kernels of hosts may need the ", by_parameter, always},
    {"the launching thread waits in place there", by_parameter, always},
    {"a host task reports the end of a stretch there", by_parameter, always},
    {"needs a second worker", by_parameter, always},
    {"needs two schedulers", by_parameter, always},
};

}  // namespace

const char* excuse_of(std::string_view reason) {
  for (const expected_skip& skip : expected)
    if (reason.find(skip.reason) != std::string_view::npos && skip.holds()) return skip.property;
  return nullptr;
}

}  // namespace starling_test
