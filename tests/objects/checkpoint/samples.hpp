// SPDX-License-Identifier: Apache-2.0
// Checkpoints for tests: contents that depend on a seed, and a file system that fails.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include "objects/checkpoint/checkpoint_folder.hpp"
#include "objects/checkpoint/checkpoint_reader.hpp"
#include "objects/checkpoint/share_reader.hpp"

namespace starling_test {

using starling::detail::checkpoint_folder;
using starling::detail::manifest;
using starling::detail::record_kind;
using starling::detail::share_identity;
using starling::detail::share_reader;
using starling::detail::share_summary;
using starling::detail::share_writer;
using starling::detail::stored_array;
using starling::detail::stored_state;

using bytes = std::vector<std::byte>;

inline bytes random_bytes(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  bytes all(size);
  for (std::byte& b : all) b = std::byte(engine());
  return all;
}

inline bytes index_bytes(std::uint64_t n) {
  const auto b = std::as_bytes(std::span(&n, 1));
  return {b.begin(), b.end()};
}

/// States of a checkpoint by kind, array and key.
using contents = std::map<std::string, bytes>;

inline std::string key_of(record_kind kind, const std::string& array, const bytes& key) {
  std::string text = std::to_string(int(kind)) + '/' + array + '/';
  for (const std::byte b : key) text += std::to_string(int(b)) + ',';
  return text;
}

/// A checkpoint of two arrays whose elements are dealt to the ranks in turn, and of a global.
struct sample {
  std::uint64_t number = 1;
  std::uint64_t seed = 1;
  std::uint32_t ranks = 1;
  std::uint64_t elements = 5;
  std::size_t most_bytes = 100;  // of a state
  std::uint32_t block = 64;

  [[nodiscard]] std::uint64_t stamp() const { return 1000 * seed + number; }
  [[nodiscard]] share_identity identity(std::uint32_t rank) const {
    return {number, stamp(), rank, ranks};
  }
  [[nodiscard]] bytes state(std::uint64_t element) const {
    return random_bytes(std::size_t((seed * 31 + element * 37) % (most_bytes + 1)), seed + element);
  }
  [[nodiscard]] stored_array array(const std::string& name) const {
    return {name, "cell", "index_2d", random_bytes(8, seed), random_bytes(5, seed + 1), elements};
  }
  [[nodiscard]] bytes global() const { return random_bytes(33, seed + 77); }

  void fill(share_writer& to, std::uint32_t rank) const {
    for (const char* name : {"cells", "faces"}) {
      const auto a = to.add_array(array(name));
      for (std::uint64_t i = rank; i < elements; i += ranks)
        to.add_element(a, index_bytes(i), state(i + (name[0] == 'f' ? 500 : 0)));
    }
    if (rank == 0) to.add_value(record_kind::global, "time", global());
    to.add_value(record_kind::read_only, "mesh", bytes{std::byte{7}});
  }
  [[nodiscard]] contents expected() const {
    contents all;
    for (std::uint64_t i = 0; i < elements; ++i) {
      all[key_of(record_kind::element, "cells", index_bytes(i))] = state(i);
      all[key_of(record_kind::element, "faces", index_bytes(i))] = state(i + 500);
    }
    const auto text = [](const char* t) {
      const auto b = starling::detail::bytes_of(t);
      return bytes(b.begin(), b.end());
    };
    all[key_of(record_kind::global, "", text("time"))] = global();
    all[key_of(record_kind::read_only, "", text("mesh"))] = bytes{std::byte{7}};
    return all;
  }
  [[nodiscard]] bytes share(std::uint32_t rank) const {
    starling::detail::memory_sink sink;
    share_writer writer(sink, identity(rank), block);
    fill(writer, rank);
    static_cast<void>(writer.finish());
    return sink.take();
  }
  [[nodiscard]] manifest with(std::vector<share_summary> shares) const {
    return {number, stamp(), 10 * number, 1'700'000'000'000'000'000, "test", std::move(shares)};
  }
  void write(checkpoint_folder& folder) const {
    std::vector<share_summary> shares;
    for (std::uint32_t r = 0; r < ranks; ++r)
      shares.push_back(folder.write_share(identity(r), [&](share_writer& to) { fill(to, r); }));
    folder.complete(with(std::move(shares)));
  }
};

inline void add_states(share_reader& from, contents& to) {
  for (const stored_state& s : from.states()) {
    const std::string array =
        s.kind == record_kind::element ? from.arrays()[s.array].name : std::string();
    to[key_of(s.kind, array, bytes(s.key.begin(), s.key.end()))] = from.read(s);
  }
}

inline contents contents_of(const starling::detail::checkpoint_reader& from) {
  contents all;
  for (std::uint32_t r = 0; r < from.contents().shares.size(); ++r) {
    share_reader share = from.open_share(r);
    add_states(share, all);
  }
  return all;
}

inline bytes file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto b = starling::detail::bytes_of(text);
  return {b.begin(), b.end()};
}

