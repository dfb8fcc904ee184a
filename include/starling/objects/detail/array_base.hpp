// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include <starling/core/detail/worker.hpp>
#include <starling/objects/detail/mailbox.hpp>
#include <starling/objects/detail/object_space.hpp>
#include <starling/objects/detail/reduction_tree.hpp>
#include <starling/objects/detail/send.hpp>
#include <starling/objects/entry.hpp>

/// The part of arrays that does not know the type of their elements.
namespace starling::detail {

class array_base;
struct array_part;
class chare_core;

/// Channel ends of a chare, and what came for ends that it has not made yet.
class channel_set;
void cancel_channels(chare_core& c) noexcept;
/// Tells those whose offers came for ends that were never made.
void refuse_offers(chare_core& c, const std::exception_ptr& why);
[[nodiscard]] std::size_t count_left_over_offers(chare_core& c) noexcept;

/// What every chare is, whatever its type. Its own worker's alone.
class chare_core {
 public:
  chare_core(const chare_core&) = delete;
  chare_core& operator=(const chare_core&) = delete;

  struct state {
    array_part* part;
    std::uint32_t position = 0;    // among the elements of the part
    std::uint32_t reductions = 0;  // the next one that it contributes to
    std::uint32_t coroutines = 0;  // entry methods that have begun and not ended
    bool is_doomed = false;        // destroyed as soon as these have ended
    mailbox mail;
    std::shared_ptr<channel_set> channels;  // null: it has none
  };
  /// For the runtime, not for users.
  [[nodiscard]] state& native() noexcept { return m_state; }

  /// What the next chare that this thread makes is to be.
  struct birth {
    array_part* part = nullptr;
    const void* index = nullptr;
    std::uint32_t first_reduction = 0;
  };
  static void announce(const birth& next) noexcept;

 protected:
  /// @throws usage_error when no array makes it
  chare_core(const birth& mine, const std::source_location& defined_at);
  ~chare_core() = default;
  /// What the thread was told; once.
  [[nodiscard]] static birth announced() noexcept;

 private:
  state m_state;
};

/// One worker's elements of an array, or those of another rank, of which nothing but the rank is
/// known here. But for the constants its own worker's alone.
struct alignas(64) array_part {
  array_base* array = nullptr;
  worker* home = nullptr;   // null: of another rank
  std::uint32_t index = 0;  // of the worker on its rank, or of the rank
  std::vector<chare_core*> elements;
  ready_list early;                   // messages that came before these
  bool is_made = false;               // the elements that the array was made with exist
  bool takes_more = false;            // others may yet be inserted
  std::source_location defined_at{};  // where the type of the elements is
  reduction_site* reductions = nullptr;

  [[nodiscard]] bool may_get_elements() const noexcept { return !is_made || takes_more; }
  /// Works off the messages that came before the elements that the array was made with.
  void replay_early() noexcept;
  void add(chare_core& made);
  void remove(chare_core& gone) noexcept;
};

class array_base {
 public:
  /// `id`: as known to all ranks. @throws std::bad_alloc
  array_base(object_space& space, object_id id, std::string_view type,
             const std::type_info& element);
  virtual ~array_base();
  array_base(const array_base&) = delete;
  array_base& operator=(const array_base&) = delete;

  [[nodiscard]] object_space& space() const noexcept { return m_space; }
  [[nodiscard]] object_id id() const noexcept { return m_id; }
  [[nodiscard]] const std::string& type() const noexcept { return m_type; }
  [[nodiscard]] const std::type_info& element_type() const noexcept { return m_element; }
  /// Of a worker of this rank.
  [[nodiscard]] array_part& part(std::size_t worker) noexcept { return m_parts[worker]; }
  [[nodiscard]] std::size_t part_count() const noexcept { return m_parts.size(); }
  /// Of the worker with this number among all ranks.
  [[nodiscard]] array_part& part_of_worker(std::size_t worker) noexcept {
    const std::size_t here = worker - m_space.first_worker();
    return here < m_parts.size() ? m_parts[here] : part_of_other(worker);
  }
  [[nodiscard]] reduction_tree& reductions() noexcept { return m_reductions; }

  /// Before anything is sent to it: elements come later, by `insert`.
  void expect_insertions() noexcept {
    for (array_part& p : m_parts) p.is_made = p.takes_more = true;
  }
  /// On the part's worker: messages to elements that are missing are errors from now on.
  void end_insertions(array_part& p) noexcept {
    p.takes_more = false;
    replay_all_early(p);
  }
  /// On the part's worker: destroys its elements, once they are there, and what is kept for them.
  void destroy_part(array_part& p);
  virtual void replay_all_early(const array_part& p) noexcept = 0;
  /// Messages to elements that may yet be inserted.
  [[nodiscard]] virtual std::size_t count_early(const array_part& p) const noexcept = 0;

  /// The run has ended: messages that still come are dropped.
  [[nodiscard]] bool is_closed() const noexcept {
    return m_is_closed.load(std::memory_order_relaxed);  // nothing else is read for it
  }
  /// One thread at a time. `regular`: not by an error or exit_run, so that messages left over are
  /// a mistake of the program.
  void close(bool regular) noexcept {
    m_is_closed.store(true, std::memory_order_relaxed);
    if (!regular) m_is_cut_short = true;
  }

  /// On a worker: an entry method of `chare` threw and nobody waits for it. The run ends with
  /// entry_error; `awaited_last` is where the method, a coroutine, was suspended last.
  void fail(const std::string& chare, const entry_info& entry, const std::exception_ptr& cause,
            const std::source_location& awaited_last = {});
  /// What the sender of a message to nobody is told.
  [[nodiscard]] static std::exception_ptr missing(const std::string& chare,
                                                  const entry_info& entry);
  /// Messages that nobody has awaited go with their chare.
  [[nodiscard]] static std::exception_ptr lost();

  /// What element `c` is called. @throws std::bad_alloc
  [[nodiscard]] virtual std::string name_of(chare_core& c) const = 0;
  /// Messages that nobody has awaited: names some and counts the others. After the run.
  void list_lost_messages(std::string& text, std::size_t& count) const;

 private:
  [[nodiscard]] array_part& part_of_other(std::size_t worker) noexcept;
  virtual void destroy_all(array_part& p) = 0;

  object_space& m_space;
  object_id m_id;
  std::string m_type;
  const std::type_info& m_element;
  std::atomic<bool> m_is_closed{false};
  bool m_is_cut_short = false;
  reduction_tree m_reductions;
  std::vector<array_part> m_parts;
  std::vector<array_part> m_others;  // by rank
};

/// @throws archive_error
[[noreturn]] void throw_other_elements(const array_base& array, std::string_view wanted);

}  // namespace starling::detail
