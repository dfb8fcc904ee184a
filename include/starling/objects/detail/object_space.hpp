// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include <starling/core/detail/worker.hpp>
#include <starling/core/runtime.hpp>
#include <starling/objects/detail/remote.hpp>

namespace starling::detail {

class array_base;
class reduction_tree;
class job;

/// The arrays of a runtime and what else its chares share; its place among the ranks of a job.
class object_space {
 public:
  static constexpr bool holds_users_objects = true;

  explicit object_space(runtime& owner);
  ~object_space();
  object_space(const object_space&) = delete;
  object_space& operator=(const object_space&) = delete;

  /// Of this rank.
  [[nodiscard]] const std::vector<worker*>& workers() const noexcept { return m_workers; }
  [[nodiscard]] runtime& owner() const noexcept { return m_owner; }

  // --- ranks. Workers of all ranks have numbers, those of rank 0 first.
  /// The connection to the other ranks; null where there are none. Messages of a run that is over
  /// are dropped.
  [[nodiscard]] job* others() const noexcept { return m_job.load(std::memory_order_acquire); }
  [[nodiscard]] int rank() const noexcept { return m_rank; }
  [[nodiscard]] int rank_count() const noexcept { return m_rank_count; }
  [[nodiscard]] std::size_t first_worker() const noexcept { return m_first_worker; }
  [[nodiscard]] std::size_t worker_total() const noexcept { return m_worker_total; }
  /// Before there are arrays. @throws usage_error when there are
  void join(job& others);

  /// Ends the run with `error`, on all ranks, and messages to the arrays there are now go to
  /// nobody. From a worker.
  void end_run(const std::exception_ptr& error) noexcept;
  /// The same for this rank alone.
  void end_run_here(const std::exception_ptr& error) noexcept;
  /// The run is over for all ranks; `regular`: it was not cut short, so that whoever still waits
  /// is news.
  void close_here(bool regular) noexcept;

  // --- objects
  [[nodiscard]] object_id next_id() noexcept;
  /// Keeps the array until the runtime ends, and lets messages find it.
  template <class Array>
  Array& add(std::unique_ptr<Array> made) {
    Array& result = *made;
    add_array(std::move(made));
    return result;
  }
  /// Keeps a value as long, under its id, with the reductions that it may have of its own.
  template <class T>
  void keep(object_id id, std::shared_ptr<T> value, reduction_tree* reductions = nullptr) {
    keep_value(id, {std::move(value), &typeid(T)}, reductions);
  }
  /// Drops the value with this id. The id stays known: later messages that name it are errors.
  void forget(object_id id) noexcept;
  /// What messages name. @throws not_made_yet; archive_error where it never can be made, or is of
  /// another type
  [[nodiscard]] array_base& array(object_id id);
  template <class T>
  [[nodiscard]] std::shared_ptr<const T> value(object_id id) const {
    return std::static_pointer_cast<const T>(find_value(id, typeid(T)));
  }
  /// Null for a section that was destroyed: its last messages may arrive later.
  [[nodiscard]] std::shared_ptr<reduction_tree> reductions(object_id id) const;
  /// The id of what a message of rank `from` makes. @throws archive_error where that is not its own
  /// or has been used
  [[nodiscard]] object_id read_new_id(int from, input_archive& ar) const;

  /// The calling worker's messages from a rank that wait for something to be made here.
  [[nodiscard]] std::deque<arrival*>& waiting_from(int rank, priority urgency) noexcept;
  /// Of the calling worker: something has been made.
  void perform_waiting() noexcept;
  /// How many wait so, on all workers.
  void count_stranded(std::ptrdiff_t n) noexcept {
    m_stranded.fetch_add(std::size_t(n), std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t stranded() const noexcept {
    return m_stranded.load(std::memory_order_relaxed);
  }
  /// What they wait for will never be: all ranks are at rest. Ends the run.
  void refuse_stranded();
  /// Something that messages may name is here: those that wait look again. @throws std::bad_alloc
  void announce();

 private:
  struct alignas(64) waiting_messages {
    std::vector<std::deque<arrival*>> from;  // by rank and priority; its worker's alone
    // What its worker has looked up last: arrays stay, and most messages are for one.
    object_id last_id = 0;
    array_base* last = nullptr;
  };
  struct kept_value {
    std::shared_ptr<const void> value;  // null: given up
    const std::type_info* type;
  };
  void end_and_close(const std::exception_ptr& error) noexcept;
  void add_array(std::unique_ptr<array_base> made);
  void keep_value(object_id id, kept_value value, reduction_tree* reductions);
  [[nodiscard]] std::shared_ptr<const void> find_value(object_id id,
                                                       const std::type_info& type) const;
  template <class Map>
  [[nodiscard]] auto find(const Map& map, object_id id) const;

  runtime& m_owner;
  std::vector<worker*> m_workers;
  std::atomic<job*> m_job{nullptr};  // stays when the run is over: nothing is sent then
  int m_rank = 0;
  int m_rank_count = 1;
  std::size_t m_first_worker = 0;
  std::size_t m_worker_total;
  std::atomic<std::uint64_t> m_made{0};  // ids; nothing is ordered by it
  std::vector<waiting_messages> m_waiting;
  std::atomic<std::size_t> m_stranded{0};  // read where nothing moves

  mutable std::mutex m_mutex;
  std::unordered_map<object_id, kept_value> m_values;  // which chares may hold
  std::unordered_map<object_id, array_base*> m_array_of;
  std::unordered_map<object_id, std::shared_ptr<reduction_tree>> m_reductions;
  std::vector<std::unique_ptr<array_base>> m_arrays;  // in the order in which they were made
};

}  // namespace starling::detail
