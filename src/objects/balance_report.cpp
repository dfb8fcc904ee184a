// SPDX-License-Identifier: Apache-2.0
#include <starling/objects/detail/balance_report.hpp>

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <starling/core/detail/module_options.hpp>
#include <starling/core/error.hpp>

#include "balance/loads_text.hpp"

namespace starling::detail {
namespace {

constexpr option_entry entries[] = {
    {"balance-report", "objects", "WHERE", "no",
     "report each balancing and its migrations: no, yes (print it), or a file NAME.json, for "
     "starling balance and tools/plot_balance.py"}};
[[gnu::init_priority(101)]] module_options registered(entries);

/// Number of lines of one table, and of names in one list.
constexpr std::size_t most_lines = 16;
constexpr std::string_view end_of_file = "\n]}\n";

[[noreturn]] void refuse(const std::string& value, const std::string& why) {
  throw option_error("--starling-balance-report (or STARLING_BALANCE_REPORT): '" + value + "' " +
                     why);
}

balance::place_loads loads_after(const balancing_record& done) {
  std::vector<std::uint32_t> worker_of = balance::current_workers(done.loads);
  for (const balance::migration& m : done.plan.migrations) worker_of[m.element] = m.to;
  return balance::loads_of_places(done.loads, worker_of);
}

// --- text

/// Appends a table of loads. Beyond `most_lines` a line has the largest load of several places,
/// which decides the step time.
void add_table(std::string& text, const char* what, std::span<const double> before,
               std::span<const double> after) {
  const std::size_t each = (before.size() + most_lines - 1) / most_lines;
  if (before.empty()) return;
  text += fmt::format("starling:   {:<24} {:>11} {:>11}\n",
                      each == 1 ? std::string(what) : std::string(what) + "s, largest load",
                      "before / s", "after / s");
  for (std::size_t first = 0; first < before.size(); first += each) {
    const std::size_t count = std::min(each, before.size() - first);
    const std::string place =
        count == 1 ? fmt::format("{}", first) : fmt::format("{} to {}", first, first + count - 1);
    text += fmt::format("starling:   {:<24} {:>11.4g} {:>11.4g}\n", place,
                        std::ranges::max(before.subspan(first, count)),
                        std::ranges::max(after.subspan(first, count)));
  }
}

void add_anchored(std::string& text, const balancing_record& done) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < done.anchors.size(); ++i) {
    if (done.anchors[i].empty() || ++count > most_lines) continue;
    text += fmt::format("starling:   {} is anchored{}: {}\n", done.names[i],
                        done.loads.elements[i].is_anchored ? "" : " to its rank", done.anchors[i]);
  }
  if (count > most_lines)
    text += fmt::format("starling:   and {} more are anchored\n", count - most_lines);
}

void print(const balancing_record& done) {
  const balance::plan& p = done.plan;
  std::string text = fmt::format(
      "starling: balancing of {} by {} in call {}: {}\nstarling:   imbalance {:.4g} before, {:.4g} "
      "after\n",
      done.array, done.balancer, done.call, balance::describe(done.loads, p), p.before.imbalance(),
      p.after.imbalance());
  const balance::place_loads before =
      balance::loads_of_places(done.loads, balance::current_workers(done.loads));
  const balance::place_loads after = loads_after(done);
  add_table(text, "worker", before.host_seconds, after.host_seconds);
  add_table(text, "device", before.device_seconds, after.device_seconds);
  for (const balance::migration& m : p.migrations)
    text += "starling:   " + balance::describe(done.loads, m, done.names[m.element]) + "\n";
  add_anchored(text, done);
  std::fputs(text.c_str(), stderr);
}

// --- file

/// Returns false if not all of `text` could be written, with the reason in errno.
bool write_at(int file, std::size_t position, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count =
        ::pwrite(file, text.data() + done, text.size() - done, off_t(position + done));
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) done += std::size_t(count);
  }
  return true;
}

/// Returns a JSON array of `text_of(row)` of each row.
template <class Rows, class Text>
std::string column(const Rows& rows, Text text_of) {
  std::string text = "[";
  for (const auto& row : rows) text += (text.size() > 1 ? "," : "") + text_of(row);
  return text + "]";
}

