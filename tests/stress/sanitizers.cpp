// SPDX-License-Identifier: Apache-2.0

/// Read by ThreadSanitizer. The reference count of exceptions lies in libstdc++, which it does not
/// see into: an exception that one thread caught and another one frees looks like a race.
extern "C" const char* __tsan_default_suppressions() {  // NOLINT: the sanitizer's name
  return "race:std::logic_error::~logic_error\n"
         "race:std::runtime_error::~runtime_error\n"
         "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
