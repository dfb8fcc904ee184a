// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include <starling/core/detail/counted.hpp>
#include <starling/core/detail/frame_pool.hpp>
#include <starling/core/detail/promise_base.hpp>
#include <starling/core/detail/worker.hpp>
#include <starling/core/error.hpp>
#include <starling/objects/callback.hpp>
#include <starling/objects/detail/object_space.hpp>

/// Reductions: the contributions of many chares are combined into one result.
namespace starling::detail {

/// The combination of some contributions to a reduction.
class partial_result {
 public:
  virtual ~partial_result() = default;
  [[nodiscard]] friend const std::type_info& kind_of(const partial_result& p) noexcept {
    return typeid(p);
  }
  /// `other` has the same type. @throws the exceptions of the user's operation
  virtual void merge(partial_result& other) = 0;
  /// Passes the result, or the error, to the reduction's callback. Called when all contributions
  /// are combined.
  virtual void deliver() noexcept = 0;
  /// Packs the partial result for another rank: the number of its maker and the maker's arguments.
  /// @throws usage_error when the values cannot travel
  [[nodiscard]] virtual std::vector<std::byte> pack() const = 0;

  std::exception_ptr error;  // the first error; from then on the value is not used
};

/// Reads a partial result from a message of another rank. @throws archive_error, not_made_yet
[[nodiscard]] std::unique_ptr<partial_result> make_share(input_archive& ar);

template <class V, class Op>
class sum_of final : public partial_result, public pooled<block_kind::state> {
 public:
  using result = V;
  sum_of(V value, Op op, starling::callback<V> to)
      : m_value(std::move(value)), m_op(std::move(op)), m_to(std::move(to)) {}

  void merge(V&& value) {
    if (!error) m_value = m_op(std::move(m_value), std::move(value));
  }
  void merge(partial_result& other) override {
    merge(std::move(static_cast<sum_of&>(other).m_value));
  }
  void deliver() noexcept override {
    if (error)
      m_to.fail(error);
    else
      m_to.deliver(std::move(m_value));
  }
  std::vector<std::byte> pack() const override {
    if constexpr (travels<V> && function_travels<Op>)
      return pack_made<sum_of>(m_value, sent_function<Op>{m_op}, m_to);
    else
      refuse_to_travel<V, Op>("a reduction");
  }
  static constexpr auto made = remote_function::kind::share;
  static std::unique_ptr<partial_result> make(input_archive& ar) {
    if constexpr (travels<V> && function_travels<Op>) {
      auto value = ar.read<V>();
      auto op = load_function<Op>(ar);
      return std::unique_ptr<partial_result>(
          new sum_of(std::move(value), std::move(op), ar.read<starling::callback<V>>()));
    } else {
      ar.refuse(type_text<V>, "it cannot travel");
    }
  }

 private:
  V m_value;
  Op m_op;
  starling::callback<V> m_to;
};

/// The reductions of a set of contributors. Each contributes to all of them in order, from the
/// reduction on at which it joined. Used by one thread at a time.
class reduction_queue {
 public:
  using result = std::unique_ptr<partial_result>;

  /// Returns the first reduction without a contribution, from which on a new contributor takes
  /// part.
  [[nodiscard]] std::uint32_t next() const noexcept {
    return m_first + static_cast<std::uint32_t>(m_open.size());
  }
  [[nodiscard]] bool is_open(std::uint32_t sequence) const noexcept {
    return sequence - m_first < m_open.size();
  }
  [[nodiscard]] bool is_over(std::uint32_t sequence) const noexcept {
    return static_cast<std::int32_t>(sequence - m_first) < 0;
  }
  /// Opens all reductions up to `sequence`, with the current number of contributors.
  /// @throws operation_cancelled when reduction `sequence` is already complete, which happens to a
  /// contributor that has left
  void open(std::uint32_t sequence, std::size_t contributors) {
    if (!is_open(sequence)) [[unlikely]]
      open_all(sequence, contributors);
  }

