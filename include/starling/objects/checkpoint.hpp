// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <starling/core/future.hpp>
#include <starling/core/task.hpp>
#include <starling/objects/create.hpp>
#include <starling/objects/detail/checkpoint_session.hpp>
#include <starling/objects/detail/stored_ids.hpp>
#include <starling/objects/error.hpp>
#include <starling/objects/read_only.hpp>

namespace starling {

/// Status of a run that has stopped at a checkpoint as requested: EX_TEMPFAIL of <sysexits.h>.
inline constexpr int stopped_at_checkpoint = 75;

struct checkpoint_options {
  // Has a constructor, as g++ 12 destroys aggregates within a `co_await` expression twice.
  checkpoint_options(std::size_t keep_newest = 2, std::string run_label = {},  // NOLINT: implicit
                     std::string restart_from = {}, std::size_t copies_of_shares = 0,
                     std::string persistent_path = {}, std::size_t persistent_each = 0)
      : keep(keep_newest), label(std::move(run_label)), restart(std::move(restart_from)),
        copies(copies_of_shares), persistent(std::move(persistent_path)),
        persistent_every(persistent_each) {}

  std::size_t keep;     ///< complete checkpoints that remain in each folder, at least 1
  std::string label;    ///< name of the run, stored in its checkpoints
  std::string restart;  ///< as `--starling-restart`; empty: that option decides
  /// 2: each rank's share is also written to the folder of a partner rank, so that the loss of one
  /// folder costs no checkpoint. 0: `--starling-checkpoint-copies` decides, which is 1 by default.
  std::size_t copies;
  /// Path of folders that remain when hosts are lost, such as one on a shared disk. Each N-th
  /// checkpoint, and the last one before a requested stop, is written there instead of to `path`,
  /// always as one copy. A restart uses the newest checkpoint of both. Placeholders as in `path`.
  /// Empty: `--starling-checkpoint-persistent` decides, by default there is none.
  std::string persistent;
  /// That N, by the numbers of the checkpoints. 0: `--starling-checkpoint-persistent-every`
  /// decides, which is 10 by default.
  std::size_t persistent_every;
};

/// The checkpoints of a program on disk, and its restart from one of them: on any number of ranks
/// and workers. docs/guide/checkpoints.md shows how a program uses it.
///
/// Arrays and values that are created or added by name belong to the checkpoints. When the option
/// `--starling-restart`, or checkpoint_options, names a checkpoint, the arrays get their elements
/// from it instead of by their constructor's arguments, each on the worker that the placement gives
/// it in this run.
///
/// A run can be asked to stop at its next checkpoint: by `starling resize`, or by a signal before
/// the end of a batch job (option `--starling-stop-signal`; default USR1, unless the program has a
/// handler of its own or ignores it). `open` begins to take the signal on all ranks; any rank may
/// get it, but rank 0 has to. The next checkpoint is the last one then: when it is complete on
/// disk, the run ends on all ranks as by `exit_run(stopped_at_checkpoint)`. If it cannot be taken
/// or written, the run continues.
///
/// On rank 0, by one task at a time. A small object that can be moved.
class checkpoints {
 public:
  /// Opens the folder `path` of each rank, which no other run uses at the same time, and creates it
  /// if necessary. In `path`, `{rank}` and `{host}` stand for the number of the rank and the name
  /// of its host. Ranks may see the same folder or different ones, such as `/dev/shm/run7` on
  /// several hosts: each writes its share there, and a restart reads the states of a rank from the
  /// ranks that have them. Removes files of incomplete checkpoints. `--starling-restart`:
  ///
  /// - `none`: the run begins anew; its checkpoints get later numbers than those that are there.
  /// - `latest`: restarts from the newest checkpoint of which each share is whole in some folder,
  ///   and prints why later ones are not used. Begins anew if there is no checkpoint.
  /// - a number: restarts from that checkpoint.
  /// @throws checkpoint_error when no checkpoint is usable although there are some, or the folder
  /// cannot be read or written; option_error; usage_error on another rank than 0, or when the
  /// persistent folder is the same as that of `path`
  [[nodiscard]] static task<checkpoints> open(runtime& rt, std::string path,
                                              checkpoint_options options = {}) {
    co_return checkpoints(
        co_await detail::checkpoint_session::open(rt, std::move(path), std::move(options)));
  }

