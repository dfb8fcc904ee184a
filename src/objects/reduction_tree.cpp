// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/reduction_tree.hpp>

#include <optional>

#include <starling/core/detail/demangle.hpp>
#include <starling/core/error.hpp>
#include <starling/objects/detail/job.hpp>
#include <starling/objects/detail/send.hpp>
#include <starling/objects/reduction.hpp>

#include "rank_tree.hpp"

namespace starling::detail {
namespace {

/// Farthest that a reduction may be ahead of those which are open: limits the memory that a message
/// of another rank can demand. Contributions of one element may overtake each other, but not so
/// many.
constexpr std::uint32_t farthest = std::uint32_t{1} << 20;

}  // namespace

bool reduction_queue::awaits(std::uint32_t sequence, std::size_t contributors) const noexcept {
  if (is_over(sequence)) return false;
  if (is_open(sequence)) return m_open[sequence - m_first].missing != 0;
  return contributors != 0 && sequence - next() < farthest;
}

bool reduction_queue::can_leave(std::uint32_t sequence, std::size_t contributors) const noexcept {
  if (contributors == 0 || is_over(sequence)) return false;
  if (!is_open(sequence)) return sequence - next() < farthest;
  for (std::size_t i = sequence - m_first; i < m_open.size(); ++i)
    if (m_open[i].missing == 0) return false;
  return true;
}

void reduction_queue::excuse(std::uint32_t first, std::uint32_t end) noexcept {
  for (; first != end; ++first) --m_open[first - m_first].missing;
}

void reduction_queue::open_all(std::uint32_t sequence, std::size_t contributors) {
  if (is_over(sequence)) throw operation_cancelled();
  while (!is_open(sequence)) m_open.push_back({nullptr, contributors});
}

void reduction_queue::add(std::uint32_t sequence, result share) {
  reduction& r = m_open[sequence - m_first];
  --r.missing;
  if (share == nullptr) return;
  if (r.total == nullptr)
    r.total = std::move(share);
  else if (share->error)
    note_error(*r.total, share->error);
  else if (kind_of(*r.total) != kind_of(*share))
    note_other_kind(*r.total, kind_of(*share));
  else
    merging(*r.total, [&] { r.total->merge(*share); });
}

void reduction_queue::note_error(partial_result& total, std::exception_ptr error) noexcept {
  if (!total.error) total.error = std::move(error);
}

void reduction_queue::note_current_error(partial_result& total) noexcept {
  note_error(total, std::current_exception());
}

void reduction_queue::note_other_kind(partial_result& total, const std::type_info& other) {
  note_error(total, std::make_exception_ptr(usage_error(
                        "contributions of two kinds to one reduction, " + demangle(kind_of(total)) +
                        " and " + demangle(other) +
                        ": all elements contribute to the same reductions in the same order")));
}

void throw_other_length(std::size_t a, std::size_t b) {
  throw usage_error("a reduction goes through lists element by element, and one contribution has " +
                    std::to_string(a) + " elements, another " + std::to_string(b) +
                    ": all contribute lists of one length (reduction::concatenate takes any)");
}

// --- one worker

void reduction_site::leave(std::uint32_t next_reduction) {
  if (next_reduction != 0 && !m_queue.is_over(next_reduction - 1))
    m_queue.open(next_reduction - 1, m_contributors);  // as contributions may still arrive
  --m_contributors;
  m_queue.leave(next_reduction);
  pass_up();
}

void reduction_site::require_awaited(std::uint32_t sequence) const {
  if (!m_queue.awaits(sequence, m_contributors))
    throw archive_error("a contribution of another rank to a reduction that does not await it");
}

void reduction_site::leave_tracked(std::uint32_t next_reduction) {
  if (!m_queue.can_leave(next_reduction, m_contributors))
    throw archive_error(
        "an element of another rank is destroyed that has contributed to reductions which do not "
        "exist");
  leave(next_reduction);
}

std::uint32_t reduction_site::begin_after(std::uint32_t earlier, std::uint32_t first) {
  if (static_cast<std::int32_t>(earlier - first) <= 0) return first;
  m_queue.excuse(first, earlier);
  pass_up();
  return earlier;
}

void reduction_site::participate(std::uint32_t sequence) {
  m_begun = sequence + 1;
  pass_up();
}

void reduction_site::pass_up() {
  const bool is_behind = static_cast<std::int32_t>(m_begun - m_queue.next()) > 0;
  if (is_behind && m_contributors == 0 && m_coming.load(std::memory_order_relaxed) == 0)
    m_queue.open(m_begun - 1, 0);
  m_queue.take_complete([this](std::uint32_t sequence, reduction_queue::result share) {
    m_tree->pass_up(*this, sequence, std::move(share));
  });
  end_if_given_up();
}

void reduction_site::give_up() {
  require_in_use();
  m_use = use::given_up;
  end_if_given_up();
}

void reduction_site::throw_given_up() const {
  throw usage_error(m_tree->name() + " is used after its destroy()");
}

void reduction_site::end_if_given_up() noexcept {
  if (m_use != use::given_up || !m_waits.empty() || !m_remote_waits.empty() || !m_queue.empty() ||
      m_tree->passes_on(*this))
    return;
  m_use = use::ended;
  m_tree->note_end_of_site();
}

void reduction_waits::enlist(reduction_wait& w) noexcept {
  w.list = this;
  w.next = nullptr;
  *m_end = &w;
  m_end = &w.next;
}

bool reduction_waits::withdraw(reduction_wait& w) noexcept {
  for (reduction_wait** link = &m_first; *link != nullptr; link = &(*link)->next) {
    if (*link != &w) continue;
    *link = w.next;
    if (m_end == &w.next) m_end = link;
    return true;
  }
  return false;
}

namespace {

/// Returns the result for a waiter that awaits values of type `wanted`.
reduction_result fitting(const reduction_result& o, const std::type_info& wanted) {
  if (o.value == nullptr || *o.type == wanted) return o;
  return {.error = std::make_exception_ptr(
              archive_error("rank 0 has sent a reduction's result of type " + demangle(*o.type) +
                            ", where " + demangle(wanted) + " is awaited"))};
}

}  // namespace

void reduction_waits::release(object_id tree, std::uint32_t sequence,
                              const reduction_result& result) noexcept {
  // All waits for this reduction are removed before the first coroutine is resumed, because a
  // resumed coroutine may wait again at once. Waits for other reductions remain in the list.
  reduction_wait* told = nullptr;
  reduction_wait** end = &told;
  reduction_wait** link = &m_first;
  while (reduction_wait* w = *link) {
    if (w->sequence != sequence || w->tree->id() != tree) {
      link = &w->next;
      continue;
    }
    *link = w->next;
    *end = w;
    end = &w->next;
  }
  *end = nullptr;
  m_end = link;
  while (told != nullptr) {
    reduction_wait& w = *told;
    told = w.next;
    w.result = fitting(result, *w.result.type);
    resume_charged(*w.waiting);  // coroutines of several elements
  }
}

void reduction_site::release(std::uint32_t sequence, const reduction_result& result) {
  m_waits.release(m_tree->id(), sequence, result);
  std::vector<remote_wait> told;
  std::erase_if(m_remote_waits, [&](remote_wait& w) {
    if (w.sequence != sequence) return false;
    told.push_back(std::move(w));
    return true;
  });
  for (const remote_wait& w : told) w.waiter->release(result);
  end_if_given_up();
}

// --- all workers

reduction_tree::reduction_tree(object_space& space, object_id id, std::string name)
    : m_space(space), m_id(id), m_name(std::move(name)), m_sites(space.workers().size()),
      m_sites_in_use(m_sites.size()) {
  for (std::size_t w = 0; w < m_sites.size(); ++w) m_sites[w].open(*this, *space.workers()[w]);
}

void reduction_tree::pass_up(reduction_site& from, std::uint32_t sequence,
                             reduction_queue::result share) {
  if (&from == &m_sites[0]) return join(sequence, std::move(share));
  send_call(
      m_sites[0].home(),
      [this, whole = m_whole.lock(), sequence, share = std::move(share)]() mutable {
        join(sequence, std::move(share));
      },
      priority::high);
}

namespace {

rank_tree ranks_around(const object_space& space) { return {space.rank(), space.rank_count()}; }

struct remote_beginning {
  static void run(received_call& a) {
    const auto [id, sequence] = read_arguments<object_id, std::uint32_t>(a);
    if (const auto tree = a.space().reductions(id)) tree->begin_remote(a, sequence);
  }
};

/// Handler: the partial result of a child rank and its subtree.
struct remote_share {
  static void run(received_call& a) {
    input_archive ar = a.arguments();
    const auto tree = a.space().reductions(ar.read<object_id>());
    if (tree == nullptr) ar.refuse("a reduction", "its section has been destroyed");
    const auto sequence = ar.read<std::uint32_t>();
    const auto packed = ar.read<std::vector<std::byte>>();
    const auto error = ar.read<std::optional<portable_error>>();
    require_end(ar);
    reduction_queue::result share;
    if (!packed.empty()) {
      input_archive from(packed);
      share = make_share(from);
      if (error) share->error = error->revive(a.from());
    }
    tree->join_remote(a, sequence, std::move(share));
  }
};

}  // namespace

void reduction_tree::begin_remote(const received_call& a, std::uint32_t sequence) {
  const rank_tree ranks = ranks_around(m_space);
  a.require_first_worker();
  a.require(ranks.rank != 0 && a.from() == ranks.above(), "the rank above begins reductions");
  a.require(
      m_total.is_over(sequence) || sequence - m_total.next() == 0 || m_total.is_open(sequence),
      "a reduction is begun before those ahead of it");
  begin(sequence);
}

void reduction_tree::join_remote(const received_call& a, std::uint32_t sequence,
                                 reduction_queue::result share) {
  const rank_tree ranks = ranks_around(m_space);
  const auto side = std::size_t(a.from() - (2 * ranks.rank + 1));
  a.require_first_worker();
  a.require(side < m_given_by.size(), "the ranks below give to reductions");
  a.require(sequence == m_given_by[side], "a rank gives to each reduction once, in turn");
  ++m_given_by[side];
  join(sequence, std::move(share));
}

void reduction_tree::join(std::uint32_t sequence, reduction_queue::result share) {
  begin(sequence);
  m_total.add(sequence, std::move(share));
  pass_on();
}

void reduction_tree::begin(std::uint32_t sequence) {
  if (m_total.is_open(sequence) || m_total.is_over(sequence)) return;
  m_sites[0].require_in_use();
  const int below = ranks_around(m_space).for_each_below([&](int rank) {
    m_space.current_job()->send(rank, make_remote<remote_beginning>({}, m_id, sequence));
  });
  m_total.open(sequence, m_sites.size() + std::size_t(below));
  for (reduction_site& s : m_sites)
    send_call(
        s.home(), [&s, whole = m_whole.lock(), sequence] { s.participate(sequence); },
        priority::high);
}

void reduction_tree::pass_on() {
  m_total.take_complete([this](std::uint32_t sequence, reduction_queue::result total) {
    if (m_space.rank() != 0)
      send_up(sequence, total.get());
    else if (total != nullptr)
      total->deliver();
  });
  m_sites[0].end_if_given_up();
}

void reduction_tree::note_end_of_site() noexcept {
  // Acquire and release: the accesses of all workers happen before the destruction of the tree.
  if (m_sites_in_use.fetch_sub(1, std::memory_order_acq_rel) == 1) m_space.forget(m_id);
}

void reduction_tree::send_up(std::uint32_t sequence, const partial_result* share) const {
  const auto packed = share == nullptr ? std::vector<std::byte>() : share->pack();
  std::optional<portable_error> error;
  if (share != nullptr && share->error) error = portable_error::of(share->error);
  m_space.current_job()->send(ranks_around(m_space).above(),
                              make_remote<remote_share>({}, m_id, sequence, packed, error));
}

void reduction_tree::tell(std::uint32_t sequence, const reduction_result& result) {
  for (reduction_site& s : m_sites)
    send_call(
        s.home(), [&s, whole = m_whole.lock(), sequence, result] { s.release(sequence, result); },
        priority::high);
}

bool reduction_wait::withdraw() noexcept { return list->withdraw(*this); }

}  // namespace starling::detail
