// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <starling/device/buffer.hpp>
#include <starling/device/detail/memory_access.hpp>
#include <starling/device/device.hpp>
#include <starling/device/stream.hpp>
#include <starling/objects/archive.hpp>
#include <starling/objects/detail/exported_memory.hpp>

/// Device memory as a part of an element's state.
namespace starling {

/// Buffers in `serialize`, so that they migrate between ranks and are stored in checkpoints:
///
///     template <class Archive> void serialize(Archive& ar) {
///       ar(m_step, m_cells);
///       if constexpr (Archive::is_reading) m_cells.release_on(m_at);  // its stream
///     }
///
/// Writing waits on the worker until the work of the stream for which the buffer was allocated is
/// over. Work of other streams on it must be over, as it is after `co_await s.completion()`. Device
/// memory is copied through the host, with one exception: an element migrates to a rank that can
/// map the memory of this one, and the buffer is a member of the element, or of a member. That rank
/// then copies the memory from this device, and the element is deleted here when that has been
/// done.
///
/// Reading allocates memory of the same kind on the device of the worker, which may be of another
/// backend than before; its contents are there when `serialize` continues. Streams are no part of a
/// state: a constructor with `migrated` makes new ones. The new buffer has no stream until
/// `buffer::release_on` names the one that will use it: without that, the next migration does not
/// wait for its work, and the buffer is freed at once when it is destroyed.
/// @throws usage_error on a thread that is no worker; device_error; out_of_memory; archive_error
template <class T>
struct codec<buffer<T>> {
  static_assert(detail::is_bytes<T>(), "elements of a buffer travel as bytes");

  template <class Archive>
  static void save(Archive& ar, const buffer<T>& b) {
    ar(std::uint64_t(b.size()));
    if (b.empty()) return;
    const std::size_t bytes = b.size() * sizeof(T);
    if constexpr (std::is_same_v<Archive, output_archive>)
      if (b.kind() == memory_kind::device &&
          detail::exported_memory::add(ar, &b, b.data(), bytes, b.order()))
        return ar.write(&exported, sizeof exported);
    ar(b.kind());
    if constexpr (std::is_same_v<Archive, counting_archive>)
      ar.write(nullptr, bytes);
    else
      detail::read_memory(
          b.kind(), b.data(), bytes, b.order(),
          [&ar](std::span<const std::byte> piece) { ar.write(piece.data(), piece.size()); });
  }

  static buffer<T> load(input_archive& ar) {
    const auto count = ar.read<std::uint64_t>();
    if (count == 0) return {};
    const auto kind = ar.read<memory_kind>();
    if (kind == exported) return load_imported(ar, count);
    if (std::size_t(kind) >= memory_kinds) ar.refuse("buffer", "its kind of memory does not exist");
    if (count > ar.left() / sizeof(T)) ar.refuse_count("buffer", count, sizeof(T));
    const std::size_t bytes = std::size_t(count) * sizeof(T);
    const std::byte* const from = ar.take(bytes, "elements of a buffer");
    buffer<T> b(detail::allocator_here(kind), std::size_t(count));
    detail::write_memory(kind, b.data(), from, bytes);
    return b;
  }

 private:
  /// Stands for the kind of device memory that is exported: its elements are not in the archive.
  static constexpr auto exported = memory_kind(memory_kinds);
  static buffer<T> load_imported(input_archive& ar, std::uint64_t count) {
    buffer<std::byte> from = detail::imported_memory::take(ar);
    if (count != from.size() / sizeof(T) || from.size() % sizeof(T) != 0)
      ar.refuse("buffer", "it has another size than what was exported");
    return buffer<T>(std::move(from));
  }
};

/// Moves the elements of `b` to the device of `to`, for an element that has migrated to a worker
/// with another device, in `after_migration()`. Returns at once: the copy runs after the work that
/// `from`, the stream that used the buffer, has so far, and before later work of `to`. Between
/// devices that can access each other's memory it passes no host memory. `b` is then freed in the
/// order of `to`.
/// @throws out_of_memory, which leaves `b` unchanged; device_error; usage_error if the streams are
/// of different backends
template <class T>
void move_buffer(buffer<T>& b, stream& from, stream& to) {
  if (b.empty()) return;
  if (b.kind() == memory_kind::device) detail::try_to_reach(to.device(), from.device());
  buffer<T> moved = to.device().template allocate<T>(b.kind(), b.size(), to);
  to.wait(from.record());
  to.copy(moved, std::as_const(b).span());
  b.release_on(to);
  b = std::move(moved);
}

}  // namespace starling