  /// Whether the run restarts from a checkpoint.
  [[nodiscard]] bool is_restart() const noexcept { return m_session->is_restart(); }
  /// Returns the number of that checkpoint; 0: there is none.
  [[nodiscard]] std::uint64_t number() const noexcept { return m_session->number(); }
  /// Returns the step at which that checkpoint was taken; 0: there is none.
  [[nodiscard]] std::uint64_t step() const noexcept { return m_session->step(); }

  /// As starling::create_array. `name` identifies the array in all runs. The class needs a public
  /// `serialize(archive)`, and a constructor with starling::migrated or without arguments, which a
  /// restart calls. @throws usage_error when the name is in use, or the checkpoint has no array
  /// with this name, element type, index type and shape
  template <class T, class Map, class... Args>
  requires dense_index<typename T::index_type> && detail::placement_for<T, Map>
  [[nodiscard]] chare_array<T> create_array(std::string name,
                                            const shape<typename T::index_type>& extent,
                                            const Map& map, const Args&... args) {
    auto described = describe<T>(std::move(name), map, extent.extent());
    auto all = is_restart() ? stored_dense<T>(extent, map, false)
                            : starling::create_array<T>(owner(), extent, map, args...);
    m_session->add(std::move(described), all.state().id());
    return all;
  }
  template <class T, class... Args>
  requires dense_index<typename T::index_type>
  [[nodiscard]] chare_array<T> create_array(std::string name,
                                            const shape<typename T::index_type>& extent,
                                            placement how, const Args&... args) {
    return create_array<T>(std::move(name), extent, rule_of<T>(extent, how), args...);
  }
  /// As starling::create_empty_array: after a restart `insert` makes further elements.
  template <class T>
  requires dense_index<typename T::index_type>
  [[nodiscard]] chare_array<T> create_empty_array(std::string name,
                                                  const shape<typename T::index_type>& extent,
                                                  placement how) {
    const detail::placement_rule rule = rule_of<T>(extent, how);
    auto described = describe<T>(std::move(name), rule, extent.extent());
    auto all = is_restart() ? stored_dense<T>(extent, rule, true)
                            : starling::create_empty_array<T>(owner(), extent, how);
    m_session->add(std::move(described), all.state().id());
    return all;
  }
  /// As starling::create_sparse_array.
  template <class T, class Map>
  requires(!dense_index<typename T::index_type>)
      [[nodiscard]] chare_array<T> create_sparse_array(std::string name, const Map& map) {
    auto described = describe<T>(std::move(name), map);
    auto& space = owner().service<detail::object_space>();
    auto all =
        is_restart()
            ? detail::create_stored_array<T, Map>(
                  space, detail::sparse_table<T>(space.worker_total(), space.workers().size(), map),
                  true, detail::sent_function<Map>{map})
            : starling::create_sparse_array<T>(owner(), map);
    m_session->add(std::move(described), all.state().id());
    return all;
  }
  template <class T>
  requires(!dense_index<typename T::index_type>)
      [[nodiscard]] chare_array<T> create_sparse_array(std::string name) {
    return create_sparse_array<T>(
        std::move(name), detail::hash_map<typename T::index_type>{total_worker_count(owner())});
  }

  /// Adds a value of rank 0, such as a time, to the checkpoints, and for a restart reads it. The
  /// value outlives this object. @throws usage_error when the name is in use or the checkpoint has
  /// no such value; archive_error when its bytes are no T; checkpoint_error
  template <class V>
  requires travels<V>
  void add_value(std::string name, V& value) {
    if (is_restart()) value = stored_value<V>(name);
    m_session->add_value(std::move(name), [&value](output_archive& ar) { ar(value); });
  }
  /// As starling::make_read_only; for a restart, with the stored value. States may contain the
  /// handle.
  template <class V>
  requires travels<V>
  [[nodiscard]] read_only<V> make_read_only(std::string name, V value) {
    if (is_restart()) value = stored_value<V>(name);
    const auto made = starling::make_read_only(owner(), std::move(value));
    m_session->add_read_only(std::move(name), made.id(), [made](output_archive& ar) { ar(*made); });
    return made;
  }

