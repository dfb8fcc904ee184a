// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace starling::detail {

/// An option of the runtime, as `--starling-help` shows it.
struct option_entry {
  const char* name;    // without the prefix
  const char* module;  // the module whose programs have the option; empty: core
  const char* type;
  const char* fallback;
  const char* help;
};

/// Registers the options of a module above core. A static object in the file that reads them (such
/// as src/net/transport.cpp), made before `main`; only functions of that file read them, so that a
/// program that uses an option links it. Core lists the options by group and keeps the values as
/// text in `runtime_options::extra`; the module checks them.
struct module_options {
  explicit module_options(std::span<const option_entry> all) noexcept;
  module_options(const module_options&) = delete;
  module_options& operator=(const module_options&) = delete;

  std::span<const option_entry> entries;
  module_options* next = nullptr;
};

}  // namespace starling::detail
