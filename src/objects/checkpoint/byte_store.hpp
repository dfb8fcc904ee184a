// SPDX-License-Identifier: Apache-2.0
// Destinations and origins of the bytes of a share: files, or memory (copies on a buddy rank).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "objects/checkpoint/file_system.hpp"

namespace starling::detail {

/// Takes bytes in order. One thread at a time.
class byte_sink {
 public:
  virtual ~byte_sink() = default;
  /// Appends `bytes`, which are not used after the return. @throws checkpoint_error
  virtual void write(std::span<const std::byte> bytes) = 0;
};

/// Gives bytes at any offset. One thread at a time.
class byte_source {
 public:
  virtual ~byte_source() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Fills `into` with the bytes from `offset`. @throws checkpoint_error if there are fewer bytes
  virtual void read(std::uint64_t offset, std::span<std::byte> into) = 0;
  /// Name for messages, such as a path.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

/// Bytes, and their owner.
struct owned_bytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// Bytes of a piece of a file that travels between ranks.
inline constexpr std::size_t piece_size = std::size_t{1} << 20;

/// Gives all bytes, in pieces of `piece_size`, to another sink and to a function.
class tee_sink final : public byte_sink {
 public:
  using taker = std::function<void(owned_bytes)>;
  tee_sink(byte_sink& first, taker second) : m_first(first), m_second(std::move(second)) {}
  void write(std::span<const std::byte> bytes) override;
  /// Gives the last bytes. Call it once, last.
  void finish() { give(); }

 private:
  void give();

  byte_sink& m_first;
  const taker m_second;
  std::vector<std::byte> m_piece;
};

/// Collects bytes in memory. `expected` bytes are reserved, to avoid copies.
class memory_sink final : public byte_sink {
 public:
  explicit memory_sink(std::size_t expected = 0) { m_bytes.reserve(expected); }
  void write(std::span<const std::byte> bytes) override;
  [[nodiscard]] std::vector<std::byte> take() { return std::move(m_bytes); }

 private:
  std::vector<std::byte> m_bytes;
};

/// Reads memory of the caller, which outlives this object.
class memory_source final : public byte_source {
 public:
  explicit memory_source(std::span<const std::byte> bytes, std::string name = "memory")
      : m_bytes(bytes), m_name(std::move(name)) {}
  [[nodiscard]] std::uint64_t size() const override { return m_bytes.size(); }
  void read(std::uint64_t offset, std::span<std::byte> into) override;
  [[nodiscard]] const std::string& name() const override { return m_name; }

 private:
  std::span<const std::byte> m_bytes;
  std::string m_name;
};

/// Writes `<path>.writing`, which `commit` makes durable and renames to `path`. Without `commit`
/// the destructor removes the file. Small pieces are gathered, large ones are written from their
/// place.
class file_sink final : public byte_sink {
 public:
  /// `spare`: a file that is overwritten and renamed instead of a new one, if it exists; empty:
  /// none. @throws checkpoint_error
  file_sink(file_system& files, std::string path, const std::string& spare = {});
  file_sink(const file_sink&) = delete;
  file_sink& operator=(const file_sink&) = delete;
  ~file_sink() override;

  void write(std::span<const std::byte> bytes) override;
  /// Returns when the file is on disk under its final name. @throws checkpoint_error
  void commit();

 private:
  void write_out(std::span<const std::byte> bytes);

  file_system& m_files;
  const std::string m_path;
  const std::string m_temporary;
  int m_descriptor = -1;
  bool m_committed = false;
  bool m_was_spare = false;
  std::uint64_t m_size = 0;  // bytes written out
  std::vector<std::byte> m_gathered;
};

/// Reads a regular file. @throws checkpoint_error from the constructor, `torn` if it is missing
class file_source final : public byte_source {
 public:
  explicit file_source(std::string path);
  file_source(const file_source&) = delete;
  file_source& operator=(const file_source&) = delete;
  ~file_source() override;

  [[nodiscard]] std::uint64_t size() const override { return m_size; }
  void read(std::uint64_t offset, std::span<std::byte> into) override;
  [[nodiscard]] const std::string& name() const override { return m_path; }

 private:
  const std::string m_path;
  int m_descriptor = -1;
  std::uint64_t m_size = 0;
};

}  // namespace starling::detail
