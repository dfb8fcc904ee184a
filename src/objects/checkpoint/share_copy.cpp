// SPDX-License-Identifier: Apache-2.0
#include "objects/checkpoint/share_copy.hpp"

#include <utility>

#include <fmt/format.h>

#include "objects/checkpoint/share_reader.hpp"

namespace starling::detail {

share_copy::share_copy(std::string folder, std::uint64_t number, std::uint32_t rank,
                       file_system& files)
    : m_folder(std::move(folder), files), m_files(files), m_number(number), m_rank(rank),
      m_path(m_folder.folder_of(number) + "/" + share_name(rank)) {}

share_copy::~share_copy() {
  m_sink.reset();
  if (m_is_finished) return;
  m_files.remove_file(m_path);                          // renamed, but refused afterwards
  m_files.remove_folder(m_folder.folder_of(m_number));  // succeeds if it has no other files
}

template <class F>
void share_copy::call(F f) {
  if (m_failed) std::rethrow_exception(m_failed);
  try {
    f();
  } catch (...) {
    m_failed = std::current_exception();
    m_sink.reset();
    m_waiting.clear();
    throw;
  }
}

void share_copy::append(std::uint64_t offset, owned_bytes piece) {
  call([&] {
    if (m_sink == nullptr) {
      m_folder.make(m_number);
      m_sink = std::make_unique<file_sink>(m_files, m_path, m_folder.spare_of(m_rank));
    }
    m_waiting.emplace(offset, std::move(piece));
    for (auto at = m_waiting.begin(); at != m_waiting.end() && at->first == m_written;
         at = m_waiting.erase(at)) {
      m_sink->write(at->second.bytes);
      m_written += at->second.bytes.size();
    }
  });
}

void share_copy::finish(const share_summary& expected) {
  call([&] {
    if (m_sink == nullptr || m_written != expected.size)
      refuse(checkpoint_fault::torn, m_path,
             fmt::format("{} of {} bytes of the copy have arrived", m_written, expected.size));
    m_sink->commit();
    m_sink.reset();
    if (share_reader(std::make_unique<file_source>(m_path)).summary() != expected)
      refuse(checkpoint_fault::damaged, m_path, "the copy differs from the share");
    m_is_finished = true;
  });
}

}  // namespace starling::detail
