// SPDX-License-Identifier: Apache-2.0
#include "sycl_stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include <starling/core/error.hpp>

#include "sycl_error.hpp"
#include "sycl_event.hpp"

namespace starling::detail {

namespace {

namespace experimental = ::sycl::ext::oneapi::experimental;

::sycl::event& native_of(const std::shared_ptr<backend_event>& point) noexcept {
  return static_cast<sycl_event&>(*point).native;
}

constexpr std::size_t first_copy = 4096;  // bytes, a multiple of every element size

template <class Unit>
void fill_units(::sycl::queue& queue, void* dst, const void* value, std::size_t bytes) {
  Unit unit;
  std::memcpy(&unit, value, sizeof unit);
  experimental::submit(queue, [&](::sycl::handler& h) {
    h.fill(static_cast<Unit*>(dst), unit, bytes / sizeof unit);
  });
}

}  // namespace

sycl_stream::sycl_stream(sycl_resources& shared, ::sycl::queue work,
                         starling::sycl::async_errors errors)
    : m_shared(&shared), m_queue(std::move(work)),
      m_teller(make_teller(shared.context, shared.device)), m_errors(std::move(errors)),
      m_arguments(m_queue) {}

void sycl_stream::launch(const kernel_call& call) {
  const device_launcher launcher = call.entry->launcher(backend_kind::sycl);
  if (launcher == nullptr) throw usage_error(missing_launcher(*call.entry, backend_kind::sycl));
  launcher(call, this);
}

void sycl_stream::copy(std::span<const transfer> transfers, member_observer*) {
  if (m_capture) {
    m_capture->operations.push_back(
        [list = std::vector<transfer>(transfers.begin(), transfers.end())](sycl_stream& s) {
          s.copy(list, nullptr);
        });
    return;
  }
  guarded("memcpy", [&] {
    for (const transfer& t : transfers) experimental::memcpy(m_queue, t.dst, t.src, t.bytes);
  });
}

void sycl_stream::fill(void* dst, const void* value, std::size_t element, std::size_t count) {
  std::array<unsigned char, 16> kept{};
  std::memcpy(kept.data(), value, element);
  if (m_capture) {
    m_capture->operations.push_back(
        [=](sycl_stream& s) { s.fill(dst, kept.data(), element, count); });
    return;
  }
  guarded("fill", [&] {
    const std::size_t bytes = element * count;
    if (!m_shared->reaches_pageable &&
        ::sycl::get_pointer_type(dst, m_shared->context) == ::sycl::usm::alloc::unknown)
      return fill_by_copies(dst, kept.data(), element, bytes);
    switch (element) {
      case 1:
        return fill_units<std::uint8_t>(m_queue, dst, value, bytes);
      case 2:
        return fill_units<std::uint16_t>(m_queue, dst, value, bytes);
      case 4:
        return fill_units<std::uint32_t>(m_queue, dst, value, bytes);
      case 8:
        return fill_units<std::uint64_t>(m_queue, dst, value, bytes);
      default:
        return fill_units<std::array<std::uint64_t, 2>>(m_queue, dst, value, bytes);
    }
  });
}

/// Fills memory that only copies reach. The first bytes are copied from memory that the device
/// reads; each further copy doubles the filled part.
void sycl_stream::fill_by_copies(void* dst, const void* value, std::size_t element,
                                 std::size_t bytes) {
  std::array<std::byte, first_copy> pattern;
  for (std::size_t at = 0; at < pattern.size(); at += element)
    std::memcpy(pattern.data() + at, value, element);
  auto* const to = static_cast<std::byte*>(dst);
  std::size_t done = std::min(bytes, pattern.size());
  experimental::memcpy(m_queue, to, m_arguments.keep(pattern.data(), done), done);
  for (std::size_t more = 0; done < bytes; done += more) {
    more = std::min(done, bytes - done);
    experimental::memcpy(m_queue, to + done, to, more);
  }
}

void sycl_stream::record(const std::shared_ptr<backend_event>& point) {
  guarded("ext_oneapi_submit_barrier",
          [&] { native_of(point) = m_queue.ext_oneapi_submit_barrier(); });
}

void sycl_stream::wait(const std::shared_ptr<backend_event>& point, dependency what) {
  wait_until(native_of(point), what);
}

void sycl_stream::wait_native(void* event) {
  wait_until(*static_cast<::sycl::event*>(event), dependency::data);
}

/// Makes later work wait for `point`. A failure that has already happened is thrown. A later
/// failure fails the barrier, but not every driver passes it on to the work after the barrier.
void sycl_stream::wait_until(::sycl::event& point, dependency what) {
  guarded("wait for an event", [&] {
    if (!is_over(point)) return static_cast<void>(m_queue.ext_oneapi_submit_barrier({point}));
    if (what == dependency::data) point.wait();
  });
}

void sycl_stream::mark(const completion_mark& request) {
  guarded("request for completion", [&] {
    if (request.foreign || request.how == completion_kind::callback)
      return report_at_end_of_batch(request);
    if (request.how == completion_kind::event) return record(request.point);
    // One aligned element of eight bytes, which devices store in one access, after all work that
    // the queue received before.
    auto* const word = reinterpret_cast<std::uint64_t*>(request.word);
    fill_units<std::uint64_t>(m_queue, word, &request.sequence, sizeof *word);
  });
}

void sycl_stream::report_at_end_of_batch(const completion_mark& request) {
  const bool by_event = request.how == completion_kind::event;
  const ::sycl::event told =
      report_after(m_teller, m_queue.ext_oneapi_submit_barrier(),
                   {request.listener, request.sequence, !by_event, m_errors, m_shared->home});
  if (by_event) native_of(request.point) = told;
}

void sycl_stream::synchronize() {
  // Waits for the report queue in any case, because reports refer to this stream's listener.
  const auto both = [this] {
    try {
      m_queue.wait();
    } catch (...) {
      m_teller.wait();
      throw;
    }
    m_teller.wait();
  };
  guarded("queue::wait", both);
}

void sycl_stream::launch_graph(const std::shared_ptr<backend_graph>& recording) {
  for (const auto& operation : static_cast<sycl_graph&>(*recording).operations) operation(*this);
}

bool sycl_stream::is_idle() {
  return guarded("ext_oneapi_empty", [this] { return m_queue.ext_oneapi_empty(); });
}

std::exception_ptr sycl_stream::query_error() noexcept {
  try {
    static_cast<void>(is_idle());
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;  // null: asynchronous errors are reported with the mark of their stretch
}

}  // namespace starling::detail
