// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include <starling/core/detail/worker.hpp>
#include <starling/device/detail/device_load.hpp>
#include <starling/objects/balance/balancer.hpp>
#include <starling/objects/detail/chare_core.hpp>
#include <starling/objects/detail/load_record.hpp>
#include <starling/objects/detail/mailbox.hpp>
#include <starling/objects/detail/object_space.hpp>
#include <starling/objects/detail/point_wait.hpp>
#include <starling/objects/detail/reduction_tree.hpp>
#include <starling/objects/detail/send.hpp>
#include <starling/objects/detail/tracked_elements.hpp>
#include <starling/objects/entry.hpp>

namespace starling {
struct rank;
}

/// Arrays, independent of the type of their elements.
namespace starling::detail {

class array_base;
class balancing_lead;
class rank_balancing;
struct local_elements;
class bond;

/// The local elements of an array on one worker; for another rank, a placeholder of which only
/// `array` and `index` are valid. Accessed by the worker only, except the immutable fields.
struct alignas(64) local_elements {
  array_base* array = nullptr;
  worker* home = nullptr;   // null: placeholder of another rank
  std::uint32_t index = 0;  // number of the worker on its rank; of a placeholder: the rank
  // `tracks`: elements with this home have migrated. `counts`: loads are measured, so senders count
  // their messages. Relaxed: a sender that does not see `tracks` sends to the home.
  std::atomic<std::uint8_t> special{0};
  static constexpr std::uint8_t tracks = 1;
  static constexpr std::uint8_t counts = 2;
  std::vector<chare_core*> elements;
  std::vector<point_wait*> at_point;  // of elements that wait in load_balance(), by slot
  ready_list early;                   // messages that arrived before the initial elements
  bool is_made = false;               // the initial elements exist
  bool takes_more = false;            // elements may still be inserted
  bool is_measured = false;           // the loads of the elements on this worker are measured
  reduction_site* reductions = nullptr;
  std::string balancer;       // whose orders the worker has processed last
  std::uint8_t searches = 0;  // of frames for anchors, since these orders: see anchor_of

  [[nodiscard]] bool has_tracked() const noexcept { return (specials() & tracks) != 0; }
  [[nodiscard]] std::uint8_t specials() const noexcept {
    return special.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool may_get_elements() const noexcept { return !is_made || takes_more; }
  /// Processes the messages that arrived before the initial elements were made.
  void replay_early() noexcept;
  void add(chare_core& made);
  void remove(chare_core& gone) noexcept;
};

inline constexpr entry_info channel_info{"channel"};

class array_base {
 public:
  /// `id`: the same on all ranks. @throws std::bad_alloc
  array_base(object_space& space, object_id id, std::string_view type,
             const std::type_info& element);
  virtual ~array_base();
  array_base(const array_base&) = delete;
  array_base& operator=(const array_base&) = delete;

  [[nodiscard]] object_space& space() const noexcept { return m_space; }
  [[nodiscard]] object_id id() const noexcept { return m_id; }
  [[nodiscard]] const std::string& type() const noexcept { return m_type; }
  [[nodiscard]] const std::type_info& element_type() const noexcept { return m_element; }
  /// Returns the local elements of a worker of this rank.
  [[nodiscard]] local_elements& local(std::size_t worker) noexcept { return m_local[worker]; }
  /// Returns those of all workers of this rank.
  [[nodiscard]] std::span<local_elements> locals() noexcept { return m_local; }
  [[nodiscard]] std::size_t worker_count() const noexcept { return m_local.size(); }
  /// Returns the number among all ranks of a worker of this rank.
  [[nodiscard]] std::uint32_t worker_number(const worker& w) const noexcept {
    return static_cast<std::uint32_t>(m_space.first_worker()) + w.index();
  }
  /// The local elements of a worker, or the placeholder of its rank; and the number of the worker
  /// on its rank.
  struct located {
    local_elements* local = nullptr;
    std::uint16_t worker;
  };
  /// `worker`: number among all ranks.
  [[nodiscard]] located locate_worker(std::size_t worker) noexcept {
    const std::size_t here = worker - m_space.first_worker();
    if (here < m_local.size()) return {&m_local[here], std::uint16_t(here)};
    return locate_elsewhere(worker);
  }
  /// Notes that elements of this home, or of this rank's placeholder, have migrated. Any worker.
  void note_tracked(local_elements& home) noexcept {
    home.special.fetch_or(local_elements::tracks, std::memory_order_relaxed);
    m_tracks.store(true, std::memory_order_relaxed);
  }
  /// Returns whether elements have migrated, as far as this rank knows. Relaxed as
  /// local_elements::tracks.
  [[nodiscard]] bool has_tracked() const noexcept {
    return m_tracks.load(std::memory_order_relaxed);
  }
  /// Returns the placeholder of another rank.
  [[nodiscard]] local_elements& elsewhere(int rank) noexcept {
    return m_placeholders[std::size_t(rank)];
  }
  [[nodiscard]] reduction_tree& reductions() noexcept { return m_reductions; }
  /// The bond to another array; null: there is none. Set before any message is sent.
  [[nodiscard]] bond* bound() const noexcept { return m_bond.get(); }
  void bind(std::shared_ptr<bond> to) noexcept { m_bond = std::move(to); }

