// SPDX-License-Identifier: Apache-2.0
#include "broadcast_tree.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "job_impl.hpp"
#include "rank_tree.hpp"

namespace starling::detail {
namespace {

/// Beginning of a load. The list of receiving ranks follows (empty for all ranks), then the
/// message, aligned as at its origin.
struct load_header {
  object_id id;
  std::uint32_t listed;
  std::uint32_t unused;
};
constexpr std::size_t room_before(std::size_t listed) {
  return (sizeof(load_header) + listed * sizeof(int) + attached_align - 1) / attached_align *
         attached_align;
}

/// The ranks that a load is for, as positions in a tree with its origin at position 0.
class audience {
 public:
  /// `listed`: ascending, without the origin; empty: all ranks except the origin.
  audience(int origin, int ranks, std::span<const int> listed) noexcept
      : m_origin(origin), m_ranks(ranks), m_listed(listed),
        m_first(std::ranges::lower_bound(listed, origin) - listed.begin()) {}

  [[nodiscard]] int size() const noexcept {
    return m_listed.empty() ? m_ranks : int(m_listed.size()) + 1;
  }
  [[nodiscard]] int rank_at(int position) const noexcept {
    if (position == 0) return m_origin;
    if (m_listed.empty()) return (m_origin + position) % m_ranks;
    return m_listed[std::size_t(m_first + position - 1) % m_listed.size()];
  }
  /// `rank` must be in the audience.
  [[nodiscard]] int position_of(int rank) const noexcept {
    if (rank == m_origin) return 0;
    if (m_listed.empty()) return (rank - m_origin + m_ranks) % m_ranks;
    const auto found = std::ranges::lower_bound(m_listed, rank) - m_listed.begin();
    const auto count = std::ptrdiff_t(m_listed.size());
    return int((found - m_first + count) % count) + 1;
  }
  [[nodiscard]] rank_tree tree_around(int rank) const noexcept {
    return {position_of(rank), size()};
  }

 private:
  int m_origin;
  int m_ranks;
  std::span<const int> m_listed;
  std::ptrdiff_t m_first;  // index in `m_listed` of the first rank above the origin
};

void require(bool is_right, const char* otherwise) {
  if (!is_right) throw archive_error(otherwise);
}

/// Handler of a mark: runs the call of its load.
struct remote_mark {
  static void run(received_call& a) {
    const auto [id] = read_arguments<object_id>(a);
    a.require(maker_of(id) == std::uint64_t(a.from()), "it marks the place of another's load");
    static_cast<job_impl*>(a.space().current_job())->broadcasts().deliver(a, id);
  }
};

}  // namespace

/// A load, as its parts in a message.
struct broadcast_tree::load {
  object_id id;
  int origin;
  std::span<const std::byte> whole;
  std::span<const std::byte> call;  // end of `whole`: the message of make_remote
  std::vector<int> listed;

  /// A load sent by rank `from` to rank `here`, of `ranks`. @throws archive_error
  load(std::span<const std::byte> bytes, int from, int here, int ranks) : whole(bytes) {
    load_header h;
    require(whole.size() >= sizeof h + sizeof(remote_header), "a broadcast is cut off");
    std::memcpy(&h, whole.data(), sizeof h);
    id = h.id;
    require(maker_of(id) < std::uint64_t(ranks) && count_of(id) != 0,
            "a broadcast is of a rank that does not exist");
    origin = int(maker_of(id));
    require(h.listed < std::uint32_t(ranks) &&
                room_before(h.listed) + sizeof(remote_header) <= whole.size(),
            "a broadcast is for more ranks than there are");
    call = whole.subspan(room_before(h.listed));
    listed.resize(h.listed);
    if (h.listed != 0) std::memcpy(listed.data(), whole.data() + sizeof h, h.listed * sizeof(int));
    require_route(from, here, ranks);
  }

