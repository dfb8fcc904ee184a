// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include <starling/resident/detail/far_group.hpp>
#include <starling/resident/detail/host_group.hpp>
#include <starling/resident/detail/program_code.hpp>
#include <starling/resident/system.hpp>

/// The stand-in for `reach::nvshmem` on the host, for .cpp files:
///
///     #include <starling/resident/interop/host_far.hpp>
///     #include "my_chares.hpp"
///     template struct starling::resident::host::instantiate_far<my_program>;
namespace starling::resident::host {

/// The reference implementation of the `Way` of `detail::far_group`. The memory is mapped, but only
/// this class dereferences far addresses. It delays puts until the next fence, so that tests detect
/// a missing fence.
class held_back {
 public:
  template <class T>
  [[nodiscard]] static detail::far_address own(T* p) noexcept {
    return {0, reinterpret_cast<std::uint64_t>(p)};
  }
  static void put(const detail::far_address& to, const std::byte* from, std::uint32_t bytes) {
    if (bytes != 0) puts().push_back({at<std::byte>(to), {from, from + bytes}});
  }
  static void get(std::byte* to, const detail::far_address& from, std::uint64_t bytes) noexcept {
    std::memcpy(to, at<std::byte>(from), bytes);
  }
  static void fence() noexcept {
    while (!puts().empty()) {  // in reverse order: puts are unordered
      const one& last = puts().back();
      std::memcpy(last.to, last.bytes.data(), last.bytes.size());
      puts().pop_back();
    }
  }
  static void quiet() noexcept { fence(); }
  template <class T>
  static void see(const T*) noexcept {}
  template <class T>
  static void store(const detail::far_address& to, T value) noexcept {
    detail::host_group::store_release(at<T>(to), value);
  }
  static void set_bits(const detail::far_address& mask, std::uint64_t bits) noexcept {
    detail::host_group::set_credit_bits(at<std::uint64_t>(mask), bits);
  }
  static std::uint64_t clear_bits(const detail::far_address& mask, std::uint64_t bits) noexcept {
    return detail::host_group::clear_bits(at<std::uint64_t>(mask), bits);
  }
  [[nodiscard]] static bool set_once(const detail::far_address& flag) noexcept {
    return detail::host_group::set_once(at<std::uint32_t>(flag));
  }

 private:
  struct one {
    std::byte* to;
    std::vector<std::byte> bytes;
  };
  /// The delayed puts of the calling thread, the leader of one scheduler.
  [[nodiscard]] static std::vector<one>& puts() noexcept {
    static thread_local std::vector<one> all;
    return all;
  }
  template <class T>
  [[nodiscard]] static T* at(const detail::far_address& p) noexcept {
    return reinterpret_cast<T*>(p.address);
  }
};

using far_host_group = detail::far_group<detail::host_group, held_back>;

/// `template struct starling::resident::host::instantiate_far<Program>;` in a .cpp file compiles a
/// program for `reach::nvshmem` on the host.
template <class Program>
struct instantiate_far {
  static const bool entered;
};
template <class Program>
const bool instantiate_far<Program>::entered = [] {
  detail::code_of<Program>.make_far.store(&detail::make_host_scheduler<Program, far_host_group>,
                                          std::memory_order_relaxed);
  return true;
}();

}  // namespace starling::resident::host