  /// Lets `insert` add elements later. Called before any message is sent to the array.
  void expect_insertions() noexcept {
    m_has_insertions = true;
    for (local_elements& local : m_local) local.is_made = local.takes_more = true;
  }
  /// Returns whether elements are or were made by `insert`.
  [[nodiscard]] bool has_insertions() const noexcept { return m_has_insertions; }
  /// On the worker of `local`: makes messages to missing elements errors from now on.
  void end_insertions(local_elements& local) noexcept {
    local.takes_more = false;
    replay_all_early(local);
  }
  /// On the worker of `local`: destroys its elements and ends insertions. If the initial elements
  /// do not exist yet, this is deferred until they do.
  void destroy_local(local_elements& local);
  virtual void replay_all_early(const local_elements& local) noexcept = 0;
  /// Returns the number of messages kept for elements that may still be inserted.
  [[nodiscard]] virtual std::size_t count_early(const local_elements& local) const noexcept = 0;

  /// Whether the run has ended: messages that still arrive are dropped.
  [[nodiscard]] bool is_closed() const noexcept { return (status() & closed) != 0; }
  /// Whether the run continues and no loads are measured: then messages need no other check.
  [[nodiscard]] bool is_ordinary() const noexcept { return status() == 0; }
  [[nodiscard]] bool is_measured() const noexcept { return status() >= one_measured; }
  /// Closes the array. One thread at a time. `regular`: the run was not ended by an error or
  /// exit_run, so messages left over are a mistake of the program.
  void close(bool regular) noexcept {
    m_status.fetch_or(closed, std::memory_order_relaxed);
    if (!regular) m_is_cut_short = true;
  }

  /// Notes where the element type is defined, for errors. Any worker.
  void note_definition(const std::source_location& at) noexcept {
    // Relaxed: all elements store the same value, which guards no other data.
    if (m_defined_at.load(std::memory_order_relaxed).line() == 0)
      m_defined_at.store(at, std::memory_order_relaxed);
  }
  /// On a worker: ends the run with entry_error, for an error of an entry method of `chare` that no
  /// waiter receives. `awaited_last`: where the method, if a coroutine, was suspended last.
  void fail(const std::string& chare, const entry_info& entry, const std::exception_ptr& cause,
            const std::source_location& awaited_last = {});
  /// Returns the error of a message to an element that does not exist.
  [[nodiscard]] static std::exception_ptr missing(const std::string& chare,
                                                  const entry_info& entry);
  /// On the worker of a chare that is being destroyed: ends the run with an error if the chare has
  /// messages or offers that no coroutine has awaited.
  void report_left_over(chare_core& gone);

  /// Returns the name of element `c`. @throws std::bad_alloc
  [[nodiscard]] virtual std::string name_of(chare_core& c) const = 0;