std::string migrations_text(const balancing_record& done) {
  using migration = balance::migration;
  const auto& all = done.plan.migrations;
  const auto number = [&](auto migration::*member) {
    return column(all, [member](const migration& m) { return std::to_string(m.*member); });
  };
  const auto name = [&](const migration& m) { return balance::json_string(done.names[m.element]); };
  const auto reason = [](const migration& m) {
    return balance::json_string(balance::name_of(m.why));
  };
  return fmt::format(R"({{"element":{},"name":{},"from":{},"to":{},"reason":{}}})",
                     number(&migration::element), column(all, name), number(&migration::from),
                     number(&migration::to), column(all, reason));
}

std::string anchored_text(const balancing_record& done) {
  std::vector<std::size_t> anchored;
  for (std::size_t i = 0; i < done.anchors.size(); ++i)
    if (!done.anchors[i].empty()) anchored.push_back(i);
  const auto name = [&](std::size_t i) { return balance::json_string(done.names[i]); };
  const auto why = [&](std::size_t i) { return balance::json_string(done.anchors[i]); };
  return fmt::format(R"({{"element":{},"name":{},"why":{}}})",
                     column(anchored, [](std::size_t i) { return std::to_string(i); }),
                     column(anchored, name), column(anchored, why));
}

std::string json_text(const balancing_record& done) {
  const balance::plan& p = done.plan;
  const balance::place_loads before =
      balance::loads_of_places(done.loads, balance::current_workers(done.loads));
  return fmt::format(
      R"({{"array":{},"array_id":{},"call":{},"balancer":{},"decision":{},"ideal_seconds":{},)"
      R"("imbalance_before":{},"imbalance_after":{},"cost_seconds":{},)"
      "\n\"before\":{},\n\"after\":{},\n\"migrations\":{},\n\"anchored\":{},\n\"loads\":{}}}",
      balance::json_string(done.array), done.id, done.call, balance::json_string(done.balancer),
      balance::json_string(balance::name_of(p.decision)),
      balance::json_number(p.before.ideal_seconds), balance::json_number(p.before.imbalance()),
      balance::json_number(p.after.imbalance()), balance::json_number(p.cost_seconds),
      balance::json_text(before), balance::json_text(loads_after(done)), migrations_text(done),
      anchored_text(done), balance::json_text(done.loads));
}

}  // namespace

balance_report::balance_report(const runtime& owner) {
  const std::string where = owner.options().get("balance-report", "no");
  m_prints = where == "yes";
  if (m_prints || where == "no") return;
  if (!where.ends_with(".json"))
    refuse(where, "is neither yes, no nor the name of a file that ends with .json");
  m_path = where;
}

void balance_report::begin() {
  if (std::exchange(m_has_begun, true) || m_path.empty()) return;
  m_file.reset(std::fopen(m_path.c_str(), "we"));
  const bool is_written =
      m_file != nullptr &&
      append(fmt::format("{{\"format\":{},\"version\":{},\"balancings\":[",
                         balance::json_string(balance::history_format), balance::history_version));
  if (!is_written) refuse(m_path, "cannot be written: " + std::string(std::strerror(errno)));
}

void balance_report::add(const balancing_record& done) {
  if (m_prints) print(done);
  if (m_file == nullptr) return;
  if (append((m_is_empty ? "\n" : ",\n") + json_text(done))) {
    m_is_empty = false;
    return;
  }
  std::fprintf(stderr, "starling: the report of balancings ends, as %s cannot be written: %s\n",
               m_path.c_str(), std::strerror(errno));
  m_file.reset();
}

bool balance_report::append(const std::string& text) {
  const int file = ::fileno(m_file.get());
  if (write_at(file, m_end, text + std::string(end_of_file))) {
    m_end += text.size();
    return true;
  }
  const int reason = errno;
  if (m_end != 0 && ::ftruncate(file, off_t(m_end)) == 0)
    static_cast<void>(write_at(file, m_end, std::string(end_of_file)));
  errno = reason;
  return false;
}

}  // namespace starling::detail
