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
#include <starling/objects/detail/balance_report.hpp>
#include <starling/objects/detail/forced_migration.hpp>
#include <starling/objects/detail/migration_trace.hpp>
#include <starling/objects/detail/remote.hpp>

namespace starling::detail {

class array_base;
class reduction_tree;
class job;

/// The arrays and shared values of a runtime, and its place among the ranks of a job.
class object_space {
 public:
  static constexpr bool holds_users_objects = true;

  explicit object_space(runtime& owner);
  ~object_space();
  object_space(const object_space&) = delete;
  object_space& operator=(const object_space&) = delete;

  /// The workers of this rank.
  [[nodiscard]] const std::vector<worker*>& workers() const noexcept { return m_workers; }
  [[nodiscard]] runtime& owner() const noexcept { return m_owner; }

  // --- ranks. Workers are numbered across all ranks, in the order of ranks.
  /// Returns the job of this rank; null: there are no other ranks. After the run, it drops
  /// messages.
  [[nodiscard]] job* current_job() const noexcept { return m_job.load(std::memory_order_acquire); }
  [[nodiscard]] int rank() const noexcept { return m_rank; }
  [[nodiscard]] int rank_count() const noexcept { return m_rank_count; }
  [[nodiscard]] std::size_t first_worker() const noexcept { return m_first_worker; }
  [[nodiscard]] std::size_t worker_total() const noexcept { return m_worker_total; }
  [[nodiscard]] forced_migrations& forced() noexcept { return m_forced; }
  [[nodiscard]] migration_trace& trace() noexcept { return m_trace; }
  [[nodiscard]] balance_report& report() noexcept { return m_report; }
  /// Returns whether device time is a part of measured loads: option `device-times`.
  [[nodiscard]] bool measures_device_time() const noexcept { return m_measures_device_time; }
  /// Returns whether chaos mode makes elements of this rank migrate.
  [[nodiscard]] bool forces_migrations() const noexcept {
    return m_forced.are_on() && m_worker_total > 1;
  }
  /// Returns whether a worker of another rank can map device memory of this rank, as far as is
  /// known.
  [[nodiscard]] bool can_map(std::size_t worker) const noexcept {
    return !m_maps_nothing[worker].load(std::memory_order_relaxed);
  }
  void note_unmapped(std::size_t worker) noexcept {
    m_maps_nothing[worker].store(true, std::memory_order_relaxed);
  }
  /// Destroys an object of the user when the workers have stopped. Any thread.
  void keep_until_end(std::shared_ptr<const void> object);
  /// Connects to the other ranks. @throws usage_error when arrays or values exist already
  void join(job& j);

  /// Ends the run with `error` on all ranks and closes the existing arrays: messages to them are
  /// dropped. Any thread.
  void end_run(const std::exception_ptr& error) noexcept;
  /// As end_run, on this rank only.
  void end_run_here(const std::exception_ptr& error) noexcept;
  /// Closes the arrays, as the run is over on all ranks. `regular`: it was not cut short, so
  /// messages left over are reported.
  void close_here(bool regular) noexcept;

  // --- objects
  [[nodiscard]] object_id next_id() noexcept;
  /// Keeps the array until the runtime ends; messages can name it from now on. The first array of
  /// rank 0 begins the report of balancings. @throws option_error
  void add_array(std::unique_ptr<array_base> made);
  /// Keeps a value under its id until `forget` or the end of the runtime. `reductions`: the value's
  /// reduction tree, if it has one.
  template <class T>
  void keep(object_id id, std::shared_ptr<T> value, reduction_tree* reductions = nullptr) {
    keep_value(id, {std::move(value), &typeid(T)}, reductions);
  }
  /// Drops the value with this id. Later messages that name the id are errors.
  void forget(object_id id) noexcept;
  /// Returns the array that a message names. @throws not_made_yet; archive_error when it can never
  /// be made, or the object is of another type
  [[nodiscard]] array_base& array(object_id id);
  template <class T>
  [[nodiscard]] std::shared_ptr<const T> value(object_id id) const {
    return std::static_pointer_cast<const T>(find_value(id, typeid(T)));
  }
  /// Returns null for a section that was destroyed: its last messages may arrive later.
  [[nodiscard]] std::shared_ptr<reduction_tree> reductions(object_id id) const;
  /// Reads the id of a new object from a message of rank `from`. @throws archive_error when the id
  /// is not of that rank or is in use
  [[nodiscard]] object_id read_new_id(int from, input_archive& ar) const;

  /// Returns the calling worker's messages from a rank that wait for an object to be made here.
  [[nodiscard]] std::deque<received_call*>& waiting_from(int rank,
                                                         starling::priority priority) noexcept;
  /// Processes the calling worker's waiting messages again, after an object has been made.
  void perform_waiting() noexcept;
  /// Adds to the number of waiting messages of all workers.
  void count_stranded(std::ptrdiff_t n) noexcept {
    m_stranded.fetch_add(std::size_t(n), std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t stranded() const noexcept {
    return m_stranded.load(std::memory_order_relaxed);
  }
  /// Ends the run with an error for each waiting message: all ranks are quiescent, so the objects
  /// will not be made.
  void refuse_stranded();
  /// Processes the waiting messages of all workers again. @throws std::bad_alloc
  void announce();

 private:
  struct alignas(64) waiting_messages {
    std::vector<std::deque<received_call*>> from;  // by rank and priority; for its worker only
    // Result of the worker's last lookup: it stays valid because arrays are not removed, and most
    // messages are for the same array.
    object_id last_id = 0;
    array_base* last = nullptr;
  };
  struct kept_value {
    std::shared_ptr<const void> value;  // null: dropped by `forget`
    const std::type_info* type;
  };
  void keep_value(object_id id, kept_value value, reduction_tree* reductions);
  [[nodiscard]] std::shared_ptr<const void> find_value(object_id id,
                                                       const std::type_info& type) const;
  template <class Map>
  [[nodiscard]] auto find(const Map& map, object_id id) const;

  runtime& m_owner;
  std::vector<worker*> m_workers;
  forced_migrations m_forced;
  migration_trace m_trace;
  balance_report m_report;
  bool m_measures_device_time;
  std::atomic<job*> m_job{nullptr};  // not reset after the run, when the job sends nothing
  int m_rank = 0;
  int m_rank_count = 1;
  std::size_t m_first_worker = 0;
  std::size_t m_worker_total;
  std::vector<std::atomic<bool>> m_maps_nothing;  // by worker of all ranks; guards no other data
  std::atomic<std::uint64_t> m_made{0};           // number of ids; guards no other data
  std::vector<waiting_messages> m_waiting;
  std::atomic<std::size_t> m_stranded{0};  // exact only at quiescence

  mutable std::mutex m_mutex;                          // guards the members below
  std::unordered_map<object_id, kept_value> m_values;  // may be used by chares: destroyed last
  std::unordered_map<object_id, array_base*> m_array_of;
  std::unordered_map<object_id, std::shared_ptr<reduction_tree>> m_reductions;
  std::vector<std::unique_ptr<array_base>> m_arrays;  // in the order of their creation
  std::vector<std::shared_ptr<const void>> m_kept;    // elements that have left the rank
};

}  // namespace starling::detail
