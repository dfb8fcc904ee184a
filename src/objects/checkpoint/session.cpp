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
     "signal that ends the run at its next checkpoint: USR1, USR2, TERM, none"}};
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

/// Returns a number that `starling launch` has set; 0: it has not.
std::int64_t number_of_launcher(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoll(text);
}

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Calls `Function(args…)` on all ranks.
template <auto Function, class... Args>
auto on_all_ranks(const Args&... args) {
  std::vector<decltype(async<Function>(rank(0), args...))> calls;
  for (int r = 0; r < rank_count(); ++r) calls.push_back(async<Function>(rank(r), args...));
  return calls;
}

std::string names_of(std::span<const stored_array> arrays) {
  std::string text;
  for (const stored_array& a : arrays) text += (text.empty() ? "'" : ", '") + a.name + "'";
  return text.empty() ? "none" : text;
}

void print(const std::string& text) { std::fprintf(stderr, "starling: %s\n", text.c_str()); }

}  // namespace

// --- a restart

task<> session::take_requests(int stop_signal) {
  const auto taken = co_await when_all(on_all_ranks<&take_stop_signal>(stop_signal));
  m_requests.connect(taken.front() ? stop_signal : 0);
}

task<> session::begin(wanted_checkpoint wanted) {
  auto listing = in_background([path = m_path] {
    checkpoint_folder(path).remove_unfinished();
    return checkpoint_numbers(path);
  });
  const auto numbers = co_await std::move(listing);
  if (!numbers.empty()) m_last_number = numbers.back();
  // A job that the launcher has started again continues from its own checkpoints; before the first
  // of them it begins as it did at first.
  if (number_of_launcher("STARLING_LAUNCH_RESTARTS") > 0)
    co_await restart_from_newest(numbers, number_of_launcher("STARLING_LAUNCH_BEGIN"));
  if (is_restart() || !wanted.is_restart) co_return;
  if (!wanted.number) co_return co_await restart_from_newest(numbers, 0);
  static_cast<void>(co_await restart_from(*wanted.number, 0));
}

task<> session::restart_from_newest(std::vector<std::uint64_t> numbers, std::int64_t not_before) {
  std::optional<checkpoint_error> refused;
  for (auto n = numbers.rbegin(); n != numbers.rend(); ++n) {
    try {
      if (!co_await restart_from(*n, not_before)) co_return;
    } catch (const checkpoint_error& e) {
      print(checkpoint_name(*n) + " is not used: " + e.what());
      refused = e;
    }
    if (is_restart()) co_return;
  }
  if (refused && not_before == 0)
    throw checkpoint_error(refused->fault(), "--starling-restart=latest: no checkpoint in '" +
                                                 m_path +
                                                 "' is usable; the oldest: " + refused->what());
}

/// Compares the elements in all shares with the sizes of the arrays.
void require_all_elements(const checkpoint_reader& reader, std::span<const stored_array> arrays) {
  for (const stored_array& array : arrays) {
    std::uint64_t elements = 0;
    for (const share_summary& share : reader.contents().shares)
      for (const array_count& of : share.arrays)
        if (of.name == array.name) elements += of.elements;
    if (elements != array.elements)
      throw checkpoint_error(checkpoint_fault::damaged,
                             "its shares have " + std::to_string(elements) + " elements of '" +
                                 array.name + "', not " + std::to_string(array.elements));
  }
}

task<bool> session::restart_from(std::uint64_t number, std::int64_t not_before) {
  auto opening = in_background([path = m_path, number] {
    checkpoint_reader opened(path, number);
    opened.check(checks::sizes);
    return opened;
  });
  auto reader = co_await std::move(opening);
  if (reader.contents().time_ns < not_before) co_return false;
  const checkpoint_place place{m_path, number, reader.contents().stamp};
  co_await when_all(on_all_ranks<&verify_shares>(place));
  auto first = std::make_unique<share_reader>(reader.open_share(0));
  require_all_elements(reader, first->arrays());
  m_first = std::move(first);
  m_from.emplace(std::move(reader));
  co_return true;
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
  const auto arrays = m_first->arrays();
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
  for (const stored_state& s : m_first->states())
    if ((s.kind == record_kind::global || s.kind == record_kind::read_only) &&
        text_of(s.key) == name)
      return m_first->read(s);
  throw usage_error("checkpoints: " + checkpoint_name(number()) + " has no value '" + name + "'");
}

