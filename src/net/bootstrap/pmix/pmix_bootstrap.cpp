// SPDX-License-Identifier: Apache-2.0
#include <pmix.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "../implementations.hpp"

namespace starling::detail {
namespace {

void check(pmix_status_t status, const char* call, int line) {
  if (status == PMIX_SUCCESS) return;
  throw bootstrap_error(
      fmt::format("{} failed with {} ({}) at {}:{}: has a rank or its launcher gone?", call,
                  PMIx_Error_string(status), status, __FILE__, line));
}

/// Result of the fence in progress. Shared with PMIx's thread, guarded by `lock`.
struct fence_state {
  std::mutex lock;
  std::condition_variable changed;
  std::optional<pmix_status_t> status;
};

void fence_done(pmix_status_t status, void* data) {
  auto& state = *static_cast<fence_state*>(data);
  const std::lock_guard hold(state.lock);
  state.status = status;
  state.changed.notify_all();
}

class pmix_bootstrap final : public bootstrap {
 public:
  pmix_bootstrap() : m_timeout(bootstrap_timeout()) {
    const pmix_status_t status = PMIx_Init(&m_self, nullptr, 0);
    if (status != PMIX_SUCCESS) {
      throw bootstrap_error(fmt::format(
          "PMIX_RANK is set, but PMIx does not find its server: {} ({}). Start the program with a "
          "launcher whose PMIx is as new as the one Starling was built with, or unset PMIX_RANK",
          PMIx_Error_string(status), status));
    }
    try {
      m_size = job_number(PMIX_JOB_SIZE, true);
      // Requests a value of this rank, not of the job.
      m_local_rank = job_number(PMIX_LOCAL_RANK, false);
      m_local_size = job_number(PMIX_LOCAL_SIZE, true);
    } catch (...) {
      PMIx_Finalize(nullptr, 0);
      throw;
    }
  }
  pmix_bootstrap(const pmix_bootstrap&) = delete;
  pmix_bootstrap& operator=(const pmix_bootstrap&) = delete;
  ~pmix_bootstrap() override {
    // A forked child that exits must not finalize its parent's session.
    if (::getpid() == m_process) PMIx_Finalize(nullptr, 0);
  }

  int rank() const noexcept override { return static_cast<int>(m_self.rank); }
  int size() const noexcept override { return m_size; }
  int local_rank() const noexcept override { return m_local_rank; }
  int local_size() const noexcept override { return m_local_size; }
  const char* name() const noexcept override { return "PMIx"; }

  std::vector<std::string> all_gather(const std::string& mine) override {
    check_gather_size(mine);
    // After a timeout no other fence may begin: the abandoned fence may still complete, and its
    // completion would be taken for that of the next.
    if (!m_failure.empty()) throw bootstrap_error(m_failure);
    // One key for each round: PMIx keeps all values until the job's end.
    const std::string key = fmt::format("starling.gather.{}", m_round++);
    put(key, mine);
    fence();
    std::vector<std::string> all;
    all.reserve(static_cast<std::size_t>(m_size));
    for (int rank = 0; rank < m_size; ++rank) {
      all.push_back(rank == this->rank() ? mine : get(key, rank));
    }
    return all;
  }

  void abort(int exit_code, const std::string& why) noexcept override {
    // Not every PMIx server prints the reason.
    std::fprintf(stderr, "rank %d ended the job: %s\n", rank(), why.c_str());
    PMIx_Abort(exit_code, why.c_str(), nullptr, 0);
  }

 private:
  int job_number(const char* key, bool of_job) const {
    pmix_proc_t whose = m_self;
    if (of_job) whose.rank = PMIX_RANK_WILDCARD;
    pmix_value_t* value = nullptr;
    check(PMIx_Get(&whose, key, nullptr, 0, &value), key, __LINE__);
    std::int64_t number = 0;
    pmix_status_t status = PMIX_SUCCESS;
    PMIX_VALUE_GET_NUMBER(status, value, number, std::int64_t);
    PMIX_VALUE_RELEASE(value);
    check(status, key, __LINE__);
    return static_cast<int>(number);
  }

  void put(const std::string& key, const std::string& mine) const {
    std::string bytes = "=" + mine;  // a prefix, because PMIx has no empty objects
    pmix_value_t value;
    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = bytes.data();
    value.data.bo.size = bytes.size();
    check(PMIx_Put(PMIX_GLOBAL, key.c_str(), &value), "PMIx_Put", __LINE__);
    check(PMIx_Commit(), "PMIx_Commit", __LINE__);
  }

  /// Waits for all ranks, with a timeout. Not PMIx_Fence(): servers need not honour a timeout.
  void fence() {
    bool collect = true;
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    {
      const std::lock_guard hold(m_fence.lock);
      m_fence.status.reset();
    }
    check(PMIx_Fence_nb(nullptr, 0, &info, 1, fence_done, &m_fence), "PMIx_Fence_nb", __LINE__);
    std::unique_lock hold(m_fence.lock);
    if (!m_fence.changed.wait_for(hold, m_timeout, [&] { return m_fence.status.has_value(); })) {
      m_failure = fmt::format(
          "rank {} of {} under PMIx: some ranks did not come to an all_gather for {} s "
          "(STARLING_BOOTSTRAP_TIMEOUT): have they ended, or do they run another program?",
          rank(), m_size, m_timeout.count() / 1000);
      throw bootstrap_error(m_failure);
    }
    check(*m_fence.status, "PMIx_Fence_nb", __LINE__);
  }

  std::string get(const std::string& key, int rank) const {
    pmix_proc_t whose = m_self;
    whose.rank = static_cast<pmix_rank_t>(rank);
    int seconds = static_cast<int>(m_timeout.count() / 1000) + 1;
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_value_t* value = nullptr;
    check(PMIx_Get(&whose, key.c_str(), &info, 1, &value), "PMIx_Get", __LINE__);
    std::string bytes;
    if (value->type == PMIX_BYTE_OBJECT && value->data.bo.size > 0) {
      bytes.assign(value->data.bo.bytes + 1, value->data.bo.size - 1);
    }
    PMIX_VALUE_RELEASE(value);
    return bytes;
  }

  pmix_proc_t m_self{};
  std::chrono::milliseconds m_timeout;
  fence_state m_fence;
  std::string m_failure;
  pid_t m_process = ::getpid();
  unsigned m_round = 0;
  int m_size = 1;
  int m_local_rank = 0;
  int m_local_size = 1;
};

}  // namespace

std::unique_ptr<bootstrap> make_pmix_bootstrap() {
  static pmix_bootstrap of_process;
  return lend(of_process);
}

}  // namespace starling::detail
