// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/remote.hpp>

#include <string>
#include <vector>

#include <starling/core/detail/worker.hpp>
#include <starling/core/error.hpp>
#include <starling/objects/callback.hpp>
#include <starling/objects/detail/array_base.hpp>
#include <starling/objects/detail/job.hpp>
#include <starling/objects/detail/remote_entry.hpp>
#include <starling/objects/reduction.hpp>

namespace starling::detail {
namespace {

/// Written while the program is loaded, and by shared objects that are loaded later.
struct function_table {
  std::mutex lock;
  std::vector<remote_function> all;
  // The functions on which the ranks agreed when they met: messages can name these. Release and
  // acquire: publishes the complete list. Replaced lists are kept, as readers may still use them.
  std::atomic<const std::vector<remote_function>*> agreed{nullptr};
};

function_table& functions() {
  // Made at first use, which may be in a static initialiser of another file.
  static function_table* const table = new function_table;
  return *table;
}

constinit thread_local object_space* t_space = nullptr;
constinit thread_local job* t_written_for = nullptr;

/// Scope in which proxies that the calling thread reads from a message belong to space `s`.
class within_space {
 public:
  explicit within_space(object_space& s) noexcept : m_before(std::exchange(t_space, &s)) {}
  within_space(const within_space&) = delete;
  within_space& operator=(const within_space&) = delete;
  ~within_space() { t_space = m_before; }

