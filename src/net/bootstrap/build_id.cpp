// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <string_view>

#include <fmt/ranges.h>

#include "implementations.hpp"

namespace starling::detail {
namespace {

/// Returns the GNU build-id of a segment of notes, in hexadecimal, or an empty text.
std::string build_id_in(const char* notes, std::size_t size) {
  const auto padded = [](std::size_t length) { return (length + 3) & ~std::size_t{3}; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t body = name + padded(note.n_namesz);
    at = body + padded(note.n_descsz);
    if (at > size) break;
    const std::span id(reinterpret_cast<const unsigned char*>(notes + body), note.n_descsz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes + name, "GNU", 4) == 0)
      return fmt::format("{:02x}", fmt::join(id, ""));
  }
  return {};
}

/// Returns the FNV-1a hash of a file that was linked without a build-id.
std::string hash_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t hash = 0xcbf29ce484222325;
  char block[1 << 16];
  while (file.read(block, sizeof block) || file.gcount() > 0)
    for (const char c : std::span(block, std::size_t(file.gcount())))
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("fnv-{:016x}", hash);
}

int visit_object(dl_phdr_info* object, std::size_t, void* into) {
  const std::string path = object->dlpi_name != nullptr ? object->dlpi_name : "";
  auto& found = *static_cast<std::map<std::string, std::string>*>(into);
  const bool is_program = found.empty();  // the program comes first
  const std::string name = path.substr(path.rfind('/') + 1);
  if (!is_program && !std::string_view(name).starts_with("libstarling_")) return 0;
  std::string id;
  for (int i = 0; i < object->dlpi_phnum && id.empty(); ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    id = build_id_in(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr),
                     segment.p_memsz);
  }
  if (id.empty()) id = hash_of_file(is_program ? "/proc/self/exe" : path);
  found[is_program ? "" : name] = id;
  return 0;
}

}  // namespace

std::string own_build_id() {
  std::map<std::string, std::string> files;
  dl_iterate_phdr(visit_object, &files);
  std::string text =
      fmt::format("Starling {}, compiler {}, program {}", STARLING_VERSION, __VERSION__, files[""]);
  for (const auto& [name, id] : files) {
    if (!name.empty()) text += fmt::format(", {} {}", name, id);
  }
  return text;
}

std::string build_differences(const std::vector<std::string>& id_by_rank) {
  // By build, if it differs from rank 0's.
  std::map<std::string, std::vector<std::size_t>> ranks_with;
  for (std::size_t rank = 1; rank < id_by_rank.size(); ++rank)
    if (id_by_rank[rank] != id_by_rank[0]) ranks_with[id_by_rank[rank]].push_back(rank);
  if (ranks_with.empty()) return {};
  std::string text = fmt::format("  rank 0: {}", id_by_rank[0]);
  for (const auto& [id, list] : ranks_with) {
    text +=
        fmt::format("\n  rank{} {}: {}", list.size() == 1 ? "" : "s", fmt::join(list, ", "), id);
  }
  return text;
}

void compare_builds(bootstrap& ranks, const std::string& own_id) {
  const std::string differences = build_differences(ranks.all_gather(own_id));
  if (differences.empty()) return;
  throw bootstrap_error(
      "the ranks do not run the same program:\n" + differences +
      "\nStart the same file on every rank, with the same libraries of Starling; on several hosts, "
      "from a folder that they share, or after copying it to each.");
}

}  // namespace starling::detail
