// SPDX-License-Identifier: Apache-2.0
#include "further_ranks.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <starling/core/detail/system_resources.hpp>
#include <starling/core/error.hpp>
#include <starling/core/runtime.hpp>
#include <starling/device/device.hpp>
#include <starling/objects/ranks.hpp>
#include <starling/resident/detail/far_memory.hpp>
#include <starling/resident/detail/host_group.hpp>

namespace starling::resident::detail {
namespace {

using std::chrono::steady_clock;

/// Longest time without a heartbeat of a rank, and without an effect of a requested end.
constexpr auto patience = std::chrono::seconds(2);

/// The local program that serves another rank's program, and a thread that polls for its end and
/// then destroys it, as no task of this rank awaits the program.
class served_program {
 public:
  served_program(runtime& rt, const program_description& program, join_request request)
      : m_program(std::make_unique<local_program>(rt, program, std::move(request))) {}
  ~served_program() {
    ask(command::leave);
    if (m_keeper.joinable()) m_keeper.join();
  }
  served_program(const served_program&) = delete;
  served_program& operator=(const served_program&) = delete;

  [[nodiscard]] std::vector<memory_name> names() { return m_program->names(); }
  void start(const std::vector<memory_name>& slabs, const memory_name& link) {
    m_program->memory().map_link(link);
    m_program->map(slabs);
    m_program->start();
    try {
      m_keeper = starling::detail::start_helper_thread("starling-keeper", [this] { keep(); });
    } catch (...) {  // no thread would end the schedulers
      m_program->abandon();
      throw;
    }
  }
  /// Ends its schedulers only and keeps the memory, into which other ranks may still write. Blocks
  /// until the schedulers have ended.
  void stop() noexcept {
    ask(command::stop);
    if (m_keeper.joinable()) m_has_stopped.wait(false, std::memory_order_acquire);
  }
  [[nodiscard]] bool is_over() const noexcept { return m_is_over.load(std::memory_order_acquire); }

 private:
  enum class command : int { run, stop, leave };

  void ask(command what) noexcept {
    m_requested.store(what, std::memory_order_release);
    m_requested.notify_all();
  }
  void tell_stop() noexcept {
    m_has_stopped.store(true, std::memory_order_release);
    m_has_stopped.notify_all();
  }
  void keep() noexcept {
    auto unwanted_since = steady_clock::time_point::max();
    while (!m_program->is_over()) {
      if (m_requested.load(std::memory_order_acquire) == command::stop) {
        m_program->abandon();
        tell_stop();
        m_requested.wait(command::stop, std::memory_order_acquire);
        continue;
      }
      const auto now = steady_clock::now();
      const bool is_unwanted = m_requested.load(std::memory_order_acquire) == command::leave ||
                               m_program->has_lost_the_first();
      if (is_unwanted && unwanted_since == steady_clock::time_point::max()) {
        m_program->ask_for_end();
        unwanted_since = now;
      }
      // Scheduler 0 is lost or does not run, so it cannot end these schedulers.
      if (now - patience > unwanted_since) m_program->abandon();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    m_program.reset();
    tell_stop();
    m_is_over.store(true, std::memory_order_release);
  }

  std::unique_ptr<local_program> m_program;
  // Only increases. Release: pairs with the acquire of threads that wait for a change.
  std::atomic<command> m_requested{command::run};
  std::atomic<bool> m_has_stopped{false};  // release: its schedulers have made all their writes
  std::atomic<bool> m_is_over{false};      // release: the memory has been freed
  std::thread m_keeper;
};

/// The local programs of a runtime that serve programs of other ranks, by program number.
/// Thread-safe.
class served_programs {
 public:
  static constexpr bool holds_users_objects = true;
  explicit served_programs(runtime& rt) noexcept : m_runtime(&rt) {}

