// SPDX-License-Identifier: Apache-2.0
// Channels in the state of a chare, for another rank or a checkpoint, and names of channel ends in
// messages.
#include <string>
#include <utility>

#include <starling/core/error.hpp>

#include "channel_set.hpp"

namespace starling::detail {

void save_channels(output_archive& ar, chare_core& c) {
  std::vector<offer_line> lines;
  if (const channel_set* const set = c.element_state().channels.get()) {
    for (const channel_end* e : set->ends) e->order().list(lines);
    for (const auto& former : set->former) former.order.list(lines);
    lines.insert(lines.end(), set->begun.begin(), set->begun.end());
  }
  save_value(ar, lines);
}

void load_channels(input_archive& ar, chare_core& c) {
  auto lines = ar.read<std::vector<offer_line>>();
  if (!lines.empty()) channels_of(c).begun = std::move(lines);
}

namespace {
constinit thread_local chare_core* t_loading = nullptr;
}

loading_state::loading_state(chare_core& c) noexcept : m_before(std::exchange(t_loading, &c)) {}
loading_state::~loading_state() { t_loading = m_before; }

chare_core& loading_state::current() {
  if (t_loading == nullptr)
    throw usage_error(
        "a chare_channel is written and read by the serialize of its chare only, as a part of the "
        "chare's state");
  return *t_loading;
}

std::vector<std::byte> save_channel_end(const channel_end& end) {
  std::vector<std::byte> bytes;
  output_archive ar(bytes);
  if (is_in_checkpoint())  // numbers of functions differ between builds
    save_value(ar, std::string(name_of_remote_function(end.maker())));
  else
    save_value(ar, end.maker());
  end.peer().type->write(end.peer(), ar);
  return bytes;
}

std::unique_ptr<channel_end> load_channel_end(std::span<const std::byte> bytes) {
  chare_core& owner = loading_state::current();
  constexpr auto kind = remote_function::kind::channel;
  input_archive ar(bytes);
  const remote_function f = is_in_checkpoint() ? find_remote_function(ar.read<std::string>(), kind)
                                               : remote_function_at(ar.read<std::uint32_t>(), kind);
  if (*f.result != owner.element_state().local->array->element_type())
    ar.refuse(f.name, "it is for elements of another type");
  using maker = std::unique_ptr<channel_end>(chare_core&, input_archive&);
  auto end = reinterpret_cast<maker*>(f.address)(owner, ar);
  require_end(ar);
  return end;
}

std::vector<std::byte> save_channel_name(const channel_name& name) {
  std::vector<std::byte> bytes;
  output_archive ar(bytes);
  save_value(ar, name.type != nullptr);
  if (name.type == nullptr) {
    save_value(ar, name.id);
    save_value(ar, name.number);
  } else {
    save_value(ar, name.type->maker());
    name.type->write(name, ar);
  }
  return bytes;
}

channel_name load_channel_name(std::span<const std::byte> bytes) {
  input_archive ar(bytes);
  channel_name name;
  if (ar.read<bool>()) {
    const auto& f =
        remote_function_at(ar.read<std::uint32_t>(), remote_function::kind::channel_name);
    using maker = channel_name(input_archive&);
    name = reinterpret_cast<maker*>(f.address)(ar);
  } else {
    name.id = ar.read<int>();
    name.number = ar.read<std::uint64_t>();
  }
  require_end(ar);
  return name;
}

}  // namespace starling::detail