  /// Sends the chare's worker the request to let it depart. On that worker.
  virtual void request_departure(chare_core& c) = 0;
  /// Lets a chare depart that waits to migrate and is to depart, or resumes its coroutine.
  virtual void leave_point(chare_core& c) = 0;
  /// Returns an object by which the site of the chare's home, on this rank, passes the result of a
  /// reduction of `tree` to the coroutine of the tracked chare that waits for it. `number`: of the
  /// chare's contribution.
  [[nodiscard]] virtual std::unique_ptr<remote_waiter> waiter_of(chare_core& c,
                                                                 const reduction_tree& tree,
                                                                 std::uint32_t number) = 0;
  /// Returns whether elements can migrate to another rank.
  [[nodiscard]] virtual bool can_leave_ranks() const noexcept = 0;
  /// Returns whether an element's coroutine can continue on another rank: by `resumed()`.
  [[nodiscard]] virtual bool has_resumed() const noexcept = 0;
  /// Returns the tracked elements that are on a worker. On that worker, or after the run.
  [[nodiscard]] virtual std::vector<chare_core*> tracked_on(const local_elements& local) = 0;
  /// Returns the collective balancing. On worker 0 of rank 0.
  [[nodiscard]] balancing_lead& balancing();
  /// Returns the part of this rank in a balancing without a central rank. On worker 0 of the rank.
  /// There are several ranks.
  [[nodiscard]] rank_balancing& rank_part() noexcept { return *m_rank_part; }
  /// Returns whether elements that have not balanced yet keep their reports on their rank.
  [[nodiscard]] bool keeps_reports_at_first() const noexcept {
    return m_is_spread_by_option && !m_has_insertions;
  }
  /// As chare_array::balance_by.
  void balance_by(std::unique_ptr<const balance::balancer> chosen, std::uint64_t interval);
  // --- loads, on the worker of `local`: load.cpp
  /// Begins to measure the loads of the elements on the worker, unless they are measured already.
  void begin_measuring(local_elements& local);
  /// Ends that and deletes the loads.
  void end_measuring(local_elements& local);
  using load_visitor = std::function<void(chare_core&, const load_measurement&)>;
  /// Visits the elements on the worker with their loads since the last reset. Elements that are
  /// under way to the worker are not visited.
  void for_each_load(local_elements& local, const load_visitor& visit);
  /// Begins new measurements.
  void reset_loads(local_elements& local);
  /// Visits the traffic that an element which is on the calling worker has sent.
  static void for_each_destination(chare_core& c,
                                   const std::function<void(const sent_traffic&)>& visit);
  /// Returns whether the device time of elements is a part of their measured loads.
  [[nodiscard]] bool measures_device_time() const noexcept {
    return m_space.measures_device_time() && !models_device_load();
  }
  /// Returns the devices of the rank's workers at the first call behind their opening; empty before
  /// and afterwards. Any worker.
  [[nodiscard]] std::vector<worker_device> devices_to_report();
  /// Returns the load of one element that is on the calling worker.
  [[nodiscard]] load_measurement load_of(chare_core& c);
  /// Returns the name of element `c` as source and destination of traffic.
  [[nodiscard]] virtual element_number number_of(chare_core& c) const = 0;

  // --- checkpoints: docs/design/0044-checkpoints-of-arrays.md
  /// Lets a checkpoint make the elements: messages wait for them. Called before any message is
  /// sent.
  void expect_stored() noexcept {
    for (local_elements& local : m_local) local.is_made = false;
  }
  /// Visits the elements on a worker, for a checkpoint of the quiescent run. @throws usage_error
  /// when something that no checkpoint stores belongs to them, such as a coroutine
  void visit_for_checkpoint(local_elements& local, const std::function<void(chare_core&)>& visit);
  /// Writes the index of an element.
  virtual void save_index(chare_core& c, output_archive& ar) const = 0;
  /// Writes an element and the messages in its mailbox. On its worker. @throws the exceptions of
  /// `serialize`
  virtual void save_state(chare_core& c, output_archive& ar) = 0;
  /// Returns the worker, among all ranks, of the placement. Any thread. @throws archive_error when
  /// the array cannot have an element with this index; the exceptions of the user's map
  [[nodiscard]] virtual std::size_t home_of_stored(std::span<const std::byte> index) const = 0;
  /// Makes an element. Returns whether its work is continued by resume_stored. @throws entry_error
  [[nodiscard]] virtual bool load_element(local_elements& home, std::span<const std::byte> index,
                                          std::span<const std::byte> state) = 0;
  /// Starts `resumed()` of an element, unless it is destroyed already. @throws archive_error
  virtual void resume_stored(local_elements& home, std::span<const std::byte> index) = 0;