  [[nodiscard]] std::vector<memory_name> add(const program_description& program,
                                             join_request request) {
    const std::lock_guard hold(m_mutex);
    std::erase_if(m_programs, [](const auto& entry) { return entry.second->is_over(); });
    const std::uint64_t number = request.program;
    auto made = std::make_unique<served_program>(*m_runtime, program, std::move(request));
    std::vector<memory_name> names = made->names();
    m_programs.emplace(number, std::move(made));
    return names;
  }
  void start(std::uint64_t program, const std::vector<memory_name>& slabs,
             const memory_name& link) {
    const std::lock_guard hold(m_mutex);
    m_programs.at(program)->start(slabs, link);
  }
  void stop(std::uint64_t program) {
    const std::lock_guard hold(m_mutex);
    if (const auto found = m_programs.find(program); found != m_programs.end())
      found->second->stop();
  }
  void give_back(std::uint64_t program) {
    const std::lock_guard hold(m_mutex);
    m_programs.erase(program);
  }

 private:
  runtime* m_runtime;
  std::mutex m_mutex;
  std::map<std::uint64_t, std::unique_ptr<served_program>> m_programs;
};

served_programs& programs_here() { return runtime::current()->service<served_programs>(); }

void start_program(std::uint64_t program, const std::vector<memory_name>& slabs,
                   const memory_name& link) {
  programs_here().start(program, slabs, link);
}
void stop_program(std::uint64_t program) { programs_here().stop(program); }
void give_back_program(std::uint64_t program) { programs_here().give_back(program); }

[[nodiscard]] std::uint64_t new_program_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return process_number() + last.fetch_add(1, std::memory_order_relaxed);
}

[[nodiscard]] std::vector<rank> further_ranks_of(const options& o) {
  const int wanted = static_cast<int>(o.ranks);
  if (wanted > 1 && wanted > rank_count())
    throw usage_error(
        fmt::format("a resident program wants {} ranks, and the job has {}", wanted, rank_count()));
  std::vector<rank> result;
  for (int p = 1; p < wanted; ++p) result.emplace_back((this_rank().number + p) % rank_count());
  return result;
}

constexpr auto nothing = [] {};  // to take answers without a value

/// Calls ask(rank), which returns a future, for each rank, and then `take` with each answer. When
/// all ranks have answered, throws the first exception among the answers.
template <class Ask, class Take>
task<void> ask_all(const std::vector<rank>& ranks, Ask ask, Take take) {
  std::vector<std::invoke_result_t<Ask&, rank>> answers;
  for (const rank r : ranks) answers.push_back(ask(r));
  std::exception_ptr failed;
  for (auto& answer : answers) {
    try {
      if constexpr (std::is_invocable_v<Take&>)
        co_await std::move(answer);
      else
        take(co_await std::move(answer));
    } catch (...) {
      if (!failed) failed = std::current_exception();
    }
  }
  if (failed) std::rethrow_exception(failed);
}

/// Awaits `work`. If it throws, awaits `cleanup` and throws the same exception.
task<void> await_or(task<void> work, task<void> cleanup) {
  std::exception_ptr failed;
  try {
    co_await std::move(work);
  } catch (...) {
    failed = std::current_exception();
  }
  if (!failed) co_return;
  co_await std::move(cleanup);
  std::rethrow_exception(failed);
}

task<void> join_and_start(const program_description& program, join_request first,
                          local_program& own, const std::vector<rank>& further) {
  std::vector<memory_name> slabs = own.names();
  const auto join = [&](rank r) {
    ++first.position;
    return program.join(r, first);
  };
  co_await ask_all(further, join, [&slabs](const std::vector<memory_name>& names) {
    slabs.insert(slabs.end(), names.begin(), names.end());
  });
  own.map(slabs);
  const auto start = [&](rank r) {
    return async<&start_program>(r, first.program, slabs, own.memory().name_of_link());
  };
  co_await ask_all(further, start, nothing);
  own.start();
}

/// Calls F on all ranks and waits for all answers. Ignores errors, as it only cleans up after an
/// earlier error.
template <auto F>
task<void> clean_up(std::uint64_t program, const std::vector<rank>& ranks) {
  try {
    co_await ask_all(
        ranks, [program](rank r) { return async<F>(r, program); }, nothing);
  } catch (...) {
  }
}

/// Stops all local programs, then frees their memory: running schedulers may write into the memory
/// of all.
task<void> abandon(std::uint64_t program, const std::vector<rank>& further) {
  co_await clean_up<&stop_program>(program, further);
  co_await clean_up<&give_back_program>(program, further);
}

std::uint64_t process_here() { return process_number(); }

/// Returns the process numbers of the ranks, without duplicates, in ascending order.
task<std::vector<std::uint64_t>> processes_of(const std::vector<rank>& ranks) {
  std::vector<std::uint64_t> all;
  co_await ask_all(
      ranks, [](rank r) { return async<&process_here>(r); },
      [&all](std::uint64_t number) { all.push_back(number); });
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  co_return all;
}

[[nodiscard]] far_memory& memory_here() {
  far_memory* const found = far_memory::of_process.load(std::memory_order_relaxed);
  if (found == nullptr) throw usage_error(missing_far_code());
  return *found;
}
[[nodiscard]] const std::string& device_here() {
  return devices(*runtime::current()).device(0).properties().bus_id;
}
bool prepare_here(const far_meeting& all) { return memory_here().prepare(all, device_here()); }
void forget_here(std::uint64_t meeting) { memory_here().forget(meeting); }
void meet_here(const far_meeting& all) { memory_here().meet(all, device_here()); }

/// Makes the processes of all ranks meet, unless they have met before. If it throws, the ranks that
/// did not refuse remain prepared until `forget_here`.
task<void> meet_once(far_meeting& all, const std::vector<rank>& ranks) {
  std::size_t met = 0;
  co_await ask_all(
      ranks, [&all](rank r) { return async<&prepare_here>(r, all); },
      [&met](bool has_met) { met += has_met ? 1 : 0; });
  if (met != 0 && met != ranks.size())
    throw usage_error("ranks of a resident program with `reach` nvshmem do not know each other");
  if (met != 0) co_return;
  memory_here().add_key(all);
  // Each call blocks a worker until all processes take part.
  co_await ask_all(
      ranks, [&all](rank r) { return async<&meet_here>(r, all); }, nothing);
}

}  // namespace

task<void> initialise_nvshmem(const options& o) {
  std::vector<rank> ranks = further_ranks_of(o);
  ranks.push_back(this_rank());  // last: `meet` blocks a worker, so call the rest first
  std::vector<std::uint64_t> processes = co_await processes_of(ranks);
  far_meeting all{new_program_number(), std::move(processes), {}, o.symmetric_bytes};
  co_await await_or(meet_once(all, ranks), clean_up<&forget_here>(all.number, ranks));
}

std::vector<memory_name> join_program(const program_description& program, join_request request) {
  return programs_here().add(program, std::move(request));
}

task<void> start_on_ranks(const program_description& program, const join_request& first,
                          local_program& own) {
  const std::vector<rank> further = further_ranks_of(first.chosen);
  join_request request = first;
  request.program = new_program_number();
  co_await await_or(join_and_start(program, request, own, further),
                    abandon(request.program, further));
}

bool wait_for_ranks(local_program& first) noexcept {
  const world& w = first.shared();
  const device_range own = first.memory().own();
  std::uint32_t last[max_devices] = {};
  auto since = steady_clock::now();
  while (!first.is_over()) {
    const bool is_time = steady_clock::now() - since > patience;
    for (std::uint32_t d = 0; is_time && d < w.l.devices; ++d) {
      const bool has_left = own.has(d) || host_group::load(&w.link->left[d * 32]) != 0;
      const std::uint32_t beat = host_group::load(&w.link->beats[(d - d % own.count) * 32]);
      if (!has_left && beat == last[d]) return false;
      last[d] = beat;
    }
    if (is_time) since = steady_clock::now();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

}  // namespace starling::resident::detail