  /// Adds a contribution to an open reduction. `target()` returns its callback; the reduction uses
  /// the callback of one contribution.
  template <class V, class Op, class Target>
  void add(std::uint32_t sequence, V value, const Op& op, const Target& target) {
    using sum = sum_of<V, Op>;
    reduction& r = m_open[sequence - m_first];
    if (r.total == nullptr)
      r.total.reset(new sum(std::move(value), op, target()));
    else if (kind_of(*r.total) != typeid(sum))
      note_other_kind(*r.total, typeid(sum));
    else
      merging(*r.total, [&] { static_cast<sum&>(*r.total).merge(std::move(value)); });
    --r.missing;
  }
  /// Adds a partial result, which counts as one contribution; null if it combines no contributions.
  void add(std::uint32_t sequence, result share);
  /// Removes a contributor that has taken part in the reductions before `sequence`.
  void leave(std::uint32_t sequence) noexcept {
    for (std::size_t i = sequence - m_first; i < m_open.size(); ++i) --m_open[i].missing;
  }

  /// Removes a contributor from the reductions from `first` to before `end`, which are open.
  void excuse(std::uint32_t first, std::uint32_t end) noexcept;

  [[nodiscard]] bool empty() const noexcept { return m_open.empty(); }

  /// For numbers of other ranks: returns whether one of `contributors` may contribute to this
  /// reduction, or may leave if it has taken part in the reductions before this one.
  [[nodiscard]] bool awaits(std::uint32_t sequence, std::size_t contributors) const noexcept;
  [[nodiscard]] bool can_leave(std::uint32_t sequence, std::size_t contributors) const noexcept;

  /// Calls `done(sequence, result)` for each reduction that is complete, in order.
  template <class Done>
  void take_complete(Done done) {
    while (!m_open.empty() && m_open.front().missing == 0) {
      result total = std::move(m_open.front().total);
      m_open.pop_front();
      done(m_first++, std::move(total));
    }
  }

 private:
  struct reduction {
    result total;
    std::size_t missing;  // contributions still to come
  };
  void open_all(std::uint32_t sequence, std::size_t contributors);
  template <class Action>
  static void merging(partial_result& total, Action action) noexcept {
    try {
      action();
    } catch (...) {
      note_current_error(total);
    }
  }
  /// Keeps the first error.
  static void note_error(partial_result& total, std::exception_ptr error) noexcept;
  static void note_current_error(partial_result& total) noexcept;
  static void note_other_kind(partial_result& total, const std::type_info& other);

  std::deque<reduction> m_open;
  std::uint32_t m_first = 0;  // number of the front
};

class reduction_tree;

/// The result of a reduction.
struct reduction_result {
  counted_owner value{};                 // a counted_value
  const std::type_info* type = nullptr;  // of the value
  std::exception_ptr error = nullptr;
  // Packs the value for another rank: the number of its maker and the maker's arguments. Null: it
  // cannot travel.
  std::vector<std::byte> (*pack)(const counted& value) = nullptr;
};
/// Returns a value as the result of a reduction.
template <class V>
[[nodiscard]] reduction_result result_of(V value);
/// Reads a result from a message of another rank. @throws archive_error, not_made_yet
[[nodiscard]] reduction_result read_result(input_archive& ar);
/// Writes a result. @throws usage_error when the value cannot travel
void save_result(output_archive& ar, const reduction_result& r);

class chare_core;
class reduction_waits;

/// A coroutine of a contributor that waits for the result. Stored in its frame.
struct reduction_wait : described_wait {
  const reduction_tree* tree = nullptr;
  std::shared_ptr<const void> whole;  // keeps the tree while the contributor is not at home
  chare_core* contributor = nullptr;
  reduction_waits* list = nullptr;  // that has it
  std::uint32_t sequence = 0;
  promise_base* waiting = nullptr;
  reduction_wait* next = nullptr;
  reduction_result result;  // its `type` is the awaited type until the result arrives