/// Returns the objects of this run in the order of those in the checkpoint.
checkpoint_objects session::stored_objects() const {
  checkpoint_objects found;
  const auto missing = [this](const char* what, std::string_view name) {
    throw usage_error("checkpoints::load: the program has not created the " + std::string(what) +
                      " '" + std::string(name) + "' of " + checkpoint_name(number()));
  };
  for (const stored_array& stored : m_first->arrays()) {
    const auto mine = std::ranges::find_if(
        m_arrays, [&](const named_array& a) { return a.of.name == stored.name; });
    if (mine == m_arrays.end()) missing("array", stored.name);
    found.arrays.push_back(mine->id);
  }
  for (const stored_state& s : m_first->states()) {
    if (s.kind != record_kind::read_only) continue;
    const auto mine = std::ranges::find(m_values, text_of(s.key), &named_value::name);
    if (mine == m_values.end()) missing("read-only value", text_of(s.key));
    found.values.push_back(mine->id);
  }
  return found;
}

task<> session::load() {
  if (!is_restart()) co_return;
  if (std::exchange(m_is_loaded, true)) throw usage_error("checkpoints::load: it is called twice");
  const checkpoint_objects objects = stored_objects();
  const checkpoint_place place{m_path, number(), m_from->contents().stamp};
  co_await when_all(on_all_ranks<&count_elements>(place, objects));
  co_await when_all(on_all_ranks<&load_arrays>());
  co_await when_all(on_all_ranks<&start_elements>());
}

// --- taking a checkpoint

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
  parts.place.path = m_path;
  parts.place.stamp = random_stamp();
  parts.place.number = ++m_last_number;
  parts.is_last = m_requests.accept();
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
  } catch (const std::exception& e) {
    failed = std::current_exception();
    print(checkpoint_name(mine.place.number) + " was not written: " + e.what());
  }
  if (!failed) co_return mine.place.number;
  auto removal = kept->in_background([path = kept->m_path, number = mine.place.number] {
    try {
      checkpoint_folder(path).abandon(number);
    } catch (const checkpoint_error&) {  // the next run removes what remains
    }
  });
  co_await std::move(removal);
  std::rethrow_exception(failed);
}

/// Checks that this rank sees the shares of all ranks. @throws checkpoint_error
void require_visible(const std::string& path, const manifest& of) {
  for (const share_summary& share : of.shares) {
    const std::string file = path + "/" + checkpoint_name(of.number) + "/" + share_name(share.rank);
    std::error_code failed;
    if (std::filesystem::file_size(file, failed) != share.size || failed)
      refuse(
          checkpoint_fault::torn, file,
          fmt::format("rank {} has written it, but rank 0 does not see it: all ranks must see the "
                      "same folder",
                      share.rank));
  }
}

task<> session::write_files(const checkpoint_parts& parts) {
  share_contents contents{parts.place, parts.arrays, parts.values};
  std::vector<future<share_summary>> calls;
  for (int r = 0; r < rank_count(); ++r) {
    calls.push_back(async<&write_share>(rank(r), contents));
    contents.values.clear();  // only rank 0 writes them
  }
  auto summaries = co_await when_all(std::move(calls));
  const checkpoint_place& at = parts.place;
  manifest done{at.number,       at.stamp,        parts.step,
                wall_clock_ns(), m_options.label, std::move(summaries)};
  auto completion =
      in_background([path = m_path, keep = m_options.keep, done = std::move(done)]() mutable {
        checkpoint_folder folder(path);
        folder.complete(done);
        try {
          folder.keep(keep);
        } catch (const std::exception& e) {
          print(std::string("an old checkpoint remains: ") + e.what());
        }
      });
  co_await std::move(completion);
}

task<std::shared_ptr<checkpoint_session>> checkpoint_session::open(runtime& rt, std::string path,
                                                                   checkpoint_options options) {
  if (rt.service<object_space>().rank() != 0)
    throw usage_error("checkpoints::open: call it on rank 0");
  if (options.keep == 0)
    throw usage_error("checkpoints::open: at least 1 checkpoint is kept, not 0");
  const wanted_checkpoint wanted = wanted_by(rt.options(), options.restart);
  const int stop_signal = stop_signal_of(rt.options());
  const auto made = std::make_shared<session>(rt, std::move(path), std::move(options));
  co_await made->take_requests(stop_signal);
  co_await made->begin(wanted);
  co_return made;
}

}  // namespace starling::detail
