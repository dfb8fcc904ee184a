// SPDX-License-Identifier: Apache-2.0
#include "loads_file.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include <fmt/format.h>

#include "objects/balance/loads_text.hpp"

namespace starling::launch {
namespace {

using balance::snapshot;
using nlohmann::json;

/// A table of the file: an object with one array for each column, all of the same length.
class table {
 public:
  /// The length is that of the column `required`. A missing table has no rows.
  table(const json& file, const char* name, const char* required,
        std::initializer_list<std::string_view> columns)
      : m_name(name) {
    const auto found = file.find(name);
    if (found == file.end()) return;
    if (!found->is_object())
      throw balance_error(fmt::format("{} is not an object with columns", name));
    m_table = &*found;
    for (const auto& [column, values] : m_table->items()) {
      if (std::ranges::find(columns, column) == columns.end())
        throw balance_error(fmt::format("{} has no column '{}'; there are: {}", name, column,
                                        fmt::join(columns, ", ")));
      if (!values.is_array())
        throw balance_error(fmt::format("{}.{} is not an array", name, column));
    }
    const auto key = m_table->find(required);
    if (key == m_table->end())
      throw balance_error(fmt::format("{} lacks the column '{}'", name, required));
    m_rows = key->size();
    for (const auto& [column, values] : m_table->items())
      if (values.size() != m_rows)
        throw balance_error(fmt::format("{}.{} has {} values, but {}.{} has {}", name, column,
                                        values.size(), name, required, m_rows));
  }

  [[nodiscard]] std::size_t rows() const noexcept { return m_rows; }

  /// Calls `use(row, value)` for each value of a column that is not null, if the column exists.
  template <class Use>
  void each(const char* column, Use use) const {
    if (m_table == nullptr) return;
    const auto found = m_table->find(column);
    if (found == m_table->end()) return;
    for (std::size_t row = 0; row < m_rows; ++row)
      if (!(*found)[row].is_null()) use(row, (*found)[row]);
  }

  void amounts(const char* column, const std::function<void(std::size_t, double)>& use) const {
    each(column, [&](std::size_t row, const json& value) {
      if (!value.is_number() || value.get<double>() < 0)
        refuse(column, row, "a number that is not negative");
      use(row, value.get<double>());
    });
  }
  void numbers(const char* column, const std::function<void(std::size_t, double)>& use) const {
    each(column, [&](std::size_t row, const json& value) {
      if (!value.is_number()) refuse(column, row, "a number");
      use(row, value.get<double>());
    });
  }
  /// Whole numbers up to `most`.
  void counts(const char* column, std::uint64_t most,
              const std::function<void(std::size_t, std::uint64_t)>& use) const {
    each(column, [&](std::size_t row, const json& value) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
        refuse(column, row, fmt::format("a whole number from 0 to {}", most));
      use(row, value.get<std::uint64_t>());
    });
  }
  void flags(const char* column, const std::function<void(std::size_t, bool)>& use) const {
    each(column, [&](std::size_t row, const json& value) {
      if (!value.is_boolean()) refuse(column, row, "true or false");
      use(row, value.get<bool>());
    });
  }

 private:
  [[noreturn]] void refuse(const char* column, std::size_t row, std::string_view expected) const {
    throw balance_error(fmt::format("{}.{}[{}] is not {}", m_name, column, row, expected));
  }

  const char* m_name;
  const json* m_table = nullptr;
  std::size_t m_rows = 0;
};

constexpr std::uint64_t any_position = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::uint64_t any_count = std::numeric_limits<std::uint64_t>::max();

void read_places(const json& file, snapshot& into) {
  const table workers(file, "workers", "rank", {"rank", "device", "speed"});
  into.workers.resize(workers.rows());
  workers.counts("rank", any_position,
                 [&](auto row, auto n) { into.workers[row].rank = std::uint32_t(n); });
  workers.counts("device", any_position,
                 [&](auto row, auto n) { into.workers[row].device = std::uint32_t(n); });
  workers.amounts("speed", [&](auto row, double x) { into.workers[row].speed = x; });
  const table devices(file, "devices", "memory_bytes", {"memory_bytes", "speed"});
  into.devices.resize(devices.rows());
  devices.counts("memory_bytes", any_count,
                 [&](auto row, auto n) { into.devices[row].memory_bytes = n; });
  devices.amounts("speed", [&](auto row, double x) { into.devices[row].speed = x; });
}

void read_elements(const json& file, snapshot& into) {
  const table t(file, "elements", "worker",
                {"id", "array", "worker", "host_seconds", "device_seconds", "state_bytes",
                 "device_bytes", "x", "y", "z", "anchored", "bound_to_rank"});
  auto& all = into.elements;
  all.resize(t.rows());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].id = i;
  t.counts("id", any_count, [&](auto row, auto n) { all[row].id = n; });
  t.counts("array", any_position, [&](auto row, auto n) { all[row].array = std::uint32_t(n); });
  t.counts("worker", any_position, [&](auto row, auto n) { all[row].worker = std::uint32_t(n); });
  t.amounts("host_seconds", [&](auto row, double x) { all[row].host_seconds = x; });
  t.amounts("device_seconds", [&](auto row, double x) { all[row].device_seconds = x; });
  t.counts("state_bytes", any_count, [&](auto row, auto n) { all[row].state_bytes = n; });
  t.counts("device_bytes", any_count, [&](auto row, auto n) { all[row].device_bytes = n; });
  t.flags("anchored", [&](auto row, bool is_set) { all[row].is_anchored = is_set; });
  t.flags("bound_to_rank", [&](auto row, bool is_set) { all[row].is_bound_to_rank = is_set; });
  const char* axes[] = {"x", "y", "z"};
  for (std::size_t axis = 0; axis < 3; ++axis)
    t.numbers(axes[axis], [&](auto row, double x) {
      all[row].position[axis] = x;
      all[row].has_position = true;
    });
}

