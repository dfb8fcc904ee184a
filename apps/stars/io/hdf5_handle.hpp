// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

namespace stars::hdf5 {

/// Owns an HDF5 identifier; closing it never throws.
class handle {
 public:
  using closer = herr_t (*)(hid_t);

  handle(hid_t id, closer close) noexcept : m_id(id), m_close(close) {}
  ~handle() {
    if (m_id >= 0) m_close(m_id);
  }
  handle(handle&& other) noexcept
      : m_id(std::exchange(other.m_id, H5I_INVALID_HID)), m_close(other.m_close) {}
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  handle& operator=(handle&&) = delete;

  [[nodiscard]] hid_t get() const noexcept { return m_id; }

 private:
  hid_t m_id;
  closer m_close;
};

/// The right to call HDF5, which one thread of the process has at a time: ranks may be threads, and
/// HDF5 need not be thread safe. Released by the thread that has acquired it, so not held where a
/// coroutine may be suspended.
///
/// Disables HDF5's own error messages during its lifetime: errors become exceptions. Also those at
/// the end of the program: HDF5 does not release everything after it has met a damaged file. So it
/// must not be needed there: every file is closed, and is read only or temporary.
class session {
 public:
  session() : m_lock(mutex()) {
    [[maybe_unused]] static const herr_t once = H5dont_atexit();
    H5Eget_auto2(H5E_DEFAULT, &m_print, &m_data);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~session() { H5Eset_auto2(H5E_DEFAULT, m_print, m_data); }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }

  std::lock_guard<std::mutex> m_lock;
  H5E_auto2_t m_print = nullptr;
  void* m_data = nullptr;
};

/// Returns the innermost message on HDF5's error stack, which describes the cause.
[[nodiscard]] inline std::string last_error() {
  std::string text = "unknown HDF5 error";
  const auto keep = [](unsigned, const H5E_error2_t* entry, void* data) -> herr_t {
    if (entry->desc != nullptr && *entry->desc != '\0')
      *static_cast<std::string*>(data) = entry->desc;
    return 0;
  };
  // Downward: from the called function to the origin of the error, whose message is kept last.
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep, &text);
  return text;
}

}  // namespace stars::hdf5
