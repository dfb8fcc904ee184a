// SPDX-License-Identifier: Apache-2.0
#include "stop_request.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <starling/net/bootstrap.hpp>

#include "net/bootstrap/local/unique_fd.hpp"

namespace starling::launch {

using detail::change_state;
using detail::stop_word;

stop_request::stop_request(const std::string& path) {
  const detail::unique_fd file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  void* shared = MAP_FAILED;
  if (file && ::ftruncate(file.get(), sizeof(stop_word)) == 0)
    shared = ::mmap(nullptr, sizeof(stop_word), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (shared == MAP_FAILED)
    throw bootstrap_error(
        fmt::format("{} cannot be made and mapped: {}", path, std::strerror(errno)));
  m_word = new (shared) stop_word{};
  m_word->mark = stop_word::expected_mark;
}

stop_request::~stop_request() { ::munmap(m_word, sizeof(stop_word)); }

bool stop_request::has_checkpoints() const noexcept {
  return m_word->has_checkpoints.load(std::memory_order_acquire) != 0;
}

int stop_request::signal() const noexcept {
  // Relaxed: `has_checkpoints` publishes it.
  return has_checkpoints() ? m_word->signal.load(std::memory_order_relaxed) : 0;
}

stop_state stop_request::state() const noexcept {
  return static_cast<stop_state>(m_word->state.load(std::memory_order_acquire));
}

void stop_request::make() noexcept {
  if (!change_state(*m_word, stop_state::none, stop_state::wanted))
    static_cast<void>(change_state(*m_word, stop_state::failed, stop_state::wanted));
}

bool stop_request::withdraw() noexcept {
  return change_state(*m_word, stop_state::wanted, stop_state::none) ||
         change_state(*m_word, stop_state::failed, stop_state::none) || state() == stop_state::none;
}

std::uint64_t stop_request::number() const noexcept {
  // Relaxed, as below: `state` publishes it.
  return m_word->number.load(std::memory_order_relaxed);
}

bool stop_request::is_by_signal() const noexcept {
  return m_word->by_signal.load(std::memory_order_relaxed) != 0;
}

}  // namespace starling::launch
