// SPDX-License-Identifier: Apache-2.0
#include "failure_text.hpp"

#include <bit>
#include <string_view>

#include <fmt/format.h>

#include <starling/resident/detail/reducer.hpp>
#include <starling/resident/error.hpp>

namespace starling::resident::detail {
namespace {

constexpr int most_told = 16;

std::string_view name_of_array(const program_description& program,
                               const std::vector<array_info>& arrays, std::uint32_t number) {
  return number < arrays.size() ? program.chares[arrays[number].type].name : "?";
}

/// Returns a text such as «a sum of double to element 3 of block, entry method told».
std::string describe_contribution(const contribution_sign& c, const program_description& program,
                                  const std::vector<array_info>& arrays) {
  static constexpr const char* types[] = {"nothing", "int32", "uint32", "int64",
                                          "uint64",  "float", "double"};
  static constexpr const char* operations[] = {"sum", "product", "min", "max"};
  const auto type = scalar(c.value & 15);
  std::string text = "a barrier";
  if (type != scalar::none)
    text = fmt::format("a {} of {}", operations[c.value >> 4 & 3], types[int(type)]);
  const auto goal = goal_kind(c.goal >> 4);
  if (goal == goal_kind::host) return text + fmt::format(" to host mailbox {}", c.index);
  const std::string_view name = name_of_array(program, arrays, c.goal & 15);
  text += goal == goal_kind::broadcast ? fmt::format(" to all elements of {}", name)
                                       : fmt::format(" to element {} of {}", c.index, name);
  return text + fmt::format(", entry method {}", program.entries[c.entry]);
}

std::string describe_difference(const failure_record& r, const program_description& program,
                                const std::vector<array_info>& arrays) {
  const auto first = std::bit_cast<contribution_sign>(r.detail[0]);
  const auto second = std::bit_cast<contribution_sign>(r.detail[1]);
  return fmt::format(
      "contributions of elements of {} to one reduction do not match: {}, and {}. All elements "
      "contribute in the same order, with the same type, operation and goal",
      name_of_array(program, arrays, first.array), describe_contribution(first, program, arrays),
      describe_contribution(second, program, arrays));
}

std::string what(const failure_record& r, const program_description& program,
                 const std::vector<array_info>& arrays) {
  const std::uint64_t first = r.detail[0], second = r.detail[1];
  switch (r.code) {
    case failure::none:
      return "nothing";
    case failure::bad_index:
      return fmt::format("it named element {} of an array of {}", first, second);
    case failure::bad_array:
      return fmt::format("it named array {}, which is not one of those chares: the program has {}",
                         first, second);
    case failure::no_room:
      return fmt::format(
          "it has no room for another message: of its {} cells {} hold messages whose receivers do "
          "not take them, the remaining ones its own. Raise `cells` or `ring_slots`, or send less "
          "at once",
          second, first);
    case failure::no_blocks:
      return fmt::format(
          "there is no memory for a span that has to wait: {} wait for their receivers, and {} "
          "bytes are left. Raise `heap_bytes` or `blocks`, or send less at once",
          first, second);
    case failure::payload_too_big:
      return fmt::format(
          "a span of {} bytes does not fit into {}. Raise `block_bytes` or the channel's capacity, "
          "or lend the memory",
          first, second);
    case failure::channel_full:
      return fmt::format(
          "it sent on a channel whose receiver has not released one of the last {} yet", first);
    case failure::channel_open:
      return "it opened a channel of which an end is open already";
    case failure::channel_closed:
      return "it sent on a channel that the receiver has not opened yet: wait for the counter "
             "of room";
    case failure::no_channels:
      return fmt::format(
          "its scheduler has {} receiving ends of channels already: take more "
          "schedulers",
          first);
    case failure::no_heap:
      return fmt::format("{} bytes of memory were asked for and {} are left. Raise `heap_bytes`",
                         first, second);
    case failure::bad_scheduler:
      return fmt::format("it wanted to move to scheduler {}, which its device does not have",
                         first);
    case failure::open_channels:
      return "it wanted to move while it has receiving ends of channels, which cannot move";
    case failure::counter_in_use:
      return fmt::format(
          "`when_counted` or `take` was called for a counter for which an entry method waits "
          "already: {}, which lacks {} arrivals. Call it when that has run, or take a counter for "
          "each",
          first < program.entries.size() ? program.entries[first] : "?", second);
    case failure::not_shared:
      return "it lent memory that is neither from `allocate` nor of an element, so receivers "
             "cannot read it";
    case failure::turn_is_over:
      return fmt::format("a message with number {} came when {} was expected already", first,
                         second);
    case failure::contributions:
      return describe_difference(r, program, arrays);
    case failure::by_user:
      return fmt::format("it called `fail({})`", first);
  }
  return "?";
}

void describe_element(const driver& memory, std::uint32_t device, const element_state& e,
                      const program_description& program, std::string_view name,
                      std::string& text) {
  // In another process's slab, pointers are valid in that process only.
  const world& w = memory.shared();
  const auto offset_of = [slab = w.slabs[device]](const counter_state* c) {
    return reinterpret_cast<std::uint64_t>(c) - reinterpret_cast<std::uint64_t>(slab);
  };
  const bool is_here = offset_of(e.armed) < w.l.bytes;
  if (!is_here && e.armed != nullptr)
    text +=
        fmt::format("\n    element {} of {}, on another rank, waits for arrivals", e.index, name);
  for (const counter_state* at = is_here ? e.armed : nullptr; at != nullptr;) {
    counter_state c;
    memory.read(device, offset_of(at), &c, sizeof c);
    text += fmt::format("\n    element {} of {} waits for arrivals before {}: {} of {}", e.index,
                        name, program.entries[c.then.entry], c.arrived, c.wanted);
    at = c.next;
  }
  if (!e.stash.empty())
    text += fmt::format("\n    element {} of {} expects {} and keeps a message {}({})", e.index,
                        name, e.expected, program.entries[e.stash_entry], e.stash_number);
}

}  // namespace

std::exception_ptr make_error(const failure_record& r, const program_description& program,
                              const std::vector<array_info>& arrays) {
  std::string origin = fmt::format("scheduler {}", r.scheduler);
  if (r.has_element != 0 && r.array < arrays.size())
    origin += fmt::format(", element {} of {}", r.index, program.chares[arrays[r.array].type].name);
  if (r.entry < program.entries.size())  // not `no_entry`
    origin += fmt::format(", entry method {}", program.entries[r.entry]);
  const auto number = r.code == failure::by_user ? static_cast<std::uint32_t>(r.detail[0]) : 0;
  return std::make_exception_ptr(resident_error(
      fmt::format("a resident program failed: {}: {}", origin, what(r, program, arrays)), number));
}

std::string describe_waits(const driver& memory, const program_description& program,
                           const std::vector<array_info>& arrays) {
  const layout& l = memory.shared().l;
  std::string text;
  int waiting = 0;
  for (std::uint32_t device = 0; device < l.devices; ++device) {
    if (!memory.can_read(device)) continue;
    for (const array_info& info : arrays) {
      std::uint32_t slots = 0;
      memory.read(device, info.firsts + l.schedulers * sizeof slots, &slots, sizeof slots);
      for (std::uint32_t s = 0; s < slots; ++s) {
        element_state e;
        memory.read(device, info.objects + std::uint64_t(s) * info.stride, &e, sizeof e);
        if (e.armed == nullptr && e.stash.empty()) continue;
        if (++waiting > most_told) continue;
        describe_element(memory, device, e, program, program.chares[info.type].name, text);
      }
    }
  }
  if (waiting > most_told) text += fmt::format("\n    and {} more elements", waiting - most_told);
  return text;
}

}  // namespace starling::resident::detail
