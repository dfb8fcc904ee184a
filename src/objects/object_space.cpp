// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <limits>
#include <new>

#include <starling/core/detail/demangle.hpp>
#include <starling/core/detail/error_text.hpp>
#include <starling/core/error.hpp>
#include <starling/objects.hpp>
#include <starling/objects/detail/job.hpp>

#include "rank_balancing.hpp"

namespace starling::detail {
namespace {

/// Number of left-over messages that an error names at most.
constexpr std::size_t most_named = 5;

std::string text_of(const std::source_location& place) {
  return std::string(place.file_name()) + ":" + std::to_string(place.line());
}

std::vector<worker*> workers_of(runtime& rt) {
  std::vector<worker*> result;
  for (unsigned w = 0; w < rt.worker_count(); ++w) result.push_back(&rt.on_worker(w).home());
  return result;
}

}  // namespace

// --- the elements of one worker

void local_elements::add(chare_core& made) {
  elements.push_back(&made);
  made.element_state().position = static_cast<std::uint32_t>(elements.size() - 1);
}

void local_elements::remove(chare_core& gone) noexcept {
  const chare_core::state& s = gone.element_state();
  elements[s.position] = elements.back();
  elements[s.position]->element_state().position = s.position;
  elements.pop_back();
}

void local_elements::replay_early() noexcept {
  while (promise_base* m = early.pop()) resume_here(*m);
}

void throw_second_reply() {
  throw usage_error(
      "two results for one reply: make_reply serves one reduction, make one for each");
}

// --- the array

array_base::array_base(object_space& space, object_id id, std::string_view type,
                       const std::type_info& element)
    : m_space(space), m_id(id), m_type(type), m_element(element), m_reductions(space, id, m_type),
      m_local(space.workers().size()), m_placeholders(std::size_t(space.rank_count())) {
  for (std::uint32_t rank = 0; rank < m_placeholders.size(); ++rank) {
    m_placeholders[rank].array = this;
    m_placeholders[rank].index = rank;
  }
  for (std::uint32_t w = 0; w < m_local.size(); ++w) {
    m_local[w].array = this;
    m_local[w].home = space.workers()[w];
    m_local[w].index = w;
    m_local[w].reductions = &m_reductions.site(w);
  }
  if (space.rank_count() == 1) return;
  m_rank_part = std::make_unique<rank_balancing>(*this);
  m_is_spread_by_option =
      space.owner().options().get("balancer", "refine") == rank_balancing::balancer;
}

array_base::~array_base() {
  for (local_elements& local : m_local)
    while (promise_base* m = local.early.pop()) work_item::of(*m).discard();
}

array_base::located array_base::locate_elsewhere(std::size_t worker) noexcept {
  const auto [rank, on_rank] = m_space.current_job()->location_of(worker);
  return {&m_placeholders[std::size_t(rank)], on_rank};
}

void array_base::destroy_local(local_elements& local) {
  if (local.is_made) return destroy_all(local);
  auto* later = new call_message([this, &local] { destroy_all(local); });
  local.early.push(addressed(*local.home, *later, priority::normal));
}

void array_base::fail(const std::string& chare, const entry_info& entry,
                      const std::exception_ptr& cause, const std::source_location& awaited_last) {
  if (is_closed()) return;
  std::string text = chare + "." + std::string(entry.name) + ": " + error_text(cause);
  const auto type = m_defined_at.load(std::memory_order_relaxed);
  if (type.line() != 0) {
    text += " (the chare is defined at " + text_of(type);
    if (awaited_last.line() != 0) text += "; the method awaited last at " + text_of(awaited_last);
    text += ")";
  }
  m_space.end_run(std::make_exception_ptr(entry_error(text, cause)));
}

void array_base::list_lost_messages(std::string& text, std::size_t& count) {
  if (m_is_cut_short) return;
  for (const local_elements& local : m_local) {
    if (const std::size_t n = local.early.size() + count_early(local);
        n != 0 && ++count <= most_named)
      text += (count > 1 ? ", " : "") + std::to_string(n) + " to elements of " + m_type +
              " that were never inserted";
    list_held(local, [&](const std::string& element, std::size_t n) {
      if (++count <= most_named)
        text += (count > 1 ? ", " : "") + std::to_string(n) + " to " + element +
                " that wait for earlier ones";
    });
    std::vector<chare_core*> elements = tracked_on(local);
    elements.insert(elements.end(), local.elements.begin(), local.elements.end());
    for (chare_core* c : elements) {
      if (const std::size_t n = count_left_over_offers(*c); n != 0 && ++count <= most_named)
        text += (count > 1 ? ", " : "") + std::to_string(n) + " in channels to " + name_of(*c);
      c->element_state().mail.for_each_kept([&](const awaited_message& m) {
        if (++count > most_named) return;
        text += (count > 1 ? ", " : "") + name_of(*c) + "." + std::string(m.entry->name);
        if (m.entry->by_reference) text += "(" + std::to_string(m.reference) + ")";
      });
    }
  }
}

std::exception_ptr array_base::missing(const std::string& chare, const entry_info& entry) {
  return std::make_exception_ptr(no_such_element(
      "a message to " + chare + "." + std::string(entry.name) + ", which does not exist"));
}

void array_base::report_left_over(chare_core& gone) {
  const auto lost = [] {
    return std::make_exception_ptr(usage_error("destroyed with a message that was never awaited"));
  };
  if (const awaited_message* m = gone.element_state().mail.kept())
    fail(name_of(gone), *m->entry, lost());
  if (count_left_over_offers(gone) == 0) return;
  refuse_offers(gone, lost());
  fail(name_of(gone), channel_info, lost());
}

// --- all arrays

namespace {

bool device_time_option(const runtime_options& options) {
  const std::string chosen = options.get("device-times", "yes");
  if (chosen == "yes" || chosen == "no") return chosen == "yes";
  throw option_error("--starling-device-times (or STARLING_DEVICE_TIMES): '" + chosen +
                     "' is neither yes nor no");
}

}  // namespace

object_space::object_space(runtime& owner)
    : m_owner(owner), m_workers(workers_of(owner)), m_forced(owner), m_trace(owner),
      m_report(owner), m_measures_device_time(device_time_option(owner.options())),
      m_worker_total(m_workers.size()), m_waiting(m_workers.size()) {
  m_trace.prepare(m_workers.size());
}

object_space::~object_space() {
  try {
    std::string text;
    std::size_t count = 0;
    for (const auto& a : m_arrays) a->list_lost_messages(text, count);
    if (count != 0)
      std::fprintf(stderr, "starling: messages left over%s, %zu: %s%s\n",
                   m_rank_count == 1 ? "" : (" on rank " + std::to_string(m_rank)).c_str(), count,
                   text.c_str(), count > most_named ? ", …" : "");
  } catch (const std::bad_alloc&) {  // no report without memory
  }
  for (const auto& a : m_arrays) a->close(true);  // messages sent by destructors are dropped
  for (waiting_messages& w : m_waiting)
    for (auto& list : w.from)
      for (received_call* a : list) a->discard();
}

void end_run_and_close(worker& here, const std::exception_ptr& error) noexcept {
  if (runtime* rt = runtime::current())
    rt->service<object_space>().end_run(error);
  else
    end_run(here, error);
}

void or_end_run(worker& here, function_ref<void()> f) noexcept {
  try {
    f();
  } catch (...) {
    end_run_and_close(here, std::current_exception());
  }
}

void object_space::end_run(const std::exception_ptr& error) noexcept {
  end_run_here(error);
  if (job* j = m_job.load()) j->end_run(error);
}

void object_space::close_here(bool regular) noexcept {
  if (!regular) return end_run_here(nullptr);
  const std::lock_guard lock(m_mutex);
  for (const auto& a : m_arrays) a->close(true);
}

/// Ends the run, then closes its arrays: the thread in `run` must get `error`, not the failure of a
/// message that a closed array has dropped. That thread may begin the next run at once; the lock
/// keeps the next run from adding arrays before those of this run are closed.
void object_space::end_run_here(const std::exception_ptr& error) noexcept {
  const std::uint64_t ended_runs = m_owner.ended_runs();
  const std::lock_guard lock(m_mutex);
  if (m_owner.ended_runs() != ended_runs) return;  // another worker has ended the same run
  // Only on rank 0 does a thread wait for the run.
  detail::end_run(*m_workers.front(), m_rank == 0 ? error : nullptr);
  for (const auto& a : m_arrays) a->close(false);
}

// --- ranks

void object_space::join(job& j) {
  std::lock_guard lock(m_mutex);
  if (!m_array_of.empty() || !m_values.empty())
    throw usage_error(
        "run: arrays, sections or read-only data were made before it, when the other ranks could "
        "not know of them; make them in the task that it runs");
  m_rank = j.rank();
  m_rank_count = j.size();
  m_first_worker = j.first_worker(m_rank);
  m_worker_total = j.first_worker(m_rank_count);
  m_maps_nothing = std::vector<std::atomic<bool>>(m_worker_total);
  for (waiting_messages& w : m_waiting) w.from.resize(2 * std::size_t(m_rank_count));
  m_job.store(&j);
}

void object_space::keep_until_end(std::shared_ptr<const void> object) {
  std::lock_guard lock(m_mutex);
  m_kept.push_back(std::move(object));
}

std::string name_of(object_id id) {
  return "object " + std::to_string(count_of(id)) + " of rank " + std::to_string(maker_of(id));
}

object_id object_space::next_id() noexcept {
  return (std::uint64_t(m_rank) << object_counter_bits) +
         m_made.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::deque<received_call*>& object_space::waiting_from(int rank,
                                                       starling::priority priority) noexcept {
  return m_waiting[worker::current()->index()].from[2 * std::size_t(rank) + std::size_t(priority)];
}

/// Performs the messages of each rank and priority in order: while the first one waits, the later
/// ones wait, too.
void object_space::perform_waiting() noexcept {
  for (auto& list : m_waiting[worker::current()->index()].from)
    while (!list.empty() && list.front()->perform()) {
      list.front()->discard();
      list.pop_front();
      count_stranded(-1);
    }
}

void object_space::refuse_stranded() {
  for (worker* w : m_workers)
    send_call(
        *w,
        [this] {
          for (const auto& list : m_waiting[worker::current()->index()].from)
            if (!list.empty())
              end_run(list.front()->blame(std::make_exception_ptr(archive_error(
                  name_of(list.front()->missing()) + " is named, but was not created"))));
        },
        priority::high);
}

// --- objects

void object_space::add_array(std::unique_ptr<array_base> made) {
  {
    std::lock_guard lock(m_mutex);
    if (m_rank == 0) m_report.begin();
    m_array_of[made->id()] = made.get();
    m_reductions[made->id()] = {std::shared_ptr<void>(), &made->reductions()};  // never destroyed
    m_arrays.push_back(std::move(made));
  }
  announce();
}

void object_space::keep_value(object_id id, kept_value value, reduction_tree* reductions) {
  {
    std::lock_guard lock(m_mutex);
    if (reductions != nullptr) m_reductions[id] = {value.value, reductions};
    m_values[id] = std::move(value);
  }
  announce();
}

void object_space::forget(object_id id) noexcept {
  std::shared_ptr<const void> last;  // destroyed outside the lock
  std::shared_ptr<reduction_tree> reductions;
  std::lock_guard lock(m_mutex);
  if (const auto kept = m_reductions.find(id); kept != m_reductions.end())
    reductions.swap(kept->second);
  if (const auto kept = m_values.find(id); kept != m_values.end()) last.swap(kept->second.value);
}

/// Has no effect without a job, because no message waits then.
void object_space::announce() {
  if (m_job.load() == nullptr) return;
  for (worker* w : m_workers)
    send_call(
        *w, [this] { perform_waiting(); }, priority::high);
}

template <class Map>
auto object_space::find(const Map& map, object_id id) const {
  std::lock_guard lock(m_mutex);
  const auto found = map.find(id);
  if (found != map.end()) return found->second;
  // An object of another rank may still arrive; an object of this rank must have an id already.
  const bool is_of_ours = maker_of(id) == std::uint64_t(m_rank);
  if (maker_of(id) >= std::uint64_t(m_rank_count) || count_of(id) == 0 ||
      (is_of_ours && count_of(id) > m_made.load(std::memory_order_relaxed)) ||
      m_array_of.contains(id) || m_values.contains(id))
    throw archive_error(name_of(id) + " is named, which is an object of another kind");
  throw not_made_yet{id};
}

array_base& object_space::array(object_id id) {
  waiting_messages& mine = m_waiting[worker::current()->index()];
  if (mine.last == nullptr || mine.last_id != id) {
    mine.last = find(m_array_of, id);
    mine.last_id = id;
  }
  return *mine.last;
}
std::shared_ptr<const void> object_space::find_value(object_id id,
                                                     const std::type_info& type) const {
  const kept_value kept = find(m_values, id);
  if (kept.value == nullptr) throw archive_error(name_of(id) + " has been destroyed");
  if (*kept.type != type)
    throw archive_error(name_of(id) + " is a " + demangle(*kept.type) + ", not a " +
                        demangle(type));
  return kept.value;
}
std::shared_ptr<reduction_tree> object_space::reductions(object_id id) const {
  return find(m_reductions, id);
}

object_id object_space::read_new_id(int from, input_archive& ar) const {
  const auto id = ar.read<object_id>();
  std::lock_guard lock(m_mutex);
  if (maker_of(id) != std::uint64_t(from) || count_of(id) == 0 || m_array_of.contains(id) ||
      m_values.contains(id))
    ar.refuse("the number of something new", "it is another's");
  return id;
}

void throw_other_elements(const array_base& array, std::string_view wanted) {
  throw archive_error(name_of(array.id()) + " is an array of " + array.type() + ", not of " +
                      std::string(wanted));
}

void require_elements(std::size_t count) {
  if (count == 0) throw usage_error("create_array: the shape has no elements");
  if (count > std::numeric_limits<std::uint32_t>::max())
    throw usage_error("create_array: more than 2^32 - 1 elements; use a sparse index");
}

void throw_not_insertable(bool exists) {
  throw usage_error(exists ? "insert: the element exists"
                           : "insert: the array takes no more elements; make it with "
                             "create_empty_array or create_sparse_array, and insert before "
                             "done_inserting");
}

usage_error not_in_section(const std::string& chare) {
  return usage_error(chare + " contributes to a section that does not contain it");
}

void throw_twice_in_section(const std::string& chare) {
  throw usage_error("make_section: " + chare + " is named twice");
}

void throw_outside(const std::string& array, const std::string& index, const std::string& extent) {
  throw usage_error("array " + array + " has no element " + index + ": its shape is " + extent);
}

}  // namespace starling::detail
