// SPDX-License-Identifier: Apache-2.0
// The checkpoint that the elements of an array take together.
#include <starling/objects/detail/checkpoint_point.hpp>

#include <string>
#include <utility>

#include <starling/core/error.hpp>
#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/job.hpp>
#include <starling/objects/exit.hpp>

#include "objects/checkpoint/session.hpp"

namespace starling::detail {
namespace {

/// Lets the elements on a worker continue after the checkpoint.
void leave_checkpoint(local_elements& local, std::uint32_t round) {
  if (local.array->is_closed()) return;
  for (point_wait* w : release_round(local, round))
    if (w != nullptr) local.array->leave_point(*w->chare);
}

struct remote_end_of_checkpoint {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    array_base& array = a.space().array(ar.read<object_id>());
    const auto round = ar.read<std::uint32_t>();
    require_end(ar);
    a.require(a.from() == 0, "the end of a checkpoint comes from rank 0");
    leave_checkpoint(array.local(a.worker_index()), round);
  }
};

void let_all_leave(array_base& array, std::uint32_t round) {
  for (local_elements& local : array.locals())
    send_call(
        *local.home, [&local, round] { leave_checkpoint(local, round); }, priority::high);
  if (job* j = array.space().current_job())
    j->send_to_other_ranks(make_remote<remote_end_of_checkpoint>(
        {remote_header::every_worker, priority::high}, array.id(), round));
}

/// Writes the copies; an error is printed and the program goes on.
task<> write_copies(std::shared_ptr<session> of, checkpoint_parts parts) {
  try {
    static_cast<void>(co_await session::write(std::move(of), std::move(parts)));
  } catch (const std::exception&) {  // printed
  }
}

/// Writes the copies of the last checkpoint. Returns false if the run continues.
task<bool> write_last(std::shared_ptr<session> of, checkpoint_parts parts) {
  try {
    co_await session::write_last(std::move(of), std::move(parts));
  } catch (const run_exited&) {
    co_return true;
  } catch (const std::exception&) {  // printed
  }
  co_return false;
}

task<> take_together(array_base& array, std::uint32_t round, std::uint64_t step,
                     checkpoint_rule rule) {
  std::exception_ptr failed;
  try {
    const auto of = array.space().owner().service<session_list>().find(array.id());
    if (of == nullptr)
      throw usage_error("checkpoint(): " + array.type() +
                        " was not created by starling::checkpoints, or that "
                        "object has ended");
    if (rule == checkpoint_rule::if_requested && !of->stop_requested()) {
      let_all_leave(array, round);
      co_return;
    }
    checkpoint_parts parts = co_await of->copy(step);
    if (parts.is_last) {
      const bool has_ended = co_await write_last(of, std::move(parts));
      if (has_ended) co_return;
      let_all_leave(array, round);
      co_return;
    }
    let_all_leave(array, round);
    post(write_copies(of, std::move(parts)));
  } catch (...) {
    failed = std::current_exception();
  }
  if (failed) end_run_and_close(*worker::current(), failed);
}

}  // namespace

void to_checkpoint::deliver(std::uint64_t&& step) noexcept {
  or_end_run(*worker::current(), [&] { post(take_together(m_array, m_round, step, m_rule)); });
}

void to_checkpoint::fail(const std::exception_ptr& error) noexcept {
  end_run_and_close(*worker::current(), error);
}

counted_owner to_checkpoint::make(input_archive& ar) {
  array_base& array = receiving_space().array(ar.read<object_id>());
  const auto round = ar.read<std::uint32_t>();
  return counted_owner(new to_checkpoint(array, round, ar.read<checkpoint_rule>()));
}

}  // namespace starling::detail
