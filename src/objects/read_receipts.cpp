// SPDX-License-Identifier: Apache-2.0
#include "read_receipts.hpp"

#include <utility>

#include <starling/device/device.hpp>
#include <starling/objects/detail/channel_offer.hpp>

namespace starling::detail {

void read_receipts::add(stream& reader, const reply_address& to) {
  m_due.push_back({reader.record(), to});
  if (std::exchange(m_is_telling, true)) return;
  try {
    start_here(tell_all(shared_from_this(), reader.device().make_stream(priority::high)));
  } catch (...) {
    m_is_telling = false;
    m_due.pop_back();
    throw;
  }
}

task<> read_receipts::wait_for(stream& behind, const event& read) {
  if (read.is_complete()) co_return;
  behind.wait(read);
  co_await behind.completion();
}

/// One wait serves all that are over when it ends.
task<> read_receipts::tell_all(std::shared_ptr<read_receipts> self, stream behind) {
  const auto all = std::move(self);
  stream waits = std::move(behind);
  while (!all->m_due.empty()) {
    const receipt next = std::move(all->m_due.front());
    all->m_due.pop_front();
    std::exception_ptr error;
    try {
      co_await wait_for(waits, next.read);
      all->m_job.send(next.to.rank, make_reply_message(next.to, true));
    } catch (...) {
      error = std::current_exception();
    }
    if (error) send_failure(all->m_job, next.to, error);
  }
  all->m_is_telling = false;
}

}  // namespace starling::detail
