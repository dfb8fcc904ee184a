// SPDX-License-Identifier: Apache-2.0
// The checkpoint at which a run stops as requested.
#include <cstdio>
#include <exception>
#include <memory>
#include <utility>

#include <starling/objects/exit.hpp>

#include "objects/checkpoint/session.hpp"

namespace starling::detail {

static_assert(stopped_at_checkpoint == stopped_exit_code);

task<future<std::uint64_t>> session::take(std::uint64_t step) {
  checkpoint_parts parts = co_await copy(step);
  if (!parts.is_last) co_return spawn(write(shared_from_this(), std::move(parts)));
  promise<std::uint64_t> failed;
  try {
    co_await write_last(shared_from_this(), std::move(parts));
  } catch (const run_exited&) {
    throw;
  } catch (...) {
    failed.set_exception(std::current_exception());
  }
  co_return failed.get_future();
}

task<> session::write_last(std::shared_ptr<session> self, checkpoint_parts parts) {
  const std::shared_ptr<session> kept = std::move(self);
  // No task that awaits quiescence is resumed between the end of the write and that of the run.
  const external_work until_the_end = kept->m_owner.hold_external_work();
  std::exception_ptr failed;
  std::uint64_t number = 0;
  try {
    number = co_await write(kept, std::move(parts));
  } catch (...) {
    failed = std::current_exception();
  }
  if (failed) {
    kept->m_requests.fail();
    kept->m_last_has_failed = true;
    std::rethrow_exception(failed);
  }
  if (!kept->m_requests.complete(number))
    std::fprintf(stderr, "starling: stopped at checkpoint %llu as requested\n",
                 static_cast<unsigned long long>(number));
  exit_run(stopped_at_checkpoint);
  throw run_exited(stopped_at_checkpoint);
}

}  // namespace starling::detail
