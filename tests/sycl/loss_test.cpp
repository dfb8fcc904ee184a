// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "device/device_impl.hpp"
#include "device/support.hpp"
#include "device/sycl/sycl_event.hpp"
#include "device/sycl/sycl_stream.hpp"
#include "failing_event.hpp"
#include "support.hpp"

namespace starling::sycl {
namespace {

using namespace starling::detail;

/// A queue of a lost device: no work completes, and only a query reports the error.
class lost_stream final : public starling_test::idle_queue {
 public:
  bool is_idle() override { return false; }
  std::exception_ptr query_error() noexcept override {
    return std::make_exception_ptr(device_error("the device has fallen off the bus"));
  }
  void* native() const noexcept override { return &m_handle; }

 private:
  mutable int m_handle = 0;
};

/// The runtime's handling of a lost device of this backend.
class sycl_losses : public testing::Test {
 protected:
  sycl_losses()
      : m_runtime(options_for("host", "word")), m_poller(m_runtime, true),
        m_backend(make_sycl_backend(
            {&m_runtime, completion_kind::word, &m_runtime.get_executor().home(), {}, 1})) {
    m_context.poller = &m_poller;
    m_context.home = &m_runtime.get_executor().home();
    m_context.tracer = &m_runtime.tracer();
    m_context.traits = m_backend->traits();
    m_context.completion = completion_kind::word;
  }

  runtime m_runtime;
  completion_poller m_poller;
  std::unique_ptr<backend> m_backend;
  stream_context m_context{};
  completion_word m_word{0};
};

TEST_F(sycl_losses, are_reported_by_queries_whether_a_stream_is_idle) {
  for (const bool given_out : {false, true}) {
    stream_state s(m_context, stream_id{0}, priority::normal, m_word);
    s.open(std::make_unique<lost_stream>(), false);
    const char value = 0;
    s.fill(nullptr, &value, sizeof value, 1);
    if (given_out) static_cast<void>(s.native_handle(backend_kind::sycl));
    EXPECT_THROW(static_cast<void>(s.is_idle()), device_error) << given_out;
    EXPECT_THROW(static_cast<void>(s.is_idle()), device_error) << "and for ever";
  }
}

TEST(sycl_events, that_have_failed_throw_without_a_wait) {
  ::sycl::queue work{::sycl::property::queue::in_order()};
  sycl_event point;
  failing_event source(work);
  point.native = source.get();
  EXPECT_FALSE(point.is_complete());
  source.fail();
  EXPECT_THROW(static_cast<void>(point.is_complete()), device_error);
}

TEST(sycl_events, that_have_failed_hold_back_dependent_work_only) {
  const ::sycl::device device(::sycl::default_selector_v);
  runtime rt(options_for("host", "word"));
  const ::sycl::context where(device);
  sycl_resources shared{where, device,    &rt.get_executor().home(),
                        true,  {1, 1, 1}, sycl_compiler(where, device, rt.tracer())};
  sycl_stream s(shared, ::sycl::queue(where, device, ::sycl::property::queue::in_order()),
                async_errors());
  const auto point = std::make_shared<sycl_event>();
  failing_event source(::sycl::queue(where, device));
  point->native = source.get();
  source.fail();
  EXPECT_THROW(s.wait(point, dependency::data), device_error);
  EXPECT_THROW(s.wait_native(&point->native), device_error);
  s.wait(point, dependency::order);
  s.synchronize();
}

}  // namespace
}  // namespace starling::sycl