inline void write_file(const std::string& path, const bytes& b) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(b.data()), std::streamsize(b.size()));
}

/// Keeps the newest usable checkpoints of a folder that has all shares.
inline void keep(checkpoint_folder& folder, const std::string& path, std::size_t count) {
  const starling::detail::inventory all[] = {starling::detail::inventory_of(path)};
  folder.remove_older(starling::detail::retention_of(all, count), true);
}

/// Counts and records the calls. From the call number `m_from` on, up to `m_count` calls fail.
class failing_files final : public starling::detail::file_system {
 public:
  enum class way { fails, is_killed };
  explicit failing_files(int from = -1, int count = 1, int code = EIO, way by = way::fails)
      : m_from(from), m_count(count), m_code(code), m_way(by) {}

  int create(const std::string& p) override { return fail("create") ? -1 : file_system::create(p); }
  ssize_t write(int d, std::span<const std::byte> b) override {
    // Part of the bytes is written before the failure, as on a full disk.
    if (!is_due()) return fail("write") ? -1 : file_system::write(d, b.first((b.size() + 1) / 2));
    static_cast<void>(file_system::write(d, b.first(b.size() / 2)));
    return fail("write") ? -1 : 0;
  }
  int open_existing(const std::string& p) override {
    return fail("open_existing") ? -1 : file_system::open_existing(p);
  }
  int resize(int d, std::uint64_t size) override {
    return fail("resize") ? -1 : file_system::resize(d, size);
  }
  bool is_in_memory(const std::string&) override { return in_memory; }
  int sync(int d) override { return fail("sync") ? -1 : file_system::sync(d); }
  int close(int d) override {
    const bool failed = fail("close");
    const int result = file_system::close(d);
    if (failed) errno = m_code;
    return failed ? -1 : result;
  }
  int rename(const std::string& from, const std::string& to) override {
    return fail("rename") ? -1 : file_system::rename(from, to);
  }
  int make_folder(const std::string& p) override {
    return fail("make_folder") ? -1 : file_system::make_folder(p);
  }
  int remove_file(const std::string& p) override {
    return fail("remove_file") ? -1 : file_system::remove_file(p);
  }
  int remove_folder(const std::string& p) override {
    return fail("remove_folder") ? -1 : file_system::remove_folder(p);
  }

  [[nodiscard]] const std::vector<std::string>& calls() const { return m_calls; }

  bool in_memory = false;  // whether it says so of all folders

 private:
  [[nodiscard]] bool is_due() const {
    const int n = int(m_calls.size());
    return m_from >= 0 && n >= m_from && n - m_from < m_count;
  }
  bool fail(const char* call) {
    const bool due = is_due();
    m_calls.push_back(call);
    if (due && m_way == way::is_killed) ::kill(::getpid(), SIGKILL);
    if (due) errno = m_code;
    return due;
  }

  const int m_from, m_count, m_code;
  const way m_way;
  std::vector<std::string> m_calls;
};

}  // namespace starling_test