void read_edges(const json& file, snapshot& into) {
  const table t(file, "edges", "from", {"from", "to", "bytes", "messages"});
  into.edges.resize(t.rows());
  t.counts("from", any_position,
           [&](auto row, auto n) { into.edges[row].from = std::uint32_t(n); });
  t.counts("to", any_position, [&](auto row, auto n) { into.edges[row].to = std::uint32_t(n); });
  t.amounts("bytes", [&](auto row, double x) { into.edges[row].bytes = x; });
  t.amounts("messages", [&](auto row, double x) { into.edges[row].messages = x; });
}

double amount(const std::string& where, const json& value) {
  if (value.is_number() && value.get<double>() >= 0) return value.get<double>();
  throw balance_error(fmt::format("{} is not a number that is not negative", where));
}

void read_costs(const json& file, snapshot& into) {
  if (const auto steps = file.find("steps"); steps != file.end())
    into.steps = amount("steps", *steps);
  const auto costs = file.find("costs");
  if (costs == file.end()) return;
  if (!costs->is_object()) throw balance_error("costs is not an object");
  for (const auto& [key, value] : costs->items()) {
    const double x = amount("costs." + key, value);
    if (key == "seconds_per_migration")
      into.costs.seconds_per_migration = x;
    else if (key == "seconds_per_byte")
      into.costs.seconds_per_byte = x;
    else if (key == "bytes_per_second")
      into.costs.bytes_per_second = x;
    else if (key == "latency_seconds")
      into.costs.latency_seconds = x;
    else
      throw balance_error(fmt::format("costs has no '{}'", key));
  }
}

void check_head(const json& file) {
  if (!file.is_object() || file.value("format", json()) != balance::loads_format)
    throw balance_error(
        fmt::format("it is no file of loads: \"format\" is not \"{}\"", balance::loads_format));
  const json version = file.value("version", json());
  if (version != balance::loads_version)
    throw balance_error(fmt::format("\"version\" is {}, but this program reads version {}",
                                    version.dump(), balance::loads_version));
  constexpr std::string_view known[] = {"format", "version", "workers", "devices", "elements",
                                        "edges",  "costs",   "steps",   "comment"};
  for (const auto& [key, value] : file.items())
    if (std::ranges::find(known, key) == std::end(known))
      throw balance_error(
          fmt::format("there is no table '{}'; there are: {}", key, fmt::join(known, ", ")));
}

/// Returns the loads in a history: those before balancing number `chosen`, counted from 1; 0: the
/// last one.
json take_loads(json& history, std::size_t chosen) {
  if (history.value("version", json()) != balance::history_version)
    throw balance_error(fmt::format("\"version\" is {}, but this program reads version {}",
                                    history.value("version", json()).dump(),
                                    balance::history_version));
  const auto all = history.find("balancings");
  if (all == history.end() || !all->is_array())
    throw balance_error("a history needs the array \"balancings\"");
  const std::size_t number = chosen == 0 ? all->size() : chosen;
  if (all->empty() || number > all->size())
    throw balance_error(fmt::format("there is no balancing {}; there are {}", number, all->size()));
  json& one = (*all)[number - 1];
  if (!one.is_object() || !one.contains("loads"))
    throw balance_error(fmt::format("balancing {} has no \"loads\"", number));
  return std::move(one["loads"]);
}

}  // namespace

snapshot read_loads(const std::string& path, std::size_t balancing) {
  std::ifstream input(path);
  if (!input) throw balance_error(fmt::format("cannot read '{}'", path));
  snapshot loads;
  try {
    json file = json::parse(input);
    if (file.is_object() && file.value("format", json()) == balance::history_format)
      file = take_loads(file, balancing);
    else if (balancing != 0)
      throw balance_error("it is no history of balancings, from which one could be chosen");
    check_head(file);
    read_places(file, loads);
    read_elements(file, loads);
    read_edges(file, loads);
    read_costs(file, loads);
    balance::require_valid(loads);
  } catch (const std::exception& e) {
    throw balance_error(fmt::format("'{}': {}", path, e.what()));
  }
  return loads;
}

void write_loads(const snapshot& loads, const std::string& path) {
  std::ofstream output(path);
  output << balance::json_text(loads) << '\n';
  output.close();
  if (!output) throw balance_error(fmt::format("cannot write '{}'", path));
}

}  // namespace starling::launch
