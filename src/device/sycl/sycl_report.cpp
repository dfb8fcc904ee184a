// SPDX-License-Identifier: Apache-2.0
#include "sycl_report.hpp"

#include <exception>
#include <memory>
#include <utility>

#include <starling/core/task.hpp>
#include <starling/device/interop/sycl/dpcpp.hpp>

#include "sycl_error.hpp"

namespace starling::detail {

namespace {

/// Returns the error that prevented a host task; bad_alloc without memory for the message.
std::exception_ptr failure_of(::sycl::event& end) noexcept {
  try {
    guarded("work before the end of a stretch", [&] { end.wait(); });
    throw device_error("SYCL: the runtime dropped the host task that tells the end of a stretch");
  } catch (...) {
    return std::current_exception();
  }
}

/// Reports the end of a stretch once: when the host task runs or, if SYCL drops the task, when its
/// last copy is destroyed.
class tale {
 public:
  tale(batch_report what, const ::sycl::event& end) : m_what(std::move(what)), m_end(end) {}
  tale(const tale&) = delete;
  tale& operator=(const tale&) = delete;
  ~tale() {
    if (!m_over) tell(failure_of(m_end));
  }
  void tell_of_end() noexcept {
    m_over = true;
    auto found = m_what.errors.take([this] { starling::sycl::detail::hand_out_errors(m_end); });
    if (found.strange) report_unhandled(*m_what.home, std::move(found.strange));
    tell(std::move(found.own));
  }
  void call_off() noexcept { m_over = true; }

 private:
  void tell(std::exception_ptr error) const noexcept {
    if (error) m_what.listener->failed(m_what.sequence, std::move(error));
    if (m_what.passes) m_what.listener->reached(m_what.sequence);
  }

  batch_report m_what;
  ::sycl::event m_end;
  bool m_over = false;  // written by the task's thread, read after the last release
};

}  // namespace

::sycl::event report_after(::sycl::queue& teller, const ::sycl::event& end, batch_report what) {
  const auto told = std::make_shared<tale>(std::move(what), end);
  try {
    return teller.submit([&](::sycl::handler& h) {
      h.depends_on(end);
      h.host_task([told] { told->tell_of_end(); });
    });
  } catch (...) {
    told->call_off();  // no report, because the caller gets the exception
    throw;
  }
}

::sycl::queue make_teller(const ::sycl::context& where, const ::sycl::device& device) {
  return {where, device, [](const ::sycl::exception_list&) {}, ::sycl::property::queue::in_order()};
}

}  // namespace starling::detail
