// SPDX-License-Identifier: Apache-2.0
#include "cuda_timeline.hpp"

#include <dlfcn.h>
#include <cstdio>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <cupti.h>

namespace starling::detail {
namespace {

/// The functions used of CUPTI, loaded when a timeline is requested: programs start without CUPTI.
struct cupti_library {
  decltype(&cuptiActivityRegisterTimestampCallback) use_clock;
  decltype(&cuptiActivityRegisterCallbacks) use_buffers;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityFlushAll) flush;
  decltype(&cuptiActivityGetNextRecord) next;
  decltype(&cuptiGetResultString) describe;

  /// @throws std::runtime_error naming the missing library or function
  cupti_library() {
    void* library = open();
    find(library, "cuptiActivityRegisterTimestampCallback", use_clock);
    find(library, "cuptiActivityRegisterCallbacks", use_buffers);
    find(library, "cuptiActivityEnable", enable);
    find(library, "cuptiActivityDisable", disable);
    find(library, "cuptiActivityFlushAll", flush);
    find(library, "cuptiActivityGetNextRecord", next);
    find(library, "cuptiGetResultString", describe);
  }

  void check(CUptiResult result, const char* what) const {
    if (result == CUPTI_SUCCESS) return;
    const char* reason = "?";
    static_cast<void>(describe(result, &reason));
    throw std::runtime_error(std::string(what) + ": " + reason);
  }

 private:
  /// Loads the library. It is never closed, because CUPTI has threads that run its code.
  static void* open() {
    for (const char* name : {STARLING_CUPTI_NAME, STARLING_CUPTI_FILE})
      if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    throw std::runtime_error(std::string("cannot load CUPTI: ") + dlerror() +
                             " (its folder may be added to LD_LIBRARY_PATH)");
  }
  template <class Function>
  static void find(void* library, const char* name, Function& to) {
    to = reinterpret_cast<Function>(dlsym(library, name));
    if (to == nullptr) throw std::runtime_error(std::string(name) + " is not in this CUPTI");
  }
};

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                        CUPTI_ACTIVITY_KIND_MEMSET};
constexpr std::size_t buffer_bytes = std::size_t(1) << 20;
constexpr std::align_val_t buffer_alignment{8};

const char* copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "copy between devices";
    default:
      return "copy";
  }
}

class cupti_timeline final : public cuda_timeline {
 public:
  explicit cupti_timeline(tracer& sink) : m_sink(&sink) {
    const std::lock_guard lock(current_lock);
    if (current != nullptr) throw std::runtime_error("another runtime of this process has one");
    m_cupti.check(m_cupti.use_clock(&tracer::now), "cuptiActivityRegisterTimestampCallback");
    m_cupti.check(m_cupti.use_buffers(&give_buffer, &take_buffer),
                  "cuptiActivityRegisterCallbacks");
    try {
      for (const CUpti_ActivityKind kind : kinds)
        m_cupti.check(m_cupti.enable(kind), "cuptiActivityEnable");
    } catch (...) {
      disable();
      throw;
    }
    current = this;
  }
  ~cupti_timeline() override {
    disable();
    // Calls take_buffer, which takes the lock.
    if (m_cupti.flush(0) != CUPTI_SUCCESS)
      std::fputs("starling: the last kernels are missing in the timeline\n", stderr);
    const std::lock_guard lock(current_lock);
    current = nullptr;
  }
  cupti_timeline(const cupti_timeline&) = delete;
  cupti_timeline& operator=(const cupti_timeline&) = delete;

 private:
  void disable() noexcept {
    for (const CUpti_ActivityKind kind : kinds) static_cast<void>(m_cupti.disable(kind));
  }

  static void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
    *buffer = static_cast<std::uint8_t*>(
        ::operator new(buffer_bytes, buffer_alignment, std::nothrow));  // null: records are dropped
    *size = *buffer == nullptr ? 0 : buffer_bytes;
    *records = 0;  // 0: as many records as fit
  }
  static void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                   std::size_t used) {
    const std::lock_guard lock(current_lock);
    if (current != nullptr) current->store_all(buffer, used);
    ::operator delete(buffer, buffer_alignment);
  }

  void store_all(std::uint8_t* buffer, std::size_t used) noexcept {
    CUpti_Activity* record = nullptr;
    try {
      while (m_cupti.next(buffer, used, &record) == CUPTI_SUCCESS) store(*record);
    } catch (const std::bad_alloc&) {  // the buffer's remaining spans are dropped
    }
  }
  void store(const CUpti_Activity& record) {
    switch (record.kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const auto& k = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
        return span(k, span_kind::kernel, name_of(k.name));
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const auto& c = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
        return span(c, span_kind::copy, copy_name(c.copyKind));
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const auto& c = reinterpret_cast<const CUpti_ActivityMemcpyPtoP4&>(record);
        return span(c, span_kind::copy, copy_name(c.copyKind));
      }
      case CUPTI_ACTIVITY_KIND_MEMSET:
        return span(reinterpret_cast<const CUpti_ActivityMemset4&>(record), span_kind::copy,
                    "fill");
      default:
        return;
    }
  }
  template <class Record>
  void span(const Record& r, span_kind kind, const char* name) {
    const auto [found, is_new] = m_tracks.try_emplace(std::pair(r.deviceId, r.streamId), 0);
    if (is_new)
      found->second = m_sink->open_track("CUDA device " + std::to_string(r.deviceId),
                                         "stream " + std::to_string(r.streamId));
    m_sink->span(found->second, kind, name, r.start, r.end);
  }
  const char* name_of(const char* symbol) {
    const auto [found, is_new] = m_names.try_emplace(symbol, nullptr);
    if (is_new) found->second = m_sink->intern(readable_kernel(symbol));
    return found->second;
  }

  static inline std::mutex current_lock;
  static inline cupti_timeline* current = nullptr;

  cupti_library m_cupti;
  tracer* m_sink;
  // Guarded by current_lock, under which records are stored:
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> m_tracks;
  std::map<std::string, const char*, std::less<>> m_names;
};

}  // namespace

std::unique_ptr<cuda_timeline> begin_cuda_timeline(tracer& sink) {
  try {
    return std::make_unique<cupti_timeline>(sink);
  } catch (const std::runtime_error& e) {
    std::fprintf(stderr, "starling: the timeline has no kernels: %s\n", e.what());
    return nullptr;
  }
}

}  // namespace starling::detail
