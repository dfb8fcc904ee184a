// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/exported_memory.hpp>

#include <optional>

#include <starling/device/detail/memory_access.hpp>
#include <starling/device/device.hpp>
#include <starling/objects/detail/object_space.hpp>

namespace starling::detail {
namespace {

thread_local exported_memory::scope* t_writing = nullptr;
thread_local imported_memory::scope* t_reading = nullptr;

device& device_here() { return devices(*runtime::current()).here(); }

}  // namespace

// --- the sender

exported_memory::scope::scope(const output_archive& ar, exported_memory& to) noexcept
    : m_archive(ar), m_to(to), m_outer(std::exchange(t_writing, this)) {}
exported_memory::scope::~scope() { t_writing = m_outer; }

bool exported_memory::add(const output_archive& ar, const void* from, std::size_t bytes,
                          stream_state* order) {
  // While a state is written, messages to other ranks may be written, too, to other archives.
  return t_writing != nullptr && &t_writing->m_archive == &ar && bytes >= worth_exporting &&
         t_writing->m_to.add(from, bytes, order);
}

bool exported_memory::add(const void* from, std::size_t bytes, stream_state* order) {
  const std::optional<memory_reach> reach = m_job->reach_of_memory(m_to);
  if (!reach) return false;
  const auto name = device_here().export_memory(from);
  if (!name || name->reach < *reach) return false;
  finish_work(order);
  m_pieces.push_back({*name, bytes});
  m_addresses.push_back(from);
  return true;
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
      : m_exported(std::move(exported)), m_make(std::move(make)), m_owner(std::move(owner)) {}

  void deliver(input_archive& ar) override {
    const auto is_read = ar.read<bool>();
    if (is_read) return;
    job& j = *m_exported->m_job;
    j.note_unmapped(m_exported->m_to);
    m_exported->read_contents();
    j.send(m_exported->m_to, m_make(*m_exported));
  }
  void fail(const std::exception_ptr&) noexcept override {}

 private:
  std::shared_ptr<exported_memory> m_exported;
  message_maker m_make;
  std::shared_ptr<const void> m_owner;
};

void exported_memory::send_and_keep(exported_memory exported, message_maker make,
                                    std::shared_ptr<const void> owner) {
  job& j = *exported.m_job;
  const auto kept = std::make_shared<exported_memory>(std::move(exported));
  kept->m_answer_to = j.expect(std::make_unique<slot>(kept, make, std::move(owner)));
  try {
    j.send(kept->m_to, make(*kept));
  } catch (...) {
    j.forget(kept->m_answer_to.slot);
    throw;
  }
}

// --- the receiver

imported_memory::scope::scope(const input_archive& ar, imported_memory& from) noexcept
    : m_archive(ar), m_from(from), m_outer(std::exchange(t_reading, this)) {}
imported_memory::scope::~scope() { t_reading = m_outer; }

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

bool imported_memory::map() {
  if (m_exported.empty()) return true;
  for (const std::vector<std::byte>& c : m_contents)
    m_pieces.push_back({c.data(), c.size(), false});
  if (!m_contents.empty()) return true;
  try {
    device& here = device_here();
    for (const exported_piece& e : m_exported)
      m_pieces.push_back({static_cast<const std::byte*>(here.import_memory(e.name).data),
                          std::size_t(e.bytes), true});
    return true;
  } catch (const device_error&) {
    m_job->send(m_answer_to.rank, make_reply_message(m_answer_to, false));
    return false;
  }
}

void imported_memory::give_back() {
  if (m_answer_to.slot != 0) m_job->send(m_answer_to.rank, make_reply_message(m_answer_to, true));
}

imported_memory::piece imported_memory::take(const input_archive& ar) {
  if (t_reading == nullptr || &t_reading->m_archive != &ar)
    ar.refuse("buffer", "its kind of memory does not exist");
  imported_memory& from = t_reading->m_from;
  if (from.m_taken == from.m_pieces.size()) ar.refuse("buffer", "its elements were not exported");
  return from.m_pieces[from.m_taken++];
}

void imported_memory::read(void* to, const piece& from) {
  if (from.is_on_device)
    copy_memory(to, from.data, from.bytes);
  else
    write_memory(memory_kind::device, to, from.data, from.bytes);
}

}  // namespace starling::detail