  /// Completes a restart: makes the elements of all arrays, on all ranks. Messages that were sent
  /// to them before wait until then. Awaited once, when all arrays of the checkpoint have been
  /// created; without a restart it does nothing. @throws usage_error when the checkpoint has
  /// further arrays; checkpoint_error; entry_error when the `serialize` of an element throws or
  /// does not read all of its state. The run cannot continue after an error.
  [[nodiscard]] task<> load() const { return load_by(m_session); }

  /// Returns whether a stop is requested, so that the next checkpoint will be the last one. A
  /// program whose checkpoints are far apart asks this between them, and takes one at once. Costs
  /// two loads. `starling resize` may withdraw its request: then `take` returns.
  [[nodiscard]] bool stop_requested() const noexcept { return m_session->stop_requested(); }

  /// Takes a checkpoint. Waits for quiescence of all ranks, copies the states on all workers, and
  /// then returns a future: of the checkpoint's number when it is complete on disk. Files are
  /// written by a thread of each rank while the program goes on; the next `take` and each
  /// `quiescence()` wait for them. On failure the future has the error and the checkpoints before
  /// remain; the program may go on. If a stop is requested, the call waits for the files and ends
  /// the run: then it throws run_exited, which the program passes on.
  ///
  /// Stored are the elements, the messages in their mailboxes, and the values. Not stored:
  /// sections, measured loads, the workers to which elements have migrated. Elements must have no
  /// coroutine, reductions must have ended; messages may not wait for insertions.
  /// @throws usage_error otherwise, or when a state contains a callback, a section, or a proxy of
  /// an array without a name; the exceptions of `serialize`; operation_cancelled when the run ends
  [[nodiscard]] task<future<std::uint64_t>> take(std::uint64_t step) const {
    return take_by(m_session, step);
  }

 private:
  explicit checkpoints(std::shared_ptr<detail::checkpoint_session> of) noexcept
      : m_session(std::move(of)) {}

  // Tasks that keep the session while they run.
  static task<> load_by(std::shared_ptr<detail::checkpoint_session> of) {
    const auto kept = std::move(of);
    co_await kept->load();
  }
  static task<future<std::uint64_t>> take_by(std::shared_ptr<detail::checkpoint_session> of,
                                             std::uint64_t step) {
    const auto kept = std::move(of);
    co_return co_await kept->take(step);
  }

  [[nodiscard]] runtime& owner() const noexcept { return m_session->owner(); }
  template <class T>
  [[nodiscard]] detail::placement_rule rule_of(const shape<typename T::index_type>& extent,
                                               placement how) const {
    return {how, total_worker_count(owner()), extent.size()};
  }
  template <class T, class Map>
  [[nodiscard]] chare_array<T> stored_dense(const shape<typename T::index_type>& extent,
                                            const Map& map, bool takes_more) const {
    detail::require_elements(extent.size());
    auto& space = owner().service<detail::object_space>();
    return detail::create_stored_array<T, Map>(
        space, detail::dense_table<T>(space, extent, map), takes_more,
        detail::sent_shape<typename T::index_type>{extent.extent()},
        detail::sent_function<Map>{map});
  }
  template <class T, class Map, class... Extent>
  [[nodiscard]] detail::array_description describe(std::string name, const Map& map,
                                                   const Extent&... extent) const {
    static_assert(detail::migrates_between_ranks<T>,
                  "a class whose elements are stored in checkpoints needs a public "
                  "serialize(archive), and a constructor with starling::migrated or without "
                  "arguments; its index must be able to travel");
    detail::array_description of{std::move(name),
                                 std::string(detail::type_name<T>()),
                                 std::string(detail::type_text<typename T::index_type>),
                                 {},
                                 {}};
    if constexpr (sizeof...(Extent) > 0) of.shape = pack(extent...);
    if constexpr (travels<Map>)
      of.placement = pack(std::string(detail::type_text<Map>), map);
    else
      of.placement = pack(std::string(detail::type_text<Map>));
    m_session->require(of);
    return of;
  }
  template <class V>
  [[nodiscard]] V stored_value(const std::string& name) const {
    const std::vector<std::byte> bytes = m_session->stored_value(name);
    input_archive ar(bytes);
    V value = ar.read<V>();
    detail::require_end(ar);
    return value;
  }

  std::shared_ptr<detail::checkpoint_session> m_session;
};

}  // namespace starling
