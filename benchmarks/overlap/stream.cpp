// SPDX-License-Identifier: Apache-2.0
//
// The kernels of Jacobi3D on one stream and one block without neighbours: the rate of a device
// without any communication to hide. See README.md.
#include <chrono>

#include <starling/core.hpp>
#include <starling/device.hpp>

#include "bulk_synchronous.hpp"
#include "common/device_data.hpp"
#include "physics/initial.hpp"
#include "physics/reduction.hpp"
#include "physics/update.hpp"

namespace overlap {
namespace {

using apps::submit;
using clock = std::chrono::steady_clock;
using starling::memory_kind;

/// The whole grid as one block in device memory.
class whole_grid {
 public:
  whole_grid(starling::runtime& rt, const jacobi3d::problem& start)
      : m_runtime(&rt), m_device(&starling::devices(rt).device(0)),
        m_stream(m_device->make_stream()), m_start(&start), m_shape(start.grid()),
        m_cut(apps::on_processor(*m_device) ? jacobi3d::tiling::for_one(m_shape.n)
                                            : jacobi3d::tiling::for_many(m_shape.n)) {
    m_tables = apps::upload(*m_device, m_stream, start.tables());
    for (starling::buffer<double>& state : m_states) {
      state = m_device->allocate<double>(memory_kind::device, std::size_t(m_shape.size()));
      submit(m_stream, jacobi3d::fill_initial{m_shape, {}, values(), state.data()});
    }
    wait();
  }

  outcome run(const settings& chosen) {
    for (long i = 0; i < chosen.warmup; ++i) step(i);
    wait();
    const clock::time_point begin = clock::now();
    for (long i = chosen.warmup; i < chosen.steps(); ++i) step(i);
    wait();
    const std::chrono::duration<double> took = clock::now() - begin;
    return {took.count(), judged(chosen.steps())};
  }

 private:
  [[nodiscard]] jacobi3d::initial_values values() const { return m_start->with(m_tables.data()); }
  /// Returns the state after `steps` steps: two arrays alternate.
  [[nodiscard]] double* state(long steps) { return m_states[steps % 2].data(); }

  void step(long number) {
    submit(m_stream, jacobi3d::update{m_shape, state(number), state(number + 1),
                                      jacobi3d::whole(m_shape), m_cut});
  }
  void wait() { m_runtime->sync_wait(m_stream.get_future()); }

  answer judged(long steps) {
    const auto sum = reduced(jacobi3d::checksum{m_shape, {state(steps), m_start->grid(), {}}});
    const auto error = reduced(
        jacobi3d::mode_error{m_shape, {state(steps), values(), {}, m_start->amplitude(steps)}});
    return {sum, jacobi3d::norm_of(error)};
  }
  template <class First>
  jacobi3d::pattern reduced(const First& first) {
    return m_runtime->sync_wait(apps::reduced(*m_device, m_stream, first));
  }

  starling::runtime* m_runtime;
  starling::device* m_device;
  starling::stream m_stream;
  const jacobi3d::problem* m_start;
  block_layout m_shape;
  jacobi3d::tiling m_cut;
  starling::buffer<double> m_tables;
  starling::buffer<double> m_states[2];
};

}  // namespace
}  // namespace overlap

int main(int argc, char** argv) {
  overlap::settings chosen;
  std::string backend = "host";
  CLI::App app("Jacobi's method on one stream: the kernels alone");
  overlap::add_options(app, chosen);
  app.add_option("--backend", backend, "host, cuda or auto")->capture_default_str();
  return overlap::main_of(argc, argv, "stream", app, chosen, {"step"}, [&](auto& out) {
    starling::runtime_options options = starling::runtime_options::from_environment();
    options.workers = unsigned(chosen.common.workers);
    options.extra["backend"] = backend;
    starling::runtime rt(options);
    out.config("backend", starling::to_string(starling::devices(rt).backend()));
    overlap::measure(chosen, "step", out, [&](const jacobi3d::problem& start) {
      return overlap::whole_grid(rt, start).run(chosen);
    });
  });
}
