// SPDX-License-Identifier: Apache-2.0
#include <limits>

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

std::vector<worker*> workers_of(runtime& rt) {
  std::vector<worker*> result;
  for (unsigned w = 0; w < rt.worker_count(); ++w) result.push_back(&rt.on_worker(w).native());
  return result;
}

}  // namespace

void chare_core::announce(const birth& next) noexcept { t_birth = next; }

chare_core::birth chare_core::announced() noexcept { return std::exchange(t_birth, {}); }

chare_core::chare_core(const birth& mine) : m_state{mine.part, 0, 0, 0, false, {}} {
  if (mine.part == nullptr)
    throw usage_error(
        "a chare made by hand: create_array makes chares, so that messages find them");
}

// --- the elements of one worker

void array_part::add(chare_core& made) {
  elements.push_back(&made);
  made.native().position = static_cast<std::uint32_t>(elements.size() - 1);
  made.native().reductions = reductions->join();
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

// --- the array

array_base::array_base(object_space& space, std::string_view type)
    : m_type(type), m_reductions(m_type, space.workers()), m_parts(space.workers().size()) {
  for (std::uint32_t w = 0; w < m_parts.size(); ++w) {
    m_parts[w].array = this;
    m_parts[w].home = space.workers()[w];
    m_parts[w].index = w;
    m_parts[w].reductions = &m_reductions.site(w);
  }
}

array_base::~array_base() = default;

void array_base::fail(const std::string& chare, const entry_info& entry,
                      const std::exception_ptr& cause) noexcept {
  const std::string text = chare + "." + std::string(entry.name) + ": " + text_of_error(cause);
  end_run(*worker::current(), std::make_exception_ptr(entry_error(text, cause)));
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
object_space::~object_space() = default;

void require_elements(std::size_t count) {
  if (count == 0) throw usage_error("create_array: the shape has no elements");
  if (count > std::numeric_limits<std::uint32_t>::max())
    throw usage_error("create_array: more than 2^32 - 1 elements; use a sparse index");
}

void require_worker_number(std::size_t worker, std::size_t count) {
  if (worker < count) return;
  throw usage_error("create_array: the map names worker " + std::to_string(worker) +
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
