// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <starling/core/detail/module_options.hpp>
#include <starling/core/error.hpp>
#include <starling/core/runtime.hpp>
#include <starling/core/when_all.hpp>
#include <starling/objects/quiescence.hpp>
#include <starling/objects/ranks.hpp>

#include "objects/checkpoint/checkpoint_folder.hpp"
#include "objects/checkpoint/session.hpp"
#include "objects/number_option.hpp"

namespace starling::detail {
namespace {

constexpr option_entry entries[] = {
    {"restart", "objects", "WHICH", "none",
     "checkpoint from which starling::checkpoints restarts: none, latest, or "
     "its number"},
    {"stop-signal", "objects", "NAME", "USR1",
     "signal that ends the run at its next checkpoint: USR1, USR2, TERM, none"},
    {"checkpoint-copies", "objects", "N", "1",
     "copies of each share of a checkpoint: 1, or 2 in folders of different ranks"},
    {"checkpoint-persistent", "objects", "PATH", "",
     "folder, such as one of a shared disk, that gets each N-th checkpoint instead of the "
     "program's folder"},
    {"checkpoint-persistent-every", "objects", "N", "10", "which checkpoints that folder gets"}};
[[gnu::init_priority(101)]] module_options registered(entries);

wanted_checkpoint wanted_by(runtime_options options, const std::string& instead) {
  if (!instead.empty()) options.extra["restart"] = instead;
  const std::string text = options.get("restart", "none");
  if (text == "none") return {};
  if (text == "latest") return {true, std::nullopt};
  return {true, number_option<std::uint64_t>(options, "restart", "none", 1,
                                             std::numeric_limits<std::uint64_t>::max(),
                                             "is neither none nor latest nor the number of a "
                                             "checkpoint")};
}

std::size_t copies_by(runtime_options options, std::size_t instead) {
  if (instead != 0) options.extra["checkpoint-copies"] = std::to_string(instead);
  return number_option<std::size_t>(options, "checkpoint-copies", "1", 1, 2,
                                    "is neither 1 nor 2 copies of each share");
}

/// Completes what the program leaves to the options of the run. @throws option_error
checkpoint_options completed(checkpoint_options chosen, const runtime_options& options) {
  chosen.copies = copies_by(options, chosen.copies);
  if (chosen.persistent.empty()) chosen.persistent = options.get("checkpoint-persistent", "");
  if (chosen.persistent_every == 0)
    chosen.persistent_every = number_option<std::size_t>(
        options, "checkpoint-persistent-every", "10", 1, std::numeric_limits<std::size_t>::max(),
        "is not a number of checkpoints");
  return chosen;
}

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string names_of(std::span<const stored_array> arrays) {
  std::string text;
  for (const stored_array& a : arrays) text += (text.empty() ? "'" : ", '") + a.name + "'";
  return text.empty() ? "none" : text;
}

}  // namespace

session::session(runtime& rt, std::string path, const checkpoint_options& options)
    : m_owner(rt), m_label(options.label), m_persistent_every(options.persistent_every),
      m_requests(rt.service<stop_requests>()),
      m_store(std::move(path), options.keep, options.copies) {
  if (!options.persistent.empty()) m_persistent.emplace(options.persistent, options.keep, 1);
}

// --- a restart

task<> session::take_requests(int stop_signal) {
  const auto taken = co_await when_all(on_all_ranks<&take_stop_signal>(stop_signal));
  m_requests.connect(taken.front() ? stop_signal : 0);
}

void session::add(array_description array, object_id id) {
  m_arrays.push_back({std::move(array), id});
  m_owner.service<session_list>().add(id, shared_from_this());
}

void session::require_unused(const std::string& name) const {
  const bool is_array =
      std::ranges::any_of(m_arrays, [&](const named_array& a) { return a.of.name == name; });
  if (is_array || std::ranges::find(m_values, name, &named_value::name) != m_values.end())
    throw usage_error("checkpoints: the name '" + name + "' is in use");
}

void session::require(const array_description& array) const {
  require_unused(array.name);
  if (!is_restart()) return;
  const std::string of = "checkpoints: " + checkpoint_name(number()) + " ";
  const auto& arrays = m_from->arrays;
  const auto stored = std::ranges::find(arrays, array.name, &stored_array::name);
  if (stored == arrays.end())
    throw usage_error(of + "has no array '" + array.name + "'; it has " + names_of(arrays));
  if (stored->element_type != array.element_type || stored->index_type != array.index_type)
    throw usage_error(of + "has '" + array.name + "' with elements of type " +
                      stored->element_type + " and indices of type " + stored->index_type +
                      ", not " + array.element_type + " and " + array.index_type);
  if (stored->shape != array.shape)
    throw usage_error(of + "has '" + array.name + "' with another extent");
}

std::vector<std::byte> session::stored_value(const std::string& name) const {
  const auto found = std::ranges::find(m_from->values, name, &detail::stored_value::name);
  if (found != m_from->values.end()) return found->bytes;
  throw usage_error("checkpoints: " + checkpoint_name(number()) + " has no value '" + name + "'");
}

/// Returns the objects of this run in the order of those in the checkpoint.
checkpoint_objects session::stored_objects() const {
  checkpoint_objects found;
  const auto missing = [this](const char* what, std::string_view name) {
    throw usage_error("checkpoints::load: the program has not created the " + std::string(what) +
                      " '" + std::string(name) + "' of " + checkpoint_name(number()));
  };
  for (const stored_array& stored : m_from->arrays) {
    const auto mine = std::ranges::find_if(
        m_arrays, [&](const named_array& a) { return a.of.name == stored.name; });
    if (mine == m_arrays.end()) missing("array", stored.name);
    found.arrays.push_back(mine->id);
  }
  for (const detail::stored_value& v : m_from->values) {
    if (v.kind != record_kind::read_only) continue;
    const auto mine = std::ranges::find(m_values, v.name, &named_value::name);
    if (mine == m_values.end()) missing("read-only value", v.name);
    found.values.push_back(mine->id);
  }
  return found;
}

task<> session::load() {
  if (!is_restart()) co_return;
  if (std::exchange(m_is_loaded, true)) throw usage_error("checkpoints::load: it is called twice");
  const checkpoint_objects objects = stored_objects();
  future<> restored = spawn(restore_copies(shared_from_this()));
  co_await when_all(on_all_ranks<&count_elements>(m_from->place, objects));
  co_await when_all(on_all_ranks<&load_arrays>());
  co_await std::move(restored);
  co_await when_all(on_all_ranks<&start_elements>());
}

task<> session::restore_copies(std::shared_ptr<const session> self) {
  const std::shared_ptr<const session> kept = std::move(self);
  co_await kept->m_from->store->restore_copies(*kept->m_from);
}

// --- taking a checkpoint

const folder_store& session::store_of(const checkpoint_parts& of) const {
  const bool is_persistent = m_persistent && ((of.is_last && !m_last_has_failed) ||
                                              of.place.number % m_persistent_every == 0);
  return is_persistent ? *m_persistent : m_store;
}

checkpoint_objects session::objects() const {
  checkpoint_objects all;
  for (const named_array& a : m_arrays) all.arrays.push_back(a.id);
  for (const named_value& v : m_values)
    if (v.kind == record_kind::read_only) all.values.push_back(v.id);
  return all;
}

/// Returns the bytes of the values. They refer to no object, as they are read before all arrays
/// exist.
std::vector<stored_value> session::save_values() const {
  const stored_ids none(m_owner.service<object_space>(), {});
  const stored_ids::scope writing(none);
  std::vector<detail::stored_value> saved;
  for (const named_value& v : m_values) {
    saved.push_back({v.kind, v.name, {}});
    output_archive ar(saved.back().bytes);
    v.save(ar);
  }
  return saved;
}

/// `counts`: elements of each array, by rank.
std::vector<stored_array> session::stored_arrays(
    const std::vector<std::vector<std::uint64_t>>& counts) const {
  std::vector<stored_array> stored;
  for (std::size_t i = 0; i < m_arrays.size(); ++i) {
    const array_description& of = m_arrays[i].of;
    stored.push_back({of.name, of.element_type, of.index_type, of.shape, of.placement, 0});
    for (const auto& of_rank : counts) stored.back().elements += of_rank.at(i);
  }
  return stored;
}

task<checkpoint_parts> session::copy(std::uint64_t step) {
  if (is_restart() && !m_is_loaded)
    throw usage_error("checkpoints::take: the restart is not complete, await load() first");
  co_await quiescence_awaiter(true);
  checkpoint_parts parts;
  parts.step = step;
  parts.place.stamp = random_stamp();
  parts.place.number = ++m_last_number;
  parts.is_last = m_requests.accept();
  parts.place.pattern = store_of(parts).pattern();
  std::exception_ptr failed;
  try {
    parts.values = save_values();
    const checkpoint_objects mine = objects();
    const auto counts = co_await when_all(on_all_ranks<&copy_states>(mine));
    parts.arrays = stored_arrays(counts);
  } catch (...) {
    failed = std::current_exception();
  }
  if (failed) {
    if (parts.is_last) m_requests.fail();
    co_await when_all(on_all_ranks<&drop_copies>());
    std::rethrow_exception(failed);
  }
  co_return parts;
}

task<std::uint64_t> session::write(std::shared_ptr<session> self, checkpoint_parts parts) {
  const std::shared_ptr<session> kept = std::move(self);
  const checkpoint_parts mine = std::move(parts);
  std::exception_ptr failed;
  try {
    co_await kept->write_files(mine);
  } catch (const broken_promise&) {
    // A rank has failed and the run ends. The next run decides by the files, which may be complete.
    print_note(checkpoint_name(mine.place.number) + " was not completed before the run ended");
    throw;
  } catch (const std::exception& e) {
    failed = std::current_exception();
    print_note(checkpoint_name(mine.place.number) + " was not written: " + e.what());
  }
  if (!failed) co_return mine.place.number;
  co_await kept->store_of(mine).abandon(mine.place.number);
  std::rethrow_exception(failed);
}

task<> session::write_files(const checkpoint_parts& parts) {
  const folder_store& store = store_of(parts);
  share_contents contents{parts.place, parts.arrays, parts.values, -1};
  std::vector<future<share_summary>> calls;
  for (int r = 0; r < rank_count(); ++r) {
    contents.partner = store.partner_of(r);
    calls.push_back(async<&write_share>(rank(r), contents));
    contents.values.clear();  // only rank 0 writes them
  }
  auto summaries = co_await when_all(std::move(calls));
  const checkpoint_place& at = parts.place;
  manifest done{at.number, at.stamp, parts.step, wall_clock_ns(), m_label, std::move(summaries),
                {},        {}};
  co_await store.complete(std::move(done));
}

task<std::shared_ptr<checkpoint_session>> checkpoint_session::open(runtime& rt, std::string path,
                                                                   checkpoint_options options) {
  if (rt.service<object_space>().rank() != 0)
    throw usage_error("checkpoints::open: call it on rank 0");
  if (options.keep == 0)
    throw usage_error("checkpoints::open: at least 1 checkpoint is kept, not 0");
  const wanted_checkpoint wanted = wanted_by(rt.options(), options.restart);
  const int stop_signal = stop_signal_of(rt.options());
  const auto made =
      std::make_shared<session>(rt, std::move(path), completed(std::move(options), rt.options()));
  co_await made->take_requests(stop_signal);
  co_await made->begin(wanted);
  co_return made;
}

}  // namespace starling::detail
