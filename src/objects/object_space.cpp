// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <limits>
#include <new>

#include <starling/core/error.hpp>
#include <starling/objects.hpp>

namespace starling::detail {
namespace {

constinit thread_local chare_core::birth t_birth{};

std::string text_of_error(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

/// Of the messages left over at the end.
constexpr std::size_t most_named = 5;

std::string text_of(const std::source_location& place) {
  return std::string(place.file_name()) + ":" + std::to_string(place.line());
}

std::vector<worker*> workers_of(runtime& rt) {
  std::vector<worker*> result;
  for (unsigned w = 0; w < rt.worker_count(); ++w) result.push_back(&rt.on_worker(w).native());
  return result;
}

}  // namespace

void chare_core::announce(const birth& next) noexcept { t_birth = next; }

chare_core::birth chare_core::announced() noexcept { return std::exchange(t_birth, {}); }

chare_core::chare_core(const birth& mine, const std::source_location& defined_at)
    : m_state{mine.part, 0, mine.first_reduction, 0, false, {}, nullptr} {
  if (mine.part == nullptr)
    throw usage_error(
        "a chare made by hand: create_array makes chares, so that messages find them");
  mine.part->defined_at = defined_at;
}

// --- the elements of one worker

void array_part::add(chare_core& made) {
  elements.push_back(&made);
  made.native().position = static_cast<std::uint32_t>(elements.size() - 1);
}

void array_part::remove(chare_core& gone) noexcept {
  const chare_core::state& s = gone.native();
  elements[s.position] = elements.back();
  elements[s.position]->native().position = s.position;
  elements.pop_back();
  reductions->leave(s.reductions);
}

void array_part::replay_early() noexcept {
  for (std::size_t n = early.size(); n > 0; --n) resume_here(*early.pop());
}

void refuse_second_reply() noexcept {
  end_run_and_close(
      *worker::current(),
      std::make_exception_ptr(usage_error(
          "two results for one reply: make_reply serves one reduction, make one for each")));
}

// --- the array

array_base::array_base(object_space& space, std::string_view type)
    : m_space(space), m_type(type), m_reductions(m_type, space.workers()),
      m_parts(space.workers().size()) {
  for (std::uint32_t w = 0; w < m_parts.size(); ++w) {
    m_parts[w].array = this;
    m_parts[w].home = space.workers()[w];
    m_parts[w].index = w;
    m_parts[w].reductions = &m_reductions.site(w);
  }
}

array_base::~array_base() {
  for (array_part& p : m_parts)
    while (promise_base* m = p.early.pop()) work_item::of(*m).discard();
}

void array_base::fail(const std::string& chare, const entry_info& entry,
                      const std::exception_ptr& cause, const std::source_location& awaited_last) {
  if (is_closed()) return;
  std::string text = chare + "." + std::string(entry.name) + ": " + text_of_error(cause);
  const std::source_location& type = part(worker::current()->index()).defined_at;
  if (type.line() != 0) {
    text += " (the chare is defined at " + text_of(type);
    if (awaited_last.line() != 0) text += "; the method awaited last at " + text_of(awaited_last);
    text += ")";
  }
  m_space.end_run(std::make_exception_ptr(entry_error(text, cause)));
}

void array_base::list_lost_messages(std::string& text, std::size_t& count) const {
  if (is_closed()) return;
  for (const array_part& p : m_parts) {
    if (const std::size_t n = p.early.size() + count_early(p); n != 0 && ++count <= most_named)
      text += (count > 1 ? ", " : "") + std::to_string(n) + " to elements of " + m_type +
              " that were never inserted";
    for (chare_core* c : p.elements) {
      if (const std::size_t n = count_left_over_offers(*c); n != 0 && ++count <= most_named)
        text += (count > 1 ? ", " : "") + std::to_string(n) + " in channels to " + name_of(*c);
      c->native().mail.for_each_kept([&](const awaited_message& m) {
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

std::exception_ptr array_base::lost() {
  return std::make_exception_ptr(
      usage_error("destroyed while a message was there that nobody had awaited"));
}

// --- all arrays

object_space::object_space(runtime& owner) : m_workers(workers_of(owner)) {}

object_space::~object_space() {
  try {
    std::string text;
    std::size_t count = 0;
    for (const auto& a : m_arrays) a->list_lost_messages(text, count);
    if (count != 0)
      std::fprintf(stderr, "starling: messages left over, %zu: %s%s\n", count, text.c_str(),
                   count > most_named ? ", …" : "");
  } catch (const std::bad_alloc&) {  // then nobody is told
  }
  for (const auto& a : m_arrays) a->close();  // messages of destructors go to nobody
}

void end_run_and_close(worker& here, const std::exception_ptr& error) noexcept {
  if (runtime* rt = runtime::current())
    rt->service<object_space>().end_run(error);
  else
    end_run(here, error);
}

void object_space::end_run(const std::exception_ptr& error) noexcept {
  // First: who waits for the run must hear of this, not of an answer that is dropped for it.
  detail::end_run(*worker::current(), error);
  std::lock_guard lock(m_mutex);
  for (const auto& a : m_arrays) a->close();
}

void require_elements(std::size_t count) {
  if (count == 0) throw usage_error("create_array: the shape has no elements");
  if (count > std::numeric_limits<std::uint32_t>::max())
    throw usage_error("create_array: more than 2^32 - 1 elements; use a sparse index");
}

void require_worker_number(std::size_t worker, std::size_t count) {
  if (worker < count) return;
  throw usage_error("placement: the map of an array names worker " + std::to_string(worker) +
                    ", and there are " + std::to_string(count));
}

void throw_not_insertable(bool exists) {
  throw usage_error(exists ? "insert: the element exists"
                           : "insert: the array takes no more elements; make it with "
                             "create_empty_array or create_sparse_array, and insert before "
                             "done_inserting");
}

void throw_not_in_section(const std::string& chare) {
  throw usage_error(chare + " contributes to a section that it is no element of");
}

void throw_twice_in_section(const std::string& chare) {
  throw usage_error("make_section: " + chare + " is named twice");
}

void throw_outside(const std::string& array, const std::string& index, const std::string& extent) {
  throw usage_error("array " + array + " has no element " + index + ": its shape is " + extent);
}

}  // namespace starling::detail

namespace starling {

run_exited::run_exited(int status)
    : error("the run was ended by exit_run(" + std::to_string(status) + ")"), m_status(status) {}

void exit_run(int status) {
  runtime* rt = runtime::current();
  if (rt == nullptr) throw usage_error("exit_run: call it from a task or an entry method");
  rt->service<detail::object_space>().end_run(std::make_exception_ptr(run_exited(status)));
}

int run(runtime& rt, task<> main_task) {
  try {
    rt.sync_wait(std::move(main_task));
  } catch (const run_exited& e) {
    return e.status();
  }
  return 0;
}

}  // namespace starling