  [[nodiscard]] bool withdraw() noexcept;
};

/// Waits for results, oldest first. Accessed by one worker.
class reduction_waits {
 public:
  void enlist(reduction_wait& w) noexcept;
  bool withdraw(reduction_wait& w) noexcept;
  /// Resumes the coroutines that wait for reduction `sequence` of the tree with this id.
  void release(object_id tree, std::uint32_t sequence, const reduction_result& result) noexcept;
  [[nodiscard]] bool empty() const noexcept { return m_first == nullptr; }
  [[nodiscard]] reduction_wait* first() const noexcept { return m_first; }

  reduction_waits() = default;
  reduction_waits(const reduction_waits&) = delete;
  reduction_waits& operator=(const reduction_waits&) = delete;

 private:
  reduction_wait* m_first = nullptr;
  reduction_wait** m_end = &m_first;
};

/// A coroutine of a tracked contributor that waits on another worker than its home.
class remote_waiter {
 public:
  virtual ~remote_waiter() = default;
  /// On the contributor's home. @throws std::bad_alloc
  virtual void release(const reduction_result& result) = 0;
};

/// The contributors on one worker. Accessed by that worker only, except `expect_insertion`.
class reduction_site {
 public:
  void open(reduction_tree& tree, worker& home) noexcept {
    m_tree = &tree;
    m_home = &home;
  }
  [[nodiscard]] reduction_tree& tree() const noexcept { return *m_tree; }
  [[nodiscard]] worker& home() const noexcept { return *m_home; }

  /// Adds contributors and returns the first reduction in which they take part: the first one to
  /// which no contributor of this worker has contributed.
  std::uint32_t join(std::size_t count = 1) noexcept {
    m_contributors += count;
    return m_queue.next();
  }
  /// Announces an insertion: reductions that other sites or ranks begin from now on wait for it.
  /// Any thread.
  void expect_insertion() noexcept { m_coming.fetch_add(1, std::memory_order_relaxed); }
  /// Adds the announced contributor, as `join`.
  std::uint32_t join_inserted() noexcept {
    m_coming.fetch_sub(1, std::memory_order_relaxed);
    return join();
  }
  /// Removes a contributor whose next contribution would be to `next_reduction`. Contributions to
  /// the reductions before it may still arrive.
  void leave(std::uint32_t next_reduction);

  // --- for tracked contributors, whose numbers may come from another rank
  /// Checks that a contribution with this number is awaited. @throws archive_error
  void require_awaited(std::uint32_t sequence) const;
  /// As `leave`. @throws archive_error when no contributor can leave with this number
  void leave_tracked(std::uint32_t next_reduction);
  /// For a contributor that joined before reduction `first` in place of one that has left since,
  /// before `earlier`. Returns the later one of the two, from which on it contributes.
  std::uint32_t begin_after(std::uint32_t earlier, std::uint32_t first);

  template <class V, class Op, class Target>
  void contribute(std::uint32_t sequence, V value, const Op& op, const Target& target) {
    require_in_use();
    m_queue.open(sequence, m_contributors);
    m_queue.add(sequence, std::move(value), op, target);
    pass_up();
  }
  /// Whether contributors of this site have not yet contributed to a reduction that has begun here
  /// or elsewhere.
  [[nodiscard]] bool has_open() const noexcept {
    return !m_queue.empty() || static_cast<std::int32_t>(m_begun - m_queue.next()) > 0;
  }
  /// Takes part in a reduction that another site or rank has begun. If this site has no
  /// contributors and none is announced, it passes on an empty contribution at once.
  void participate(std::uint32_t sequence);

  /// The coroutines of contributors that are on this worker.
  [[nodiscard]] reduction_waits& waits() noexcept { return m_waits; }
  /// Adds a waiter of a tracked contributor.
  void enlist(std::uint32_t sequence, std::unique_ptr<remote_waiter> w) {
    m_remote_waits.push_back({sequence, std::move(w)});
  }
  /// Resumes the coroutines that wait for reduction `sequence`.
  void release(std::uint32_t sequence, const reduction_result& result);

  /// Declares that this worker begins no more reductions. Once the open reductions have ended and
  /// their results have arrived, the site ends. @throws usage_error the second time
  void give_up();
  void end_if_given_up() noexcept;
  /// @throws usage_error after give_up()
  void require_in_use() const {
    if (m_use != use::open) [[unlikely]]
      throw_given_up();
  }

