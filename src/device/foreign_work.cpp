// SPDX-License-Identifier: Apache-2.0
#include <starling/device/detail/foreign_work.hpp>

#include <atomic>
#include <exception>
#include <list>
#include <mutex>
#include <utility>

#include <starling/core/detail/spin_lock.hpp>
#include <starling/core/poller.hpp>

namespace starling::detail {
namespace {

/// The poller for foreign work of a runtime. A service, made at first use.
class foreign_poller final : public poller {
 public:
  explicit foreign_poller(runtime& owner) : m_owner(&owner) { owner.add_poller(*this); }
  ~foreign_poller() override { m_owner->remove_poller(*this); }

  /// Watches `work`. The future returns it when it is over.
  future<std::unique_ptr<foreign_work>> add(std::unique_ptr<foreign_work> work) {
    std::list<item> added;
    added.push_back({std::move(work), {}});
    future<std::unique_ptr<foreign_work>> result = added.front().over.get_future();
    {
      std::lock_guard lock(m_lock);
      // Counted first, because a poll that finds the item lowers the count.
      m_count.fetch_add(1, std::memory_order_seq_cst);
      m_arrived.splice(m_arrived.end(), added);
    }
    m_owner->notify_pollers();
    return result;
  }

  void poll(ready_list&) noexcept override {
    if (m_count.load(std::memory_order_relaxed) == 0) return;
    take_arrived();
    std::list<item> over;
    for (auto i = m_watched.begin(); i != m_watched.end();) {
      const auto asked = i++;
      if (ask(*asked)) over.splice(over.end(), m_watched, asked);
    }
    for (item& done : over) tell(done);
  }

  [[nodiscard]] std::size_t in_flight() const noexcept override {
    return m_count.load(std::memory_order_seq_cst);
  }

 private:
  struct item {
    std::unique_ptr<foreign_work> work;
    promise<std::unique_ptr<foreign_work>> over;
  };

  void take_arrived() {
    std::lock_guard lock(m_lock);
    m_watched.splice(m_watched.end(), m_arrived);
  }

  static bool ask(item& asked) noexcept {
    try {
      return asked.work->is_over();
    } catch (...) {  // `finish` reports the error
      return true;
    }
  }

  void tell(item& done) noexcept {
    done.over.set_value(std::move(done.work));
    // Lowered after the delivery; otherwise the run could be diagnosed as hung in between.
    m_count.fetch_sub(1, std::memory_order_seq_cst);
  }

  runtime* m_owner;
  // Number of items whose work is incomplete or not delivered yet. seq_cst: one total order with
  // the other values that the hang diagnosis reads.
  std::atomic<std::size_t> m_count{0};
  spin_lock m_lock;
  // Linked lists, because a poll moves items from one to the other and must not allocate.
  std::list<item> m_arrived;  // guarded by m_lock
  std::list<item> m_watched;  // accessed by the polling thread only
};

task<void> finish(future<std::unique_ptr<foreign_work>> over) {
  const std::unique_ptr<foreign_work> work = co_await std::move(over);
  work->finish();
}

}  // namespace

future<void> watch(runtime& rt, std::unique_ptr<foreign_work> work) {
  return finish_when_over(rt, rt.service<foreign_poller>().add(std::move(work)));
}

future<void> finish_when_over(runtime& rt, future<std::unique_ptr<foreign_work>> over) {
  return rt.spawn(finish(std::move(over)));
}

}  // namespace starling::detail
