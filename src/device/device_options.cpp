// SPDX-License-Identifier: Apache-2.0
#include "device_options.hpp"

#include <sched.h>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include <starling/core/detail/module_options.hpp>
#include <starling/core/error.hpp>

namespace starling::detail {
namespace {

constexpr option_entry entries[] = {
    {"backend", "device", "NAME", "auto", "where streams run: auto, host, cuda, sycl, kokkos"},
    {"completion", "device", "NAME", "word; sycl: event",
     "how the end of device work is detected: word, event, callback, block"},
    {"devices", "device", "DEVICES", "all; host: 1",
     "how many devices to use, which (0,2,), share k of n (k/n) or 'all'"},
    {"streams", "device", "NUMBER", "16", "streams in the pool of each device"},
    {"barriers", "device", "on|off", "off",
     "needless barriers between operations of a stream, to compare"},
    {"device-mapping", "device", "NAME", "block",
     "worker to device: block, round_robin, none, closest"},
    {"peer-memory", "objects", "NAME", "map",
     "a device's memory for other ranks of the host: map, stage, refuse (to map theirs)"},
};
[[gnu::init_priority(101)]] module_options registered(entries);

template <class Value>
struct choice {
  std::string_view name;
  Value value;
};

[[noreturn]] void refuse(const std::string& option, const std::string& value,
                         const std::string& accepted) {
  throw option_error("--starling-" + option + " " + value + ": accepted are " + accepted);
}

template <class Value>
Value choose(const runtime_options& options, const std::string& option, Value fallback,
             std::span<const choice<Value>> choices) {
  const std::string text = options.get(option, "");
  if (text.empty()) return fallback;
  std::string accepted;
  for (const choice<Value>& c : choices) {
    if (c.name == text) return c.value;
    accepted += (accepted.empty() ? "" : ", ") + std::string(c.name);
  }
  refuse(option, text, accepted);
}

/// Returns the number in `text` if it is whole and from `least` to `most`, else −1.
int to_number(std::string_view text, int least, int most) {
  int value = -1;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status == std::errc{} && end == text.data() + text.size();
  return whole && value >= least && value <= most ? value : -1;
}

/// Environment variables of launchers other than Starling's: a rank's number among the ranks of its
/// host, and the number of these ranks.
struct launcher_names {
  const char* local_rank;
  const char* count;
};
constexpr launcher_names launchers[] = {
    {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},  // Open MPI, PRRTE
    {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},                        // MPICH, Intel MPI
    {"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},                // "4(x2)": 4 on each of 2 hosts
};

/// Returns the rank's share as text, such as "0/4"; empty if no launcher has set its variables.
std::string share_by_launcher() {
  for (const launcher_names& names : launchers) {
    const char* const local_rank = std::getenv(names.local_rank);
    const char* const count = std::getenv(names.count);
    if (local_rank == nullptr || count == nullptr) continue;
    const std::string_view ranks(count, std::strcspn(count, "(,"));
    if (to_number(local_rank, 0, to_number(ranks, 1, 1 << 20) - 1) < 0) continue;
    return std::string(local_rank) + "/" + std::string(ranks);
  }
  return {};
}

void read_devices(const std::string& text, device_options& result) {
  constexpr const char* accepted =
      "a number of devices (2), 'all', a list of device numbers with a comma (0,2 or 1,), or a "
      "share "
      "of them (0/4 is the first of four)";
  if (text.empty() || text == "all") return;
  if (const std::size_t of = text.find('/'); of != std::string::npos) {
    result.shares = to_number(std::string_view(text).substr(of + 1), 1, 1 << 20);
    result.share = to_number(std::string_view(text).substr(0, of), 0, result.shares - 1);
    if (result.share < 0) refuse("devices", text, accepted);
    return;
  }
  if (text.find(',') == std::string::npos) {
    result.count = to_number(text, 1, 1024);
    if (result.count < 0) refuse("devices", text, accepted);
    return;
  }
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const int id = to_number(rest.substr(0, comma), 0, 1023);
    if (id < 0 || std::ranges::count(result.which, id) != 0) refuse("devices", text, accepted);
    result.which.push_back(id);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
}

}  // namespace

device_options device_options::read(const runtime_options& options) {
  constexpr choice<backend_choice> backends[] = {{"auto", backend_choice::automatic},
                                                 {"host", backend_choice::host},
                                                 {"cuda", backend_choice::cuda},
                                                 {"sycl", backend_choice::sycl},
                                                 {"kokkos", backend_choice::kokkos}};
  constexpr choice<completion_kind> completions[] = {{"word", completion_kind::word},
                                                     {"event", completion_kind::event},
                                                     {"callback", completion_kind::callback},
                                                     {"block", completion_kind::block}};
  constexpr choice<device_mapping> mappings[] = {{"block", device_mapping::block},
                                                 {"round_robin", device_mapping::round_robin},
                                                 {"none", device_mapping::none},
                                                 {"closest", device_mapping::closest}};
  device_options result;
  result.backend = choose<backend_choice>(options, "backend", result.backend, backends);
  // Words and events are both polled. On SYCL events are faster: a query costs 40 ns and, on the
  // CPU device, also advances the work; storing a word takes a separate command.
  if (result.backend == backend_choice::sycl) result.completion = completion_kind::event;
  result.completion =
      choose<completion_kind>(options, "completion", result.completion, completions);
  result.mapping = choose<device_mapping>(options, "device-mapping", result.mapping, mappings);
  constexpr choice<bool> switches[] = {{"on", true}, {"off", false}};
  result.barriers = choose<bool>(options, "barriers", result.barriers, switches);
  constexpr choice<peer_memory> ways[] = {
      {"map", peer_memory::map}, {"stage", peer_memory::stage}, {"refuse", peer_memory::refuse}};
  result.memory = choose<peer_memory>(options, "peer-memory", result.memory, ways);
  const std::string devices = options.get("devices", "");
  read_devices(devices.empty() ? share_by_launcher() : devices, result);
  const std::string streams = options.get("streams", "16");
  const int count = to_number(streams, 1, 4096);
  if (count < 0) refuse("streams", streams, "1 to 4096 streams per device");
  result.streams = static_cast<std::size_t>(count);
  return result;
}

std::vector<int> device_options::devices_of_share(int present) const {
  if (present < shares) return {present == 0 ? 0 : share % present};
  std::vector<int> mine;
  for (int d = share * present / shares; d < (share + 1) * present / shares; ++d) mine.push_back(d);
  return mine;
}

std::vector<std::size_t> map_workers(device_mapping how, const std::vector<int>& worker_cores,
                                     const std::vector<std::vector<int>>& nearby_cores) {
  const std::size_t workers = worker_cores.size();
  const std::size_t count = nearby_cores.size();
  std::vector<std::size_t> result(workers, 0);
  std::vector<std::size_t> load(count, 0);
  for (std::size_t w = 0; w < workers; ++w) {
    if (how == device_mapping::round_robin) result[w] = w % count;
    if (how == device_mapping::block || how == device_mapping::closest)
      result[w] = w * count / workers;
    if (how != device_mapping::closest) continue;
    // Of the nearby devices, choose the device with the fewest workers so far.
    std::size_t best = count;
    for (std::size_t d = 0; d < count; ++d) {
      const bool nearby = std::ranges::count(nearby_cores[d], worker_cores[w]) != 0;
      if (nearby && (best == count || load[d] < load[best])) best = d;
    }
    if (best != count) result[w] = best;
    ++load[result[w]];
  }
  return result;
}

std::vector<int> cores_of_workers(const runtime_options& options, unsigned workers) {
  std::vector<int> allowed;
  cpu_set_t set;
  if (sched_getaffinity(getpid(), sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) allowed.push_back(core);
  // The scheduler binds worker i to the i-th allowed core.
  const bool bound = options.bind == binding::core ||
                     (options.bind == binding::automatic && workers == allowed.size());
  std::vector<int> cores(workers, -1);
  for (unsigned w = 0; bound && !allowed.empty() && w < workers; ++w)
    cores[w] = allowed[w % allowed.size()];
  return cores;
}

bool completes_by_callback(const runtime_options& options) {
  return options.get("completion", "event") == "callback";
}

}  // namespace starling::detail