  /// Lists the messages that no coroutine has awaited, and those that have not been delivered as
  /// earlier ones are missing: names the first few, counts all. After the run.
  void list_lost_messages(std::string& text, std::size_t& count);
  using held_visitor = std::function<void(const std::string& element, std::size_t messages)>;

 private:
  [[nodiscard]] located locate_elsewhere(std::size_t worker) noexcept;
  /// Visits the tracked elements for which the worker holds messages that wait for earlier ones.
  virtual void list_held(const local_elements& local, const held_visitor& visit) = 0;
  virtual void destroy_all(local_elements& local) = 0;
  /// Adds the values that the chare's own members return: see load_measurement.
  virtual void describe_load(chare_core& c, load_measurement& load) const = 0;
  /// Returns whether the chare has `device_load()`.
  [[nodiscard]] virtual bool models_device_load() const noexcept = 0;
  template <class Visitor>
  void for_each_element(local_elements& local, Visitor visit);
  [[nodiscard]] std::uint32_t status() const noexcept {
    return m_status.load(std::memory_order_relaxed);
  }

  object_space& m_space;
  object_id m_id;
  std::string m_type;
  const std::type_info& m_element;
  std::atomic<std::source_location> m_defined_at{};
  std::atomic<bool> m_tracks{false};
  bool m_has_insertions = false;
  std::atomic<bool> m_has_reported_devices{false};
  std::shared_ptr<bond> m_bond;
  // `closed`, and `one_measured` for each worker that measures loads. One word, so that a message
  // is delivered after one test. Relaxed: guards no other data.
  std::atomic<std::uint32_t> m_status{0};
  static constexpr std::uint32_t closed = 1;
  static constexpr std::uint32_t one_measured = 2;
  bool m_is_cut_short = false;
  reduction_tree m_reductions;
  std::unique_ptr<balancing_lead> m_balancing;
  std::unique_ptr<rank_balancing> m_rank_part;  // null: there are no other ranks
  bool m_is_spread_by_option = false;           // the option names `diffusion`
  std::vector<local_elements> m_local;
  std::vector<local_elements> m_placeholders;  // by rank
};

inline void chare_core::note_wait() {
  if (m_state.departs()) [[unlikely]]
    m_state.local->array->request_departure(*this);
}

/// Checks that `c` can migrate to worker `to` of all ranks and returns its number. @throws
/// usage_error
[[nodiscard]] std::uint32_t require_destination(chare_core& c, std::size_t to);
/// Returns the worker of a rank with the number that the element's worker has within its own rank,
/// modulo the number of workers.
/// @throws usage_error
[[nodiscard]] std::size_t worker_of_rank(chare_core& c, const rank& to);

/// Throws archive_error: the home of `chare` has not passed on this insertion.
[[noreturn]] void throw_unexpected_insertion(const std::string& chare);

/// Throws usage_error: `call` on a thread that is no worker of the chare's runtime.
[[noreturn]] void throw_no_worker(const char* call, const std::string& chare);

/// Throws usage_error: `before_migration` of the chare has made a departure impossible.
[[noreturn]] void throw_cannot_depart(const std::string& chare);

/// Throws archive_error: a message and the worker that has received it have different locations of
/// the same version.
[[noreturn]] void throw_two_locations(const std::string& chare);

/// Throws std::logic_error: a fault of the runtime.
[[noreturn]] void throw_numbered_twice(const std::string& chare);

/// Throws archive_error: the elements of `array` are not of type `wanted`.
[[noreturn]] void throw_other_elements(const array_base& array, std::string_view wanted);

}  // namespace starling::detail
