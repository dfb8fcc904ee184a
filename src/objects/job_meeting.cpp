// SPDX-License-Identifier: Apache-2.0
// How the ranks of a job meet: they compare their functions and exchange their worker counts.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <thread>

#include "job_impl.hpp"

namespace starling::detail {
namespace {

/// Returns the same number for all processes on one boot of one host.
std::uint64_t host_number() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  char name[256] = {};
  static_cast<void>(::gethostname(name, sizeof name - 1));
  return std::hash<std::string>()(boot + name);
}

}  // namespace

/// Rank 0 compares the functions of all ranks and sends all worker counts to each rank.
void job_impl::meet() {
  const introduction mine{std::uint32_t(m_space.workers().size()),
                          agree_on_remote_functions(),
                          {host_number(), process_number()}};
  const auto send_packed = [this](int to, const auto&... values) {
    message m(packed_size(values...));
    pack_into(m.bytes(), values...);
    m_network.send(to, meeting_number, std::move(m));
  };
  send_packed(0, mine);
  const auto wait_until = [this](auto is_done) {
    while (!is_done()) {
      if (!m_network.progress()) std::this_thread::yield();
      if (m_failure) std::rethrow_exception(m_failure);
    }
  };
  if (rank() == 0) {
    wait_until(
        [this] { return std::ranges::all_of(m_met, [](const auto& i) { return i.has_value(); }); });
    std::vector<std::uint32_t> workers;
    std::vector<residence> homes;
    std::string refusal;
    for (int r = 0; r < size(); ++r) {
      workers.push_back(m_met[std::size_t(r)]->workers);
      homes.push_back(m_met[std::size_t(r)]->home);
      if (m_met[std::size_t(r)]->functions != mine.functions) refusal += " " + std::to_string(r);
    }
    for (int r = 0; r < size(); ++r) send_packed(r, workers, homes, refusal);
  }
  wait_until([this] { return m_has_met; });
  if (!m_refusal.empty())
    throw usage_error("ranks" + m_refusal +
                      " know other entry methods than rank 0: do all run the same program, and "
                      "load the same libraries before they call run()?");
}

void job_impl::on_meeting(void* self, int from, message m) noexcept {
  auto& j = *static_cast<job_impl*>(self);
  try {
    j.take_introduction(from, m);
  } catch (const std::exception& e) {
    const auto error = std::make_exception_ptr(archive_error(
        "the meeting of the ranks: what rank " + std::to_string(from) + " says: " + e.what()));
    if (j.m_is_open) return j.fail(error, false);
    const std::lock_guard guard(j.m_mutex);
    j.m_failure = error;
  }
}

/// Rank 0 receives one introduction from each rank; then each rank receives all from rank 0.
void job_impl::take_introduction(int from, const message& m) {
  const auto require_workers = [](std::uint32_t count) {
    if (count == 0 || count >= remote_header::every_worker)
      throw archive_error("a rank has " + std::to_string(count) + " workers");
  };
  if (rank() == 0 && !m_met[std::size_t(from)]) {
    const auto met = std::get<0>(unpack<std::tuple<introduction>>(m.bytes()));
    require_workers(met.workers);
    m_met[std::size_t(from)] = met;
    return;
  }
  if (from != 0 || m_has_met) throw archive_error("it has said so before");
  auto [workers, homes, refusal] =
      unpack<std::tuple<std::vector<std::uint32_t>, std::vector<residence>, std::string>>(
          m.bytes());
  if (workers.size() != std::size_t(size()) || homes.size() != workers.size())
    throw archive_error("the list of ranks has " + std::to_string(workers.size()) + " of " +
                        std::to_string(size()));
  std::ranges::for_each(workers, require_workers);
  m_first_worker.assign(1, 0);
  for (std::size_t r = 0; r < workers.size(); ++r) {
    m_first_worker.push_back(m_first_worker.back() + workers[r]);
    m_rank_of.insert(m_rank_of.end(), workers[r], std::uint32_t(r));
  }
  m_homes = std::move(homes);
  m_refusal = std::move(refusal);
  m_has_met = true;
}

}  // namespace starling::detail
