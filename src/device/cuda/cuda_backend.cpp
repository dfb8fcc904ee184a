// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <string>

#include <starling/core/error.hpp>

#include "../backend.hpp"
#include "cuda_device.hpp"
#include "cuda_error.hpp"
#include "cuda_timeline.hpp"

namespace starling::detail {

namespace {

class cuda_backend final : public backend {
 public:
  cuda_backend(std::vector<int> devices, word_store words,
               std::unique_ptr<cuda_timeline> timeline) noexcept
      : m_devices(std::move(devices)), m_words(words), m_timeline(std::move(timeline)) {
    m_traits.traces = m_timeline != nullptr;
  }

  [[nodiscard]] const backend_traits& traits() const noexcept override { return m_traits; }
  [[nodiscard]] int device_count() const noexcept override {
    return static_cast<int>(m_devices.size());
  }
  [[nodiscard]] std::unique_ptr<backend_device> open(int index) override {
    return std::make_unique<cuda_device>(m_devices.at(static_cast<std::size_t>(index)), m_words);
  }

 private:
  std::vector<int> m_devices;  // CUDA's device numbers
  word_store m_words;
  std::unique_ptr<cuda_timeline> m_timeline;  // null: launches are counted
  backend_traits m_traits{backend_kind::cuda, sizeof(completion_word), false, false, false};
};

/// Returns the number of devices. @throws backend_unavailable with the driver's reason when there
/// is none
int require_devices() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaSuccess && count > 0) return count;
  forget_cuda_error();
  const std::string reason = result == cudaSuccess ? "no device" : cudaGetErrorString(result);
  throw backend_unavailable("CUDA finds no device here: " + reason +
                            "; use the host backend (--starling-backend host)");
}

/// Reads option `word-store`, which exists to compare the two ways. @throws option_error
word_store choose_word_store(const runtime_options& options) {
  const std::string chosen = options.get("word-store", "driver");
  if (chosen == "driver") return word_store::driver;
  if (chosen == "kernel") return word_store::kernel;
  throw option_error("option word-store is '" + chosen + "'; it can be driver or kernel");
}

}  // namespace

int count_cuda_devices() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  forget_cuda_error();
  return 0;
}

std::unique_ptr<backend> make_cuda_backend(const backend_request& request) {
  const int present = require_devices();
  const auto refuse = [&](int wanted) {
    throw option_error("--starling-devices: there is no CUDA device " + std::to_string(wanted) +
                       "; this machine has " + std::to_string(present) + ", counted from 0");
  };
  std::vector<int> chosen = request.which;
  for (const int number : chosen)
    if (number < 0 || number >= present) refuse(number);
  if (chosen.empty()) {
    if (request.count > present) refuse(request.count - 1);
    chosen.resize(static_cast<std::size_t>(request.count > 0 ? request.count : present));
    std::iota(chosen.begin(), chosen.end(), 0);
  }
  const runtime_options& options = request.owner->options();
  const word_store words = choose_word_store(options);
  auto timeline =
      options.trace_file.empty() ? nullptr : begin_cuda_timeline(request.owner->tracer());
  return std::make_unique<cuda_backend>(std::move(chosen), words, std::move(timeline));
}

}  // namespace starling::detail