 private:
  enum class use : std::uint8_t { open, given_up, ended };
  [[noreturn]] void throw_given_up() const;
  void pass_up();

  reduction_tree* m_tree = nullptr;
  worker* m_home = nullptr;
  std::size_t m_contributors = 0;
  std::uint32_t m_begun = 0;  // one past the last reduction that another site or rank has begun
  // Announced insertions. Relaxed: a message that must not overtake an insertion was sent after it,
  // so the queues that carried the message order the two.
  std::atomic<std::size_t> m_coming{0};
  reduction_queue m_queue;
  reduction_waits m_waits;
  struct remote_wait {
    std::uint32_t sequence;
    std::unique_ptr<remote_waiter> waiter;
  };
  std::vector<remote_wait> m_remote_waits;
  use m_use = use::open;
};

/// The sites of an array or a section, one for each worker. Each site sends its partial results to
/// the worker of the first site. There they are combined with those of the two child ranks in a
/// binary tree of ranks and sent to the parent rank; rank 0 obtains the result.
class reduction_tree {
 public:
  /// `name`: name of the tree in errors; `id`: the same on all ranks. @throws std::bad_alloc
  reduction_tree(object_space& space, object_id id, std::string name);
  reduction_tree(const reduction_tree&) = delete;
  reduction_tree& operator=(const reduction_tree&) = delete;

  /// Makes the tree a part of `whole`; messages in transit then own a reference to `whole`. Called
  /// once, before the tree is shared. A tree that belongs to no other object exists as long as the
  /// runtime.
  void belong_to(const std::shared_ptr<const void>& whole) noexcept { m_whole = whole; }

  /// Returns an owner of the tree for a message in transit; null if it exists as long as the
  /// runtime.
  [[nodiscard]] std::shared_ptr<const void> whole() const noexcept { return m_whole.lock(); }
  [[nodiscard]] const std::string& name() const noexcept { return m_name; }
  [[nodiscard]] object_space& space() const noexcept { return m_space; }
  [[nodiscard]] object_id id() const noexcept { return m_id; }
  [[nodiscard]] reduction_site& site(std::size_t worker) noexcept { return m_sites[worker]; }

  /// Sends a partial result of `from` to the first site. On the worker of `from`.
  void pass_up(reduction_site& from, std::uint32_t sequence, reduction_queue::result share);
  // --- on the first site's worker
  /// Adds the partial result of a site or a rank; null if it combines no contributions.
  void join(std::uint32_t sequence, reduction_queue::result share);
  /// Begins a reduction unless it is begun: asks all sites and child ranks to take part.
  void begin(std::uint32_t sequence);
  /// Begins a reduction for the parent rank. @throws archive_error when it is not the next one
  void begin_remote(const received_call& a, std::uint32_t sequence);
  /// Adds the partial result of a child rank, one for each reduction in order. @throws
  /// archive_error
  void join_remote(const received_call& a, std::uint32_t sequence, reduction_queue::result share);

  /// On a worker: passes the result to all waiters of this rank.
  void tell(std::uint32_t sequence, const reduction_result& result);

  /// Whether `at` is the first site and still combines a reduction. On the worker of `at`.
  [[nodiscard]] bool passes_on(const reduction_site& at) const noexcept {
    return &at == &m_sites[0] && !m_total.empty();
  }
  /// Notes that a site has ended. After the last site the space drops the tree; the callers keep
  /// it.
  void note_end_of_site() noexcept;

 private:
  void pass_on();
  void send_up(std::uint32_t sequence, const partial_result* share) const;

  object_space& m_space;
  object_id m_id;
  std::string m_name;
  std::weak_ptr<const void> m_whole;
  std::vector<reduction_site> m_sites;
  reduction_queue m_total;  // combines the results of the sites and the child ranks
  std::array<std::uint32_t, 2> m_given_by{};  // number of results from each child rank
  std::atomic<std::size_t> m_sites_in_use;
};

}  // namespace starling::detail
