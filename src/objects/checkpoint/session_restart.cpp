// SPDX-License-Identifier: Apache-2.0
// The checkpoint from which a run restarts: the choice.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <utility>

#include <starling/core/error.hpp>

#include "objects/checkpoint/checkpoint_folder.hpp"
#include "objects/checkpoint/session.hpp"

namespace starling::detail {
namespace {

/// Returns a number that `starling launch` has set; 0: it has not.
std::int64_t number_of_launcher(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoll(text);
}

}  // namespace

std::string session::folders() const {
  const std::string first = "'" + m_store.pattern() + "'";
  return m_persistent ? first + " and '" + m_persistent->pattern() + "'" : first;
}

/// Opens the folders, and returns their checkpoints, the newest first.
task<std::vector<session::stored_checkpoint>> session::find_checkpoints() {
  std::vector<folder_store*> stores{&m_store};
  if (m_persistent) stores.push_back(&*m_persistent);
  for (folder_store* store : stores) co_await store->open();
  if (m_persistent && m_store.overlaps(*m_persistent))
    throw usage_error("checkpoints::open: " + folders() +
                      " share a folder: give the persistent path another one");
  std::vector<stored_checkpoint> all;
  for (const folder_store* store : stores) {
    const std::vector<inventory> found = co_await store->tidy();
    m_last_number = std::max(m_last_number, largest_number(found));
    for (candidate& c : candidates_of(found)) all.push_back({store, std::move(c)});
  }
  std::ranges::stable_sort(all, [](const stored_checkpoint& a, const stored_checkpoint& b) {
    return std::tuple(a.of.number, a.of.time_ns) > std::tuple(b.of.number, b.of.time_ns);
  });
  co_return all;
}

task<> session::begin(wanted_checkpoint wanted) {
  const std::vector<stored_checkpoint> all = co_await find_checkpoints();
  // A job that the launcher has started again continues from its own checkpoints; before the first
  // of them it begins as it did at first.
  if (number_of_launcher("STARLING_LAUNCH_RESTARTS") > 0)
    co_await restart_from_newest(all, number_of_launcher("STARLING_LAUNCH_BEGIN"));
  if (is_restart() || !wanted.is_restart) co_return;
  if (wanted.number)
    co_await restart_from_number(all, *wanted.number);
  else
    co_await restart_from_newest(all, 0);
}

task<> session::restart_from_newest(std::vector<stored_checkpoint> all, std::int64_t not_before) {
  std::optional<checkpoint_error> refused;
  for (const stored_checkpoint& c : all) {
    if (!c.of.manifests.empty() && c.of.time_ns < not_before) continue;
    try {
      m_from.emplace(co_await c.store->read(c.of));
    } catch (const checkpoint_error& e) {
      print_note(checkpoint_name(c.of.number) + " is not used: " + e.what());
      refused = e;
    }
    if (is_restart()) co_return;
  }
  if (refused && not_before != 0)
    print_note("no checkpoint of this job is usable: it begins as at its first start");
  if (refused && not_before == 0)
    throw checkpoint_error(refused->fault(), "--starling-restart=latest: no checkpoint in " +
                                                 folders() +
                                                 " is usable; the oldest: " + refused->what());
}

task<> session::restart_from_number(std::vector<stored_checkpoint> all, std::uint64_t number) {
  std::optional<checkpoint_error> refused;
  for (const stored_checkpoint& c : all) {
    if (c.of.number != number) continue;
    try {
      m_from.emplace(co_await c.store->read(c.of));
    } catch (const checkpoint_error& e) {
      refused = e;
    }
    if (is_restart()) co_return;
  }
  if (refused) throw checkpoint_error(*refused);
  refuse(checkpoint_fault::torn, checkpoint_name(number) + " in " + folders(), "it does not exist");
}

}  // namespace starling::detail
