// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <starling/core/future.hpp>
#include <starling/core/task.hpp>
#include <starling/objects/detail/remote.hpp>

namespace starling {
class runtime;
struct checkpoint_options;

namespace detail {

/// An array as a program describes it; a checkpoint stores the same.
struct array_description {
  std::string name;
  std::string element_type;
  std::string index_type;
  std::vector<std::byte> shape;      // archive; empty for sparse arrays
  std::vector<std::byte> placement;  // archive of the type and the state of the map
};

/// The checkpoints of a run, without the types of the elements. On rank 0, one thread at a time.
class checkpoint_session {
 public:
  virtual ~checkpoint_session() = default;

  /// Opens the folder and finds the checkpoint from which the run restarts. @throws
  /// checkpoint_error, option_error, usage_error
  [[nodiscard]] static task<std::shared_ptr<checkpoint_session>> open(runtime& rt, std::string path,
                                                                      checkpoint_options options);

  [[nodiscard]] virtual runtime& owner() const noexcept = 0;
  [[nodiscard]] virtual bool is_restart() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t number() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t step() const noexcept = 0;
  [[nodiscard]] virtual bool stop_requested() const noexcept = 0;

  /// Checks that the name is unused and, for a restart, that the checkpoint has such an array.
  /// @throws usage_error
  virtual void require(const array_description& array) const = 0;
  virtual void add(array_description array, object_id id) = 0;
  /// Adds a value of rank 0, which `save` writes. @throws usage_error when the name is in use
  virtual void add_value(std::string name, std::function<void(output_archive&)> save) = 0;
  virtual void add_read_only(std::string name, object_id id,
                             std::function<void(output_archive&)> save) = 0;
  /// Returns what `save` has written. Called for a restart. @throws usage_error when the checkpoint
  /// has no such value; checkpoint_error
  [[nodiscard]] virtual std::vector<std::byte> stored_value(const std::string& name) const = 0;

  [[nodiscard]] virtual task<> load() = 0;
  [[nodiscard]] virtual task<future<std::uint64_t>> take(std::uint64_t step) = 0;
};

}  // namespace detail
}  // namespace starling