 private:
  void require_route(int from, int here, int ranks) const {
    const auto is_bad = [&](int rank) { return rank < 0 || rank >= ranks || rank == origin; };
    require(std::ranges::none_of(listed, is_bad) &&
                std::ranges::adjacent_find(listed, std::greater_equal<>()) == listed.end(),
            "a broadcast is for ranks that cannot be");
    require(here != origin && (listed.empty() || std::ranges::binary_search(listed, here)),
            "a broadcast does not include this rank");
    const audience all(origin, ranks, listed);
    require(all.rank_at(all.tree_around(here).above()) == from,
            "a broadcast comes from another rank than the one above");
  }
};

broadcast_tree::broadcast_tree(job_impl& by, object_space& space) noexcept
    : m_job(by), m_space(space) {}

// --- sending and forwarding

void broadcast_tree::send(std::span<const int> to, const message& m) {
  const bool is_for_all = to.size() == m_job.other_ranks().size();
  const std::span<const int> listed = is_for_all ? std::span<const int>() : to;
  const load_header h{m_space.next_id(), std::uint32_t(listed.size()), 0};
  const auto make_load = [&] {
    const std::size_t room = room_before(listed.size());
    message whole = m.behind(room);
    std::memset(whole.data(), 0, room);
    std::memcpy(whole.data(), &h, sizeof h);
    std::ranges::copy(std::as_bytes(listed), whole.data() + sizeof h);
    return whole;
  };
  remote_header of_call;
  std::memcpy(&of_call, m.data(), sizeof of_call);
  const message mark =
      make_remote<remote_mark>({of_call.worker, static_cast<priority>(of_call.priority)}, h.id);
  std::vector<std::pair<int, message>> loads, marks;  // all are made before the first is sent
  const audience all(m_job.rank(), m_job.size(), listed);
  all.tree_around(m_job.rank()).for_each_below([&](int position) {
    loads.emplace_back(all.rank_at(position), make_load());
  });
  for (const int rank : to) marks.emplace_back(rank, mark.behind(0));
  for (const int rank : to) m_job.flow().sent_by_tree(rank, flow_control::share(m.size()));
  for (auto& [rank, made] : loads) m_job.send_load(rank, std::move(made));
  for (auto& [rank, made] : marks) m_job.send(rank, std::move(made));
}

void broadcast_tree::take(int from, message m) {
  const auto whole =
      std::make_shared<shared_received_message>(received_message{std::move(m), {}, {}});
  const load l(std::as_const(whole->bytes).bytes(), from, m_job.rank(), m_job.size());
  const checked_header h = m_job.check_header(l.origin, l.call);
  require(h.function->is_counted && h.function->name != type_text<remote_mark>,
          "a broadcast of a message that cannot be broadcast");
  {
    const std::lock_guard guard(m_mutex);
    if (m_is_closed) return;
    require(!m_kept.contains(l.id), "a broadcast has come before");
  }
  whole->receipt = {m_job, l.origin, flow_control::share(l.call.size())};
  hand_on(l, *whole);
  const std::size_t calls = h.is_for_every_worker ? m_space.workers().size() : 1;
  if (keep(l.id, {whole, l.call, h, calls, from})) m_space.announce();
}

/// Forwards the load without copying it.
void broadcast_tree::hand_on(const load& l, shared_received_message& whole) {
  const audience all(l.origin, m_job.size(), l.listed);
  // Also takes the load out of the window of its sender.
  const std::shared_ptr<const void> owner = whole.lend();
  const std::size_t first = room_before(l.listed.size());
  all.tree_around(m_job.rank()).for_each_below([&](int position) {
    message m(first, l.call, owner);
    std::ranges::copy(l.whole.first(first), m.data());
    m_job.send_load(all.rank_at(position), std::move(m));
  });
}

/// Keeps a load and returns whether marks wait for it.
bool broadcast_tree::keep(object_id id, kept_load k) {
  const std::lock_guard guard(m_mutex);
  m_kept.emplace(id, std::move(k));
  m_space.count_stranded(1);
  return m_missed.erase(id) != 0;
}

// --- processing

void broadcast_tree::deliver(const received_call& mark, object_id id) {
  kept_load found;
  {
    const std::lock_guard guard(m_mutex);
    const auto kept = m_kept.find(id);
    if (kept == m_kept.end()) {
      m_missed.insert(id);
      throw not_made_yet{id};
    }
    kept->second.is_marked = true;
    found = kept->second;
  }
  checked_header& h = found.header;
  if (h.is_for_every_worker) h.worker = mark.header().worker;
  mark.require(h.is_for_every_worker == mark.header().is_for_every_worker &&
                   h.worker == mark.header().worker && h.priority == mark.priority(),
               "it marks a broadcast to another worker or of another priority");
  received_call call(m_space, h, std::move(found.whole), found.call);
  if (!call.perform()) throw not_made_yet{call.missing()};
  const std::lock_guard guard(m_mutex);
  const auto kept = m_kept.find(id);
  if (kept == m_kept.end() || --kept->second.missing != 0) return;
  m_kept.erase(kept);  // `call` still owns it: no message is destroyed under the lock
  m_space.count_stranded(-1);
}

// --- the end

void broadcast_tree::refuse_left_over() {
  std::string what;
  {
    const std::lock_guard guard(m_mutex);
    const auto left =
        std::ranges::find_if(m_kept, [](const auto& each) { return !each.second.is_marked; });
    if (left == m_kept.end()) return;
    const auto& [id, k] = *left;
    what = "a message of rank " + std::to_string(k.by) + ": " + name_of(id) +
           " is a broadcast without its mark";
  }
  m_space.end_run(std::make_exception_ptr(archive_error(what)));
}

void broadcast_tree::close() noexcept {
  const std::lock_guard guard(m_mutex);
  m_is_closed = true;
}

void broadcast_tree::drop_left_over() noexcept {
  std::unordered_map<object_id, kept_load> left;
  const std::lock_guard guard(m_mutex);
  left.swap(m_kept);
}

}  // namespace starling::detail
