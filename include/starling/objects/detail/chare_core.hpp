// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <vector>

#include <starling/core/detail/worker.hpp>
#include <starling/core/task.hpp>
#include <starling/objects/archive.hpp>
#include <starling/objects/balance/plan.hpp>
#include <starling/objects/detail/load_record.hpp>
#include <starling/objects/detail/mailbox.hpp>
#include <starling/objects/detail/point_wait.hpp>
#include <starling/objects/detail/reduction_tree.hpp>
#include <starling/objects/detail/tracked_elements.hpp>

/// Chares, independent of their type.
namespace starling::detail {

struct local_elements;
class chare_core;

/// The channel ends of a chare, the offers that arrived for ends that do not exist yet, and the
/// number of its open transfers.
class channel_set;
void cancel_channels(chare_core& c) noexcept;
/// Answers with the error `why` the offers that arrived for ends which were never made.
void refuse_offers(chare_core& c, const std::exception_ptr& why);
[[nodiscard]] std::size_t count_left_over_offers(chare_core& c) noexcept;
/// Returns whether memory was offered to the chare that it has not received, or is to be received.
[[nodiscard]] bool has_open_transfers(chare_core& c) noexcept;
/// Returns whether the chare must stay on its worker until a transfer has ended: a send that has
/// not ended, or a receive for which data are under way. Offers to the chare and receives for which
/// no offer has arrived move with it.
[[nodiscard]] bool has_bound_transfers(chare_core& c) noexcept;
/// Returns whether transfers keep the chare on its rank: those above, receives that have begun,
/// data that wait for a receive, and borrowed memory.
[[nodiscard]] bool has_rank_bound_transfers(chare_core& c) noexcept;
/// Whether the partners of a chare that is to leave its rank have read what it has posted.
enum class confirmation : std::uint8_t {
  given,
  asked,   ///< the answers repeat the request to depart
  refused  ///< not yet; a later call asks again
};
[[nodiscard]] confirmation confirm_posts(chare_core& c);
/// Writes what the chare's channels need on another rank, beside what its `serialize` writes.
void save_channels(output_archive& ar, chare_core& c);
/// Reads that for a chare that has arrived. @throws archive_error
void load_channels(input_archive& ar, chare_core& c);

/// Scope in which the calling thread reads or writes the state of a chare.
class loading_state {
 public:
  explicit loading_state(chare_core& c) noexcept;
  loading_state(const loading_state&) = delete;
  loading_state& operator=(const loading_state&) = delete;
  ~loading_state();
  /// Returns the chare whose state the calling thread reads or writes. @throws usage_error when
  /// there is none
  [[nodiscard]] static chare_core& current();

 private:
  chare_core* m_before;
};

/// Why a chare is to migrate, for the timeline.
enum class departure_cause : std::uint8_t { request, balancing, chaos };

/// Where an element's report goes in load_balance(). All elements of an array change it together.
enum class report_place : std::uint8_t { as_created, rank_0, own_rank };

/// Base of every chare, independent of its type. Accessed by the chare's worker only.
class chare_core {
 public:
  chare_core(const chare_core&) = delete;
  chare_core& operator=(const chare_core&) = delete;

  struct state {
    local_elements* local = nullptr;
    std::uint32_t position = 0;    // index in `local->elements`
    std::uint32_t reductions = 0;  // number of the reduction to which the chare contributes next
    std::uint32_t coroutines = 0;  // coroutines of the chare that have begun and not ended
    bool is_doomed = false;        // deleted when the last of these coroutines has ended
    mailbox mail;
    std::shared_ptr<channel_set> channels;             // null: no channels
    std::unique_ptr<tracked_state> tracked;            // null: the chare has never migrated
    std::unique_ptr<load_record> load;                 // null: nothing has been measured
    reduction_waits waits;                             // of a tracked chare's coroutines
    std::uint32_t departs_to = stays;                  // worker to which the chare is to migrate
    departure_cause cause = departure_cause::request;  // of `departs_to`
    balance::reason reason = balance::reason::rearrangement;  // of departure_cause::balancing
    point_wait* at_point = nullptr;  // of the coroutine that waits to migrate
    std::uint64_t balance_skip = 0;  // next calls of load_balance() that return at once
    report_place reports = report_place::as_created;
    bool has_left = false;     // the chare is on another rank, this object remains
    std::uint8_t chances = 0;  // left for migrations that chaos mode forces

