// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <starling/core/runtime.hpp>
#include <starling/objects/balance/plan.hpp>
#include <starling/objects/balance/snapshot.hpp>

namespace starling::detail {

/// One balancing of an array, for the report.
struct balancing_record {
  std::string_view array;  // type of its elements
  std::uint64_t id = 0;    // of the array
  std::string_view balancer;
  std::uint64_t call = 0;  // number of the call of load_balance(), from 1
  const balance::snapshot& loads;
  const balance::plan& plan;
  // By position in the snapshot:
  std::vector<std::string> names;    // of the elements
  std::vector<std::string> anchors;  // why an element is anchored; empty: it is not
};

/// The report of all balancings: option `balance-report`. Only rank 0 prints or writes it.
class balance_report {
 public:
  /// Reads the option. @throws option_error
  explicit balance_report(const runtime& owner);

  /// Returns whether elements describe themselves, which costs time. Thread-safe.
  [[nodiscard]] bool is_on() const noexcept { return m_prints || !m_path.empty(); }
  /// Creates the file, if there is one, at the first call. On rank 0, by one thread at a time,
  /// before the first `add`. @throws option_error
  void begin();
  /// Prints a balancing or adds it to the file, which is valid JSON after each call. A failed write
  /// is reported on stderr and ends the report with the balancing before. On worker 0 of rank 0.
  void add(const balancing_record& done);

 private:
  struct closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  /// Writes `text` in place of the end of the file, and the end behind it. If that fails, the file
  /// remains as it was, and errno has the reason.
  [[nodiscard]] bool append(const std::string& text);

  bool m_prints = false;
  std::string m_path;  // empty: no file
  bool m_has_begun = false;
  bool m_is_empty = true;
  std::unique_ptr<std::FILE, closer> m_file;
  std::size_t m_end = 0;  // position of the end of the file, which the next balancing replaces
};

}  // namespace starling::detail
