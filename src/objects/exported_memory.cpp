// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/exported_memory.hpp>

#include <functional>
#include <optional>

#include <starling/device/detail/memory_access.hpp>
#include <starling/device/device.hpp>
#include <starling/objects/detail/object_space.hpp>

namespace starling::detail {
namespace {

/// Times for which the sender of exported memory stays awake: a part for the messages, and the copy
/// at 20 GB/s, less than devices have by PCIe 4 and later.
constexpr std::uint64_t message_ns = 200'000;
constexpr std::uint64_t bytes_per_ns = 20;

template <class Archive, class Of>
thread_local archive_scope<Archive, Of>* innermost = nullptr;

bool lies_in(std::span<const std::byte> object, const void* part) noexcept {
  const auto* const p = static_cast<const std::byte*>(part);
  return std::less_equal<>()(object.data(), p) && std::less<>()(p, object.data() + object.size());
}

}  // namespace

template <class Archive, class Of>
archive_scope<Archive, Of>::archive_scope(const Archive& ar, Of& of) noexcept
    : m_archive(ar), m_of(of), m_outer(std::exchange(innermost<Archive, Of>, this)) {}

template <class Archive, class Of>
archive_scope<Archive, Of>::~archive_scope() {
  innermost<Archive, Of> = m_outer;
}

template <class Archive, class Of>
Of* archive_scope<Archive, Of>::find(const Archive& ar) noexcept {
  const archive_scope* const s = innermost<Archive, Of>;
  return s != nullptr && &s->m_archive == &ar ? &s->m_of : nullptr;
}

template class archive_scope<output_archive, exported_element>;
template class archive_scope<input_archive, imported_memory>;

// --- the sender

bool exported_memory::add(const output_archive& ar, const void* holder, const void* memory,
                          std::size_t bytes, stream_state* order) {
  const exported_element* const e = exporting_scope::find(ar);
  return e != nullptr && bytes >= worth_exporting && lies_in(e->object, holder) &&
         e->to.add(memory, bytes, order);
}

bool exported_memory::add(const void* memory, std::size_t bytes, stream_state* order) {
  const job& j = *m_space->current_job();
  const std::optional<memory_reach> reach = j.reach_of_memory(j.location_of(m_to).rank);
  if (!reach || !m_space->can_map(m_to)) return false;
  const auto name = device_here().export_memory(memory);
  if (!name || name->reach < *reach) return false;
  finish_work(order);
  m_pieces.push_back({*name, bytes});
  m_addresses.push_back(memory);
  return true;
}

std::uint64_t exported_memory::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const exported_piece& p : m_pieces) sum += p.bytes;
  return sum;
}

void exported_memory::send_message(message m) const {
  job& j = *m_space->current_job();
  j.send(j.location_of(m_to).rank, std::move(m));
}

void exported_memory::read_contents() {
  for (std::size_t i = 0; i < m_pieces.size(); ++i) {
    std::vector<std::byte>& to = m_contents.emplace_back();
    to.reserve(m_pieces[i].bytes);
    const auto append = [&to](std::span<const std::byte> part) {
      to.insert(to.end(), part.begin(), part.end());
    };
    read_memory(memory_kind::device, m_addresses[i], m_pieces[i].bytes, nullptr, append);
  }
  m_answer_to = {};
}

/// Keeps the memory until the receiver answers.
class exported_memory::slot final : public reply_slot {
 public:
  slot(std::shared_ptr<exported_memory> exported, message_maker make,
       std::shared_ptr<const void> owner)
      : m_exported(std::move(exported)), m_make(std::move(make)), m_owner(std::move(owner)),
        m_awake(*m_exported->m_space->current_job(),
                message_ns + m_exported->bytes() / bytes_per_ns) {}
  slot(const slot&) = delete;
  slot& operator=(const slot&) = delete;
  ~slot() override {
    if (m_owner == nullptr) return;
    try {
      m_exported->m_space->keep_until_end(std::move(m_owner));
    } catch (const std::bad_alloc&) {  // deletes the element now, on this thread
    }
  }

  void deliver(input_archive& ar) override {
    const auto result = ar.read<import_result>();
    if (result == import_result::done) return m_owner.reset();
    if (result == import_result::unmapped) m_exported->m_space->note_unmapped(m_exported->m_to);
    m_exported->read_contents();
    m_owner.reset();  // so that this device has room for an element that comes in exchange
    m_exported->send_message(m_make(*m_exported));
  }
  void fail(const std::exception_ptr&) noexcept override {}

 private:
  std::shared_ptr<exported_memory> m_exported;
  message_maker m_make;
  std::shared_ptr<const void> m_owner;
  awake_scope m_awake;
};

void exported_memory::send_and_keep(exported_memory exported, message_maker make,
                                    std::shared_ptr<const void> owner) {
  job& j = *exported.m_space->current_job();
  const auto kept = std::make_shared<exported_memory>(std::move(exported));
  kept->m_answer_to = j.expect(std::make_unique<slot>(kept, make, std::move(owner)));
  try {
    kept->send_message(make(*kept));
  } catch (...) {
    j.forget(kept->m_answer_to.slot);
    throw;
  }
}

// --- the receiver

imported_memory::imported_memory(const received_call& a, input_archive& ar)
    : m_job(a.space().current_job()) {
  ar(m_exported);
  if (m_exported.empty()) return;
  m_answer_to = read_reply_address(ar);
  ar(m_contents);
  const bool is_answered = m_answer_to.slot != 0;
  a.require(is_answered ? m_contents.empty() && m_answer_to.rank == a.from()
                        : m_contents.size() == m_exported.size(),
            "exported memory is invalid");
}

bool imported_memory::read() {
  for (const std::vector<std::byte>& c : m_contents) {
    buffer<std::byte>& to = m_read.emplace_back(allocator_here(memory_kind::device), c.size());
    write_memory(memory_kind::device, to.data(), c.data(), c.size());
  }
  if (m_answer_to.slot == 0) return true;
  import_result failure{};
  try {
    map_and_copy();
    return true;
  } catch (const out_of_memory&) {
    failure = import_result::full;
  } catch (const device_error&) {
    failure = import_result::unmapped;
  }
  m_read.clear();
  answer(failure);
  return false;
}

void imported_memory::map_and_copy() {
  std::vector<const void*> mapped;
  for (const exported_piece& e : m_exported)
    mapped.push_back(device_here().import_memory(e.name).data);
  for (const exported_piece& e : m_exported)
    m_read.emplace_back(allocator_here(memory_kind::device), std::size_t(e.bytes));
  for (std::size_t i = 0; i < mapped.size(); ++i)
    copy_memory(m_read[i].data(), mapped[i], m_read[i].size());
}

void imported_memory::answer(import_result what) {
  if (m_answer_to.slot != 0) m_job->send(m_answer_to.rank, make_reply_message(m_answer_to, what));
}

buffer<std::byte> imported_memory::take(const input_archive& ar) {
  imported_memory* const from = importing_scope::find(ar);
  if (from == nullptr) ar.refuse("buffer", "its kind of memory does not exist");
  if (from->m_taken == from->m_read.size()) ar.refuse("buffer", "its elements were not exported");
  return std::move(from->m_read[from->m_taken++]);
}

}  // namespace starling::detail
