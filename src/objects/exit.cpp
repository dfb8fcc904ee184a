// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/exit.hpp>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <starling/core/detail/process_end.hpp>
#include <starling/net/bootstrap.hpp>
#include <starling/net/transport.hpp>
#include <starling/objects/quiescence.hpp>
#include <starling/objects/ranks.hpp>

#include "job_impl.hpp"

namespace starling {
namespace detail {
namespace {

/// Keeps a runtime's jobs and network until the runtime ends, because messages and arrays refer to
/// them.
class job_keeper {
 public:
  explicit job_keeper(runtime& of) : m_options(transport::options::read(of.options())) {}
  /// Returns the network of the launcher's ranks; null: this process is the only rank.
  [[nodiscard]] transport* network() {
    if (m_ranks == nullptr) m_ranks = make_bootstrap();
    if (m_ranks->size() == 1) return nullptr;
    if (m_network == nullptr)
      m_network = make_transport(*m_ranks, transport_kind::automatic, m_options);
    return m_network.get();
  }
  job_impl& make_job(object_space& space, transport& network) {
    const bool is_of_process = &network == m_network.get();
    m_jobs.push_back(std::make_unique<job_impl>(space, network, is_of_process));
    return *m_jobs.back();
  }

 private:
  transport::options m_options;
  std::unique_ptr<bootstrap> m_ranks;
  std::unique_ptr<transport> m_network;
  std::vector<std::unique_ptr<job_impl>> m_jobs;
};

/// The whole run on rank 0: `body`, then quiescence of all ranks.
task<int> watched(task<int> body, external_work until_begun, quiescence_detector& detector) {
  struct waited_for {
    explicit waited_for(quiescence_detector& d) noexcept : by(d) { by.set_waited_for(true); }
    ~waited_for() { by.set_waited_for(false); }
    quiescence_detector& by;
  };
  task<int> given = std::move(body);
  const waited_for until_the_end(detector);
  { const external_work begun = std::move(until_begun); }
  const int status = co_await std::move(given);
  co_await quiescence();
  co_return status;
}

int lead(runtime& rt, job_impl& ranks, task<int> body) {
  try {
    const int status =
        rt.sync_wait(watched(std::move(body), rt.hold_external_work(), ranks.quiescence()));
    ranks.tell_end(status, true);
    return status;
  } catch (const run_exited& e) {
    ranks.tell_end(e.status(), false);
    return e.status();
  } catch (...) {
    ranks.tell_end(EXIT_FAILURE, false);
    throw;
  }
}

int run_ranks(runtime& rt, transport& network, task<int> main_task) {
  auto& keeper = rt.service<job_keeper>();
  job_impl& ranks = keeper.make_job(rt.service<object_space>(), network);
  int status = 0;
  try {
    status = ranks.rank() == 0 ? lead(rt, ranks, std::move(main_task)) : ranks.serve();
  } catch (...) {
    try {
      ranks.leave();
    } catch (const rank_failure&) {  // the first error is the cause
    }
    note_thrown_error(ranks.has_been_told(std::current_exception()));
    throw;
  }
  ranks.leave();
  return status;
}

int run_alone(runtime& rt, task<int> main_task) {
  try {
    return rt.sync_wait(std::move(main_task));
  } catch (const run_exited& e) {
    return e.status();
  } catch (...) {
    note_thrown_error();
    throw;
  }
}

}  // namespace

object_space& space_here() {
  runtime* rt = runtime::current();
  if (rt == nullptr)
    throw usage_error("ranks are known to tasks and entry methods; this thread is no worker");
  return rt->service<object_space>();
}

void require_rank(const object_space& space, rank target) {
  if (target.number < 0 || target.number >= space.rank_count())
    throw usage_error("rank " + std::to_string(target.number) + " does not exist: there are " +
                      std::to_string(space.rank_count()));
}

}  // namespace detail

rank this_rank() { return rank(detail::space_here().rank()); }
int rank_count() { return detail::space_here().rank_count(); }
std::size_t worker_number() {
  return detail::space_here().first_worker() + std::size_t(runtime::worker_index());
}

run_exited::run_exited(int status)
    : error("the run was ended by exit_run(" + std::to_string(status) + ")"), m_status(status) {}

void exit_run(int status) {
  runtime* rt = runtime::current();
  if (rt == nullptr) throw usage_error("exit_run: call it from a task or an entry method");
  rt->service<detail::object_space>().end_run(std::make_exception_ptr(run_exited(status)));
}

int run(runtime& rt, transport& network, task<int> main_task) {
  return detail::run_ranks(rt, network, std::move(main_task));
}

int run(runtime& rt, task<int> main_task) {
  transport* network = rt.service<detail::job_keeper>().network();
  return network == nullptr ? detail::run_alone(rt, std::move(main_task))
                            : detail::run_ranks(rt, *network, std::move(main_task));
}

int run(runtime& rt, task<> main_task) {
  return run(rt, [](task<> body) -> task<int> {
    task<> given = std::move(body);
    co_await std::move(given);
    co_return 0;
  }(std::move(main_task)));
}

}  // namespace starling
