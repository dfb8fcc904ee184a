// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <starling/core/runtime.hpp>
#include <starling/objects/checkpoint.hpp>
#include <starling/objects/detail/checkpoint_session.hpp>
#include <starling/objects/ranks.hpp>

#include "objects/checkpoint/folder_store.hpp"
#include "objects/checkpoint/rank_checkpoints.hpp"
#include "objects/checkpoint/stop_requests.hpp"

namespace starling::detail {

/// The checkpoint that option `restart` names.
struct wanted_checkpoint {
  bool is_restart = false;
  std::optional<std::uint64_t> number;  // none: the newest usable one
  std::int64_t not_before = 0;          // checkpoints with an earlier time_ns are not used
};

/// What one checkpoint is made of, on rank 0.
struct checkpoint_parts {
  checkpoint_place place;
  std::uint64_t step = 0;
  std::vector<stored_array> arrays;
  std::vector<stored_value> values;
  bool is_last = false;  // a request to stop was accepted
};

class session final : public checkpoint_session, public std::enable_shared_from_this<session> {
 public:
  /// `path`: of the folder of each rank, with placeholders.
  session(runtime& rt, std::string path, const checkpoint_options& options);

  runtime& owner() const noexcept override { return m_owner; }
  bool is_restart() const noexcept override { return m_from.has_value(); }
  std::uint64_t number() const noexcept override {
    return is_restart() ? m_from->contents.number : 0;
  }
  std::uint64_t step() const noexcept override { return is_restart() ? m_from->contents.step : 0; }

  bool stop_requested() const noexcept override { return m_requests.is_requested(); }

  /// Begins to take requests to stop at a checkpoint: from now on by the signal `stop_signal` on
  /// all ranks; 0: by no signal.
  task<> take_requests(int stop_signal);
  /// Opens the folders of all ranks, removes what an interrupted run has left, and finds the
  /// checkpoint from which to restart. @throws checkpoint_error
  task<> begin(wanted_checkpoint wanted);

  void require(const array_description& array) const override;
  void add(array_description array, object_id id) override;
  void add_value(std::string name, std::function<void(output_archive&)> save) override {
    require_unused(name);
    m_values.push_back({std::move(name), record_kind::global, 0, std::move(save)});
  }
  void add_read_only(std::string name, object_id id,
                     std::function<void(output_archive&)> save) override {
    require_unused(name);
    m_values.push_back({std::move(name), record_kind::read_only, id, std::move(save)});
  }
  std::vector<std::byte> stored_value(const std::string& name) const override;
  task<> load() override;
  task<future<std::uint64_t>> take(std::uint64_t step) override;

  /// Awaits quiescence, before all other coroutines that wait for it, and copies the states.
  /// @throws usage_error, the exceptions of `serialize`, operation_cancelled
  task<checkpoint_parts> copy(std::uint64_t step);
  /// As `write`, and then ends the run. Throws in any case. @throws run_exited when the run has
  /// ended; otherwise the error, which is printed, and the run continues
  static task<> write_last(std::shared_ptr<session> self, checkpoint_parts parts);
  /// Writes the copies. Prints an error before it throws it.
  static task<std::uint64_t> write(std::shared_ptr<session> self, checkpoint_parts parts);

 private:
  struct named_array {
    array_description of;
    object_id id;
  };
  struct named_value {
    std::string name;
    record_kind kind;
    object_id id;  // of a read-only value
    std::function<void(output_archive&)> save;
  };
  void require_unused(const std::string& name) const;
  /// A checkpoint of a former run.
  struct stored_checkpoint {
    const folder_store* store;
    candidate of;
  };
  [[nodiscard]] task<std::vector<stored_checkpoint>> find_checkpoints();
  [[nodiscard]] task<> restart_from_newest(std::vector<stored_checkpoint> all,
                                           std::int64_t not_before);
  [[nodiscard]] task<> restart_from_number(std::vector<stored_checkpoint> all,
                                           std::uint64_t number);
  /// Returns the paths of the folders, for messages.
  [[nodiscard]] std::string folders() const;
  /// Makes second copies of the shares that have lost one.
  [[nodiscard]] static task<> restore_copies(std::shared_ptr<const session> self);
  /// Returns the folders of a checkpoint: the persistent ones for each N-th and for the last one,
  /// unless a last one could not be written there.
  [[nodiscard]] const folder_store& store_of(const checkpoint_parts& of) const;
  [[nodiscard]] checkpoint_objects objects() const;
  [[nodiscard]] checkpoint_objects stored_objects() const;
  [[nodiscard]] std::vector<detail::stored_value> save_values() const;
  [[nodiscard]] std::vector<stored_array> stored_arrays(
      const std::vector<std::vector<std::uint64_t>>& counts) const;
  [[nodiscard]] task<> write_files(const checkpoint_parts& parts);

  runtime& m_owner;
  const std::string m_label;
  const std::uint64_t m_persistent_every;
  stop_requests& m_requests;
  std::vector<named_array> m_arrays;
  std::vector<named_value> m_values;
  folder_store m_store;
  std::optional<folder_store> m_persistent;
  std::optional<restart_source> m_from;  // the checkpoint of a restart
  bool m_is_loaded = false;
  bool m_last_has_failed = false;   // the checkpoint at which the run was to stop
  std::uint64_t m_last_number = 0;  // of the newest checkpoint, complete or not
};

/// The sessions to which arrays of a runtime belong. Thread-safe.
class session_list {
 public:
  explicit session_list(runtime&) {}
  void add(object_id array, const std::shared_ptr<session>& of) {
    const std::lock_guard lock(m_mutex);
    m_of[array] = of;
  }
  /// Returns null if the array belongs to none, or its session has ended.
  [[nodiscard]] std::shared_ptr<session> find(object_id array) const {
    const std::lock_guard lock(m_mutex);
    const auto found = m_of.find(array);
    return found == m_of.end() ? nullptr : found->second.lock();
  }

 private:
  mutable std::mutex m_mutex;
  std::unordered_map<object_id, std::weak_ptr<session>> m_of;
};

}  // namespace starling::detail