 private:
  object_space* m_before;
};

template <class F>
F* as(const remote_function& f) noexcept {
  return reinterpret_cast<F*>(f.address);
}

}  // namespace

std::uint32_t add_remote_function(const remote_function& f) {
  const std::lock_guard guard(functions().lock);
  functions().all.push_back(f);
  return static_cast<std::uint32_t>(functions().all.size() - 1);
}

const remote_function& remote_function_at(std::uint32_t number, remote_function::kind kind) {
  const auto* all = functions().agreed.load(std::memory_order_acquire);
  if (all == nullptr || number >= all->size() || (*all)[number].what != kind)
    throw archive_error("a message for function " + std::to_string(number) +
                        ", which does not exist: was code loaded after the ranks had met?");
  return (*all)[number];
}

std::string_view name_of_remote_function(std::uint32_t number) {
  const std::lock_guard guard(functions().lock);
  return functions().all.at(number).name;
}

remote_function find_remote_function(std::string_view name, remote_function::kind kind) {
  const std::lock_guard guard(functions().lock);
  for (const remote_function& f : functions().all)
    if (f.what == kind && f.name == name) return f;
  throw archive_error("this program has no " + std::string(name));
}

remote_function_list agree_on_remote_functions() {
  const std::lock_guard guard(functions().lock);
  const auto* agreed = functions().agreed.load(std::memory_order_relaxed);
  if (agreed == nullptr || agreed->size() != functions().all.size())
    functions().agreed.store(new std::vector(functions().all), std::memory_order_release);
  std::uint32_t hash = empty_hash;
  for (const remote_function& f : functions().all)
    hash = hash_more(hash_more(hash, f.name), static_cast<std::uint64_t>(f.what));
  return {static_cast<std::uint32_t>(functions().all.size()), hash};
}

message pack_call(const called_function& f, const remote_way& way, const value_writer& values) {
  return pack_values(f, way, values);
}

message pack_call_for(job& j, const called_function& f, const remote_way& way,
                      const value_writer& values) {
  const writing_for here(j);
  return pack_call(f, way, values);
}

std::vector<std::byte> pack_numbered(std::uint32_t maker,
                                     function_ref<void(output_archive&)> write) {
  std::vector<std::byte> bytes;
  output_archive ar(bytes);
  save_value(ar, maker);
  write(ar);
  return bytes;
}

void throw_cannot_travel(std::string_view what, std::string_view type) {
  throw usage_error(std::string(what) + ": a value of type " + std::string(type) +
                    " cannot travel to other ranks: give it a `serialize` or a starling::codec "
                    "(see <starling/objects/codec.hpp>)");
}

void require_end(const input_archive& ar) {
  if (ar.left_over() != 0)
    throw archive_error("a message of another rank: " + std::to_string(ar.left_over()) +
                        " bytes are left behind its arguments");
}

object_space* set_receiving_space(object_space* s) noexcept { return std::exchange(t_space, s); }

object_space& receiving_space() {
  if (t_space == nullptr)
    throw usage_error(
        "a proxy, a callback or a read_only value is read outside of a message: it has a meaning "
        "among the ranks of one job only");
  return *t_space;
}

counted_owner make_target(input_archive& ar, const std::type_info& result) {
  const auto& f = remote_function_at(ar.read<std::uint32_t>(), remote_function::kind::target);
  if (*f.result != result) ar.refuse(f.name, "it takes results of another type");
  auto made = as<counted_owner(input_archive&)>(f)(ar);
  require_end(ar);
  return made;
}

std::unique_ptr<partial_result> make_share(input_archive& ar) {
  const auto& f = remote_function_at(ar.read<std::uint32_t>(), remote_function::kind::share);
  auto made = as<std::unique_ptr<partial_result>(input_archive&)>(f)(ar);
  require_end(ar);
  return made;
}

reduction_result read_result(input_archive& ar) {
  if (const auto error = ar.read<std::optional<portable_error>>()) {
    require_end(ar);
    return {.error = error->revive(receiving_space().rank())};
  }
  const auto& f = remote_function_at(ar.read<std::uint32_t>(), remote_function::kind::value);
  auto made = as<reduction_result(input_archive&)>(f)(ar);
  require_end(ar);
  return made;
}

void save_result(output_archive& ar, const reduction_result& r) {
  std::optional<portable_error> error;
  if (r.error) error = portable_error::of(r.error);
  save_value(ar, error);
  if (r.error) return;
  if (r.pack == nullptr) throw_cannot_travel("the result of a reduction", r.type->name());
  const std::vector<std::byte> packed = r.pack(*r.value.object());
  ar.write(packed.data(), packed.size());
}

void remote_tracks::run(received_call& a) {
  const auto [id] = read_arguments<object_id>(a);
  array_base& array = a.space().array(id);
  array.note_tracked(array.elsewhere(a.from()));
}

// --- received messages

namespace {
constexpr named_location received_call_name{"", "starling: a message of another rank"};
}

received_call::received_call(object_space& space, const checked_header& header,
                             received_message whole) noexcept
    : work_item(&run, &drop, &received_call_name), m_space(space), m_header(header),
      m_own(std::move(whole)), m_bytes(std::as_const(m_own.bytes).bytes()) {}

received_call::received_call(object_space& space, const checked_header& header,
                             std::shared_ptr<shared_received_message> whole,
                             std::span<const std::byte> bytes) noexcept
    : work_item(&run, &drop, &received_call_name), m_space(space), m_header(header),
      m_shared(std::move(whole)), m_bytes(bytes) {}

std::shared_ptr<const void> received_call::lend(void* self) {
  auto& a = *static_cast<received_call*>(self);
  if (a.m_shared == nullptr) return a.m_own.lend();
  const std::lock_guard guard(a.m_shared->lock);
  return a.m_shared->lend();
}

void received_call::leave_window() noexcept {
  if (m_shared == nullptr) return m_own.bytes.leave_window();
  const std::lock_guard guard(m_shared->lock);
  m_shared->bytes.leave_window();
}

void received_call::run(void* item) noexcept {
  auto* self = static_cast<received_call*>(item);
  auto& waiting = self->m_space.waiting_from(self->from(), self->priority());
  const bool is_held_up = !waiting.empty() && self->m_header.function->is_counted;
  if (!is_held_up && self->perform()) return delete self;
  self->leave_window();  // the object that it waits for may have to arrive through the same window
  waiting.push_back(self);
  self->m_space.count_stranded(1);
}

bool received_call::perform() noexcept {
  const within_space here(m_space);
  auto* const call = as<void(received_call&)>(*m_header.function);
  try {
    call(*this);
  } catch (const not_made_yet& what) {
    m_missing = what.id;
    return false;
  } catch (...) {
    m_space.end_run(blame(std::current_exception()));
  }
  return true;
}

void received_call::require(bool is_right, const char* otherwise) const {
  if (!is_right) throw archive_error(otherwise);
}

void received_call::require_first_worker() const {
  require(m_header.worker == 0, "it is for another worker than the first");
}

std::exception_ptr received_call::blame(const std::exception_ptr& cause) const noexcept {
  const auto origin = [this] {
    return "a message of rank " + std::to_string(from()) + " for " +
           std::string(m_header.function->name) + ": ";
  };
  try {
    std::rethrow_exception(cause);
  } catch (const archive_error& e) {
    return std::make_exception_ptr(archive_error(origin() + e.what()));
  } catch (const usage_error& e) {
    return std::make_exception_ptr(usage_error(origin() + e.what()));
  } catch (...) {
    return cause;
  }
}

void remote_result_error::run(received_call& a) {
  const auto [id, sequence, error] = read_arguments<object_id, std::uint32_t, portable_error>(a);
  const auto tree = a.space().reductions(id);
  a.require(a.from() == 0, "results of reductions come from rank 0");
  if (tree != nullptr) tree->tell(sequence, {.error = error.revive(a.from())});
}

// --- replies

writing_for::writing_for(job& j) noexcept : m_before(std::exchange(t_written_for, &j)) {}

writing_for::~writing_for() { t_written_for = m_before; }

job* current_job() noexcept {
  if (t_written_for != nullptr) return t_written_for;
  runtime* rt = runtime::current();
  return rt == nullptr ? nullptr : rt->service<object_space>().current_job();
}

job& require_job() {
  job* j = current_job();
  if (j == nullptr)
    throw usage_error("something is to be sent to another rank, and there is none (any more)");
  return *j;
}

void send_failure(job& by, const reply_address& to, const std::exception_ptr& error) noexcept {
  if (worker::current() == nullptr) return;  // the runtime ends: no waiter is left
  or_end_run(*worker::current(), [&] {
    by.send(to.rank, make_remote<failure_delivery>({to.worker, priority::high}, to.slot,
                                                   portable_error::of(error)));
  });
}

reply_address read_reply_address(input_archive& ar) {
  const auto to = ar.read<reply_address>();
  const job* j = receiving_space().current_job();
  const bool is_rank = to.rank >= 0 && to.rank < j->size();
  if (!is_rank || to.worker >= j->first_worker(to.rank + 1) - j->first_worker(to.rank))
    ar.refuse("where a result goes", "there is no such worker");
  return to;
}

}  // namespace starling::detail
