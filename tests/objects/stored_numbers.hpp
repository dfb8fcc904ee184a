// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <starling/core.hpp>
#include <starling/device.hpp>
#include <starling/objects.hpp>

namespace starling_test {

/// Device memory with the numbers from `first` on.
class stored_numbers {
 public:
  starling::task<> fill(std::size_t count, std::uint64_t first) {
    m_at = starling::devices(*starling::runtime::current()).here().make_stream();
    m_memory = m_at.device().allocate<std::uint64_t>(starling::memory_kind::device, count, m_at);
    std::vector<std::uint64_t> from(count);
    std::iota(from.begin(), from.end(), first);
    m_at.copy(m_memory, from);
    co_await m_at.completion();
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(m_memory);
    if constexpr (Archive::is_reading) {
      m_at = starling::devices(*starling::runtime::current()).here().make_stream();
      m_memory.release_on(m_at);
    }
  }
  starling::task<bool> has(std::size_t count, std::uint64_t first) {
    std::vector<std::uint64_t> found(m_memory.size()), expected(count);
    m_at.copy(found, std::as_const(m_memory).span());
    co_await m_at.completion();
    std::iota(expected.begin(), expected.end(), first);
    co_return found == expected;
  }

  starling::task<bool> is(std::size_t count, std::uint64_t value) {
    std::vector<std::uint64_t> found(m_memory.size());
    m_at.copy(found, std::as_const(m_memory).span());
    co_await m_at.completion();
    co_return found == std::vector<std::uint64_t>(count, value);
  }

 private:
  starling::stream m_at;
  starling::buffer<std::uint64_t> m_memory;
};

}  // namespace starling_test