    static constexpr std::uint32_t stays = ~std::uint32_t{0};
    static constexpr std::uint32_t anywhere = stays - 1;     // a random worker, at random
    static constexpr std::uint32_t with_leader = stays - 2;  // when its leader departs: see bond
    [[nodiscard]] bool departs() const noexcept { return departs_to != stays; }
  };
  /// Used by the runtime only.
  [[nodiscard]] state& element_state() noexcept { return m_state; }
  /// Called when a coroutine of the chare has begun a wait with which it can migrate.
  inline void note_wait();
  /// Returns whether all coroutines of the chare, and of its partner if it is bound, are in such
  /// waits. On the chare's worker.
  [[nodiscard]] bool can_depart();
  /// Returns whether the chare, and its partner if it is bound, can migrate to another rank: it has
  /// no coroutine, or its only one waits to migrate and `resumed()` continues its work there.
  [[nodiscard]] bool can_leave_rank() noexcept;
  [[nodiscard]] bool can_depart_alone();
  [[nodiscard]] bool can_leave_rank_alone() noexcept;
  /// Returns whether the chare can migrate to worker `to` of all ranks.
  [[nodiscard]] bool can_depart_to(std::size_t to);
  /// Asks the partners of a chare that can migrate to worker `to` whether they have read what it
  /// has posted, if this is another rank.
  [[nodiscard]] confirmation confirm_departure(std::size_t to);
  /// An entry method of all chares: whether the chare has read the offers of a line up to a number,
  /// which belong to a partner that is to leave its rank.
  [[nodiscard]] task<bool> has_read(std::uint64_t line, std::uint64_t number);
  /// Returns whether a restart can continue the chare's work by `resumed()`: its only coroutine
  /// waits in `checkpoint()` and has no caller.
  [[nodiscard]] bool resumes_after_restart() const;
  /// Destroys the coroutine that waits to migrate, as the chare has left the rank.
  void abandon_coroutine() noexcept;
  /// Returns the coroutines with whose waits the chare can change its worker within the rank.
  [[nodiscard]] std::vector<promise_base*> movable_coroutines();
  /// Resumes the coroutine that waits to migrate, if there is one.
  void resume_at_point() noexcept;
  /// Lets the chare's suspended coroutines resume on worker `to`.
  void rehome_coroutines(worker& to);
  /// Takes the waits of the chare's coroutines, which begins to be tracked, from its home's site.
  void take_waits_from(reduction_site& home);
  /// Ends the waits for results of the coroutines of a tracked chare with operation_cancelled.
  void cancel_waits() noexcept;

  /// Data for the constructor of the next chare that this thread makes.
  struct birth {
    local_elements* local = nullptr;
    const void* index = nullptr;
    std::uint32_t first_reduction = 0;
    // Of a destroyed element with the same index that had migrated: the chare takes it over.
    std::unique_ptr<tracked_state>* tracked = nullptr;
  };
  static void announce(const birth& next) noexcept;

 protected:
  /// @throws usage_error when no array makes the chare
  chare_core(const birth& mine, const std::source_location& defined_at);
  ~chare_core() = default;
  /// Returns the data given to `announce` on this thread and clears them.
  [[nodiscard]] static birth announced() noexcept;

 private:
  template <class Visitor>
  void for_each_wait(Visitor visit);

  state m_state;
};

}  // namespace starling::detail
